/** Reads the spec of a ToolView resource, and reports its faults and that of a reserved name. */
import { tenantOfNamespace } from '../../model/tool-set.ts'
import type { ToolChange, ToolView, ViewBinding, ViewIcon, ViewSelection } from '../../model/tool-view.ts'
import { normalizeBaseUrl } from '../compile/servers.ts'
import type { ResourceFields } from './fields.ts'
import type { ResourceMeta } from './resource-meta.ts'

const MAX_NAMES = 500
const MAX_CHANGES = 1_000
const MAX_BINDINGS = 100
const MAX_ICONS = 8
/** In tokens; the search tools take about 600. */
const MIN_BUDGET = 1_000
const MAX_BUDGET = 200_000
const TOOL_NAME = {
  max: 64,
  pattern: /^[A-Za-z0-9_.-]{1,64}$/,
  fix: 'use letters, digits, "_", "." and "-", at most 64 characters',
}
/** Addresses below `/mcp/` that mean something else. */
const RESERVED = new Set(['sse', 'capabilities', 'health', 'tools', 'v1'])

/** Reads `spec`; faults are added to the Fields. The result is valid only when there are none. */
export function readToolView(meta: ResourceMeta, spec: ResourceFields): ToolView {
  const tenant = tenantOfNamespace(meta.namespace) ?? null
  if (RESERVED.has(meta.name))
    spec.faultAt(
      'metadata.name',
      `is "${meta.name}", but the gateway uses the path /mcp/${meta.name} for another endpoint`,
      'rename the view',
    )
  const texts = {
    title: spec.string('title', { max: 120 }),
    description: spec.string('description', { max: 1_024 }),
    instructions: spec.string('instructions', { max: 8_192 }),
    websiteUrl: readUrl(spec, 'websiteUrl'),
    icons: readIcons(spec),
    tokenBudget: spec.integer('tokenBudget', MIN_BUDGET, MAX_BUDGET),
  }
  const view: ToolView = {
    name: meta.name,
    namespace: meta.namespace,
    tenant,
    ...(Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)) as object),
    select: readSelection(spec.object('select')),
    changes: readChanges(spec),
    order: spec.list('order', MAX_NAMES) ?? [],
    overBudget: spec.oneOf('overBudget', ['search', 'leaveOut'] as const) ?? 'search',
    bindings: readBindings(spec, tenant),
  }
  if (spec.has('overBudget') && !spec.has('tokenBudget'))
    spec.fault('overBudget', 'is set without tokenBudget', 'set spec.tokenBudget, or remove spec.overBudget')
  spec.close()
  return view
}

function readUrl(fields: ResourceFields, name: string): string | undefined {
  const value = fields.string(name, { max: 2_048 })
  if (value === undefined || normalizeBaseUrl(value) !== undefined) return value
  fields.fault(name, 'is not an absolute http(s) address', 'write https://host[:port][/path]')
  return undefined
}

function readIcons(spec: ResourceFields): readonly ViewIcon[] | undefined {
  if (!spec.has('icons')) return undefined
  return spec.objects('icons', MAX_ICONS).map(fields => {
    const src = readUrl(fields, 'src')
    if (!fields.has('src')) fields.fault('src', 'is missing', 'write the address of an image')
    const mimeType = fields.string('mimeType', {
      max: 64,
      pattern: /^image\/[a-z0-9.+-]+$/,
      fix: 'write image/png',
    })
    const sizes = fields.list('sizes', 10)
    fields.close()
    return {
      src: src ?? '',
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(sizes === undefined ? {} : { sizes }),
    }
  })
}

function readSelection(fields: ResourceFields | undefined): ViewSelection {
  const selection = {
    toolSets: fields?.list('toolSets', MAX_NAMES) ?? [],
    tags: fields?.list('tags', MAX_NAMES) ?? [],
    tools: fields?.list('tools', MAX_NAMES) ?? [],
    exclude: fields?.list('exclude', MAX_NAMES) ?? [],
  }
  fields?.close()
  return selection
}

function readChanges(spec: ResourceFields): readonly ToolChange[] {
  const tools = new Set<string>()
  const names = new Map<string, string>()
  return spec.objects('tools', MAX_CHANGES).map(fields => {
    const tool = fields.string('tool', TOOL_NAME) ?? ''
    if (!fields.has('tool')) fields.fault('tool', 'is missing', 'write the name of a tool')
    if (tools.has(tool)) fields.fault('tool', `repeats "${tool}"`, 'write only one entry for each tool')
    tools.add(tool)
    const name = fields.string('name', TOOL_NAME)
    const other = name === undefined ? undefined : names.get(name)
    if (other !== undefined)
      fields.fault(
        'name',
        `is "${name}", which is also the new name of tool ${other}`,
        'give each tool a different name',
      )
    if (name !== undefined) names.set(name, tool)
    const given = {
      name,
      title: fields.string('title', { max: 120 }),
      description: fields.string('description', { max: 4_096 }),
    }
    fields.close()
    return { tool, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }
  })
}

function readBindings(spec: ResourceFields, ownTenant: string | null): readonly ViewBinding[] {
  return spec.objects('bindings', MAX_BINDINGS).map(fields => {
    const binding = {
      consumer: fields.string('consumer', { max: 255 }),
      role: fields.string('role', { max: 255 }),
      tenant: fields.string('tenant', { max: 255 }),
    }
    if (ownTenant !== null && binding.tenant !== undefined && binding.tenant !== ownTenant)
      fields.fault(
        'tenant',
        `is "${binding.tenant}", but callers of this tenant cannot see the namespace of the view`,
        `write ${ownTenant}, or create the view in the namespace platform`,
      )
    if (fields.names.length === 0) fields.fault('', 'names no caller', 'write consumer, role or tenant')
    fields.close()
    return Object.fromEntries(Object.entries(binding).filter(([, value]) => value !== undefined))
  })
}
