/** Reads `spec.overrides` of a ToolSet resource. */
import { TASK_SUPPORT } from '../../model/tool.ts'
import type { ToolOverride, ToolSet } from '../../model/tool-set.ts'
import type { ResourceFields } from './fields.ts'

const MAX_OVERRIDES = 1000
const TOOL_NAME = {
  max: 64,
  pattern: /^[A-Za-z0-9_.-]+$/,
  fix: 'use letters, digits, "_", "." and "-", at most 64 characters',
}

export function readOverrides(spec: ResourceFields): Pick<ToolSet, 'overrides'> {
  const overrides = spec.objects('overrides', MAX_OVERRIDES).map(readOverride)
  return overrides.length === 0 ? {} : { overrides }
}

function readOverride(fields: ResourceFields): ToolOverride {
  const operation = fields.string('operation')
  if (!fields.has('operation'))
    fields.fault(
      'operation',
      'is missing',
      'write an operationId, or a method and a path such as "GET /path"',
    )
  const name = fields.string('name', TOOL_NAME)
  const description = fields.string('description', { max: 4096 })
  const tasks = fields.oneOf('tasks', TASK_SUPPORT)
  const args = fields.object('arguments')
  const override: ToolOverride = {
    operation: operation ?? '',
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(tasks === undefined ? {} : { tasks }),
    hidden: fields.boolean('hidden') ?? false,
    ...(args === undefined
      ? {}
      : {
          arguments: Object.fromEntries(args.names.map(argument => [argument, readArgument(args, argument)])),
        }),
  }
  fields.close()
  return override
}

function readArgument(args: ResourceFields, name: string): NonNullable<ToolOverride['arguments']>[string] {
  const fields = args.object(name)
  if (fields === undefined) return { hidden: false }
  const description = fields.string('description', { max: 4096 })
  const fixed = fields.raw('fixed')
  const hidden = fields.boolean('hidden') ?? false
  if (hidden && fixed !== undefined)
    fields.fault('hidden', 'is set together with fixed', 'remove it: a fixed argument is always hidden')
  fields.close()
  return {
    ...(fixed === undefined ? {} : { fixed }),
    hidden,
    ...(description === undefined ? {} : { description }),
  }
}
