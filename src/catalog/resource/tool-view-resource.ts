/** Reads the spec of a ToolView resource, and reports its faults and that of a reserved name. */
import type { ResourceFault } from '../../model/resource-fault.ts'
import { type ToolViewSpec, toolViewSpec } from '../../model/schema/tool-view-spec.ts'
import { tenantOfNamespace } from '../../model/tool-set.ts'
import type { ToolView } from '../../model/tool-view.ts'
import type { ResourceMeta } from './resource-meta.ts'
import { readSpec, type SpecPart } from './spec-rules.ts'
import { distinct } from './tool-fields.ts'

/** Addresses below `/mcp/` that mean something else. */
const RESERVED = new Set(['sse', 'capabilities', 'health', 'tools', 'v1'])

/** @returns undefined when faults were added */
export function readToolView(
  meta: ResourceMeta,
  spec: unknown,
  faults: ResourceFault[],
): ToolView | undefined {
  if (RESERVED.has(meta.name))
    faults.push({
      field: 'metadata.name',
      reason: `is "${meta.name}", but the gateway uses the path /mcp/${meta.name} for another endpoint`,
      fix: 'rename the view',
    })
  const tenant = tenantOfNamespace(meta.namespace) ?? null
  const read = readSpec(toolViewSpec, spec, 'spec', faults, part => checkView(part, tenant))
  return read && toToolView(meta, tenant, read)
}

function checkView(spec: SpecPart, tenant: string | null): void {
  const tools = new Set<unknown>()
  const names = new Map<unknown, unknown>()
  for (const change of spec.parts('tools')) {
    const [tool, name] = [change.get('tool'), change.get('name')]
    if (tools.has(tool)) change.fault('tool', `repeats "${tool}"`, 'write only one entry for each tool')
    tools.add(tool)
    if (name === undefined) continue
    if (names.has(name))
      change.fault(
        'name',
        `is "${name}", which is also the new name of tool ${names.get(name)}`,
        'give each tool a different name',
      )
    names.set(name, tool)
  }
  for (const binding of spec.parts('bindings')) {
    const given = binding.get('tenant')
    if (tenant !== null && given !== undefined && given !== tenant)
      binding.fault(
        'tenant',
        `is "${given}", but callers of this tenant cannot see the namespace of the view`,
        `write ${tenant}, or create the view in the namespace platform`,
      )
  }
  if (spec.has('overBudget') && !spec.has('tokenBudget'))
    spec.fault('overBudget', 'is set without tokenBudget', 'set spec.tokenBudget, or remove spec.overBudget')
}

function toToolView(meta: ResourceMeta, tenant: string | null, spec: ToolViewSpec): ToolView {
  const { select = {}, tools = [], order = [], overBudget = 'search', bindings = [], ...texts } = spec
  return {
    name: meta.name,
    namespace: meta.namespace,
    tenant,
    ...texts,
    select: {
      toolSets: distinct(select.toolSets ?? []),
      tags: distinct(select.tags ?? []),
      tools: distinct(select.tools ?? []),
      exclude: distinct(select.exclude ?? []),
    },
    changes: tools,
    order: distinct(order),
    overBudget,
    bindings,
  }
}
