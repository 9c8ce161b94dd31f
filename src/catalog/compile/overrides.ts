/** Finds the override of an operation in `spec.overrides`, and applies it to the compiled tool, apart from `name` and `hidden`. Pure. */
import type { ObjectSchema } from '../../base/json/json-schema.ts'
import { compileValidator } from '../../base/json-schema/validate.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolOverride } from '../../model/tool-set.ts'
import { put } from './dict.ts'
import { SkippedOperation } from './skipped.ts'
import { cleanText, MAX_FIELD_DESCRIPTION, MAX_TOOL_DESCRIPTION } from './words.ts'

/** The override of an operation, by its operationId or `{METHOD} {path}`. */
export function overrideOf(
  overrides: readonly ToolOverride[] | undefined,
  operation: { readonly operationId: string | undefined; readonly method: string; readonly path: string },
): ToolOverride | undefined {
  const { operationId, method, path } = operation
  return overrides?.find(({ operation: name }) => name === operationId || name === `${method} ${path}`)
}

/** @throws SkippedOperation when an argument is unknown, its fixed value is invalid, or a required one is hidden */
export function applyOverride(tool: Tool, override: ToolOverride): Tool {
  const description = cleanText(override.description, MAX_TOOL_DESCRIPTION)
  const properties: Record<string, unknown> = { ...tool.inputSchema.properties }
  const required = new Set(tool.inputSchema.required ?? [])
  const dependent = new Map(Object.entries(tool.inputSchema.dependentRequired ?? {}))
  const fixed: Record<string, unknown> = {}
  for (const [name, change] of Object.entries(override.arguments ?? {})) {
    if (!Object.hasOwn(properties, name))
      throw new SkippedOperation(`spec.overrides: the operation has no argument ${name}`)
    const schema = properties[name] as ObjectSchema
    const text = cleanText(change.description, MAX_FIELD_DESCRIPTION)
    if (text !== '') put(properties, name, { ...schema, description: text })
    if (change.fixed === undefined && !change.hidden) continue
    delete properties[name]
    if (change.fixed === undefined) {
      if (required.has(name) || [...dependent.values()].some(names => names.includes(name)))
        throw new SkippedOperation(
          `spec.overrides: argument ${name} is required and hidden: give it a fixed value`,
        )
    } else {
      checkFixed(name, change.fixed, tool.inputSchema)
      put(fixed, name, change.fixed)
      // A field that is always sent makes an optional body a given one.
      for (const other of dependent.get(name) ?? []) required.add(other)
    }
    dependent.delete(name)
  }
  for (const name of Object.keys(fixed)) required.delete(name)
  const { required: _, dependentRequired: __, ...rest } = tool.inputSchema
  return {
    ...tool,
    ...(description === '' ? {} : { description }),
    ...(override.tasks === undefined ? {} : { tasks: override.tasks }),
    inputSchema: {
      ...rest,
      properties: properties as NonNullable<ObjectSchema['properties']>,
      ...(required.size === 0 ? {} : { required: [...required] }),
      ...dependencies(dependent, fixed),
    },
    request: { ...tool.request, ...(Object.keys(fixed).length === 0 ? {} : { fixed }) },
  }
}

function checkFixed(name: string, value: unknown, { properties, $defs }: ObjectSchema): void {
  const schema = {
    type: 'object',
    properties: { [name]: properties![name]! },
    ...($defs === undefined ? {} : { $defs }),
  }
  const fault = compileValidator(schema as ObjectSchema)({ [name]: value })[0]
  if (fault !== undefined)
    throw new SkippedOperation(
      `spec.overrides: the fixed value of argument ${name} is invalid: ${fault.path} ${fault.message}`,
    )
}

function dependencies(
  dependent: ReadonlyMap<string, readonly string[]>,
  fixed: { readonly [name: string]: unknown },
): Partial<ObjectSchema> {
  const kept = [...dependent]
    .map(([name, names]) => [name, names.filter(other => !Object.hasOwn(fixed, other))] as const)
    .filter(([, names]) => names.length > 0)
  return kept.length === 0 ? {} : { dependentRequired: Object.fromEntries(kept) }
}
