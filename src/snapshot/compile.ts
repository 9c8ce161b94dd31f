/** SnapshotDocument → Snapshot: indexes, validators and requests made ready. Pure: no file, no clock, no network. */
import type { Tool } from '../model/tool.ts'
import type { CompiledTool, Snapshot } from '../pipeline/exchange.ts'
import type { PreparedPolicy } from '../policy/engine.ts'
import { compiledApis, controlTools, keyEntries } from './control-index.ts'
import type { SnapshotDocument } from './document.ts'
import { entitlements } from './entitlements.ts'

/** What compiling needs from other rooms. */
export interface CompileParts {
  readonly policy: PreparedPolicy
  readonly prepare: (tool: Tool) => Pick<CompiledTool, 'validate' | 'buildRequest'>
}

/** @throws Error when the document contradicts itself (a plan that does not exist, two tools of one name that one caller would see). */
export function compile(document: SnapshotDocument, parts: CompileParts): Snapshot {
  const all = [...document.tools, ...controlTools(document.control)]
  const tools = all.map((tool, index): CompiledTool => ({ tool, index, ...parts.prepare(tool) }))
  const byTenant = indexByTenant(tools)
  const shared = byTenant.get(null)!
  const keys = keyEntries(document.control)
  const apis = compiledApis(document.control)
  const tenantIds = new Map([...document.control.tenants.values()].map(({ id, name }) => [name, id]))
  const apisById = new Map(apis.map(api => [api.id, api]))
  return Object.freeze({
    version: document.version,
    policy: parts.policy,
    toolCount: tools.length,
    listings: new Map(),
    toolsOf: (tenant: string | undefined) =>
      tenant === undefined ? shared : (byTenant.get(tenant) ?? shared),
    apis,
    apiOf: (id: string) => apisById.get(id),
    keyOf: (prefix: string) => keys.get(prefix),
    tenantIdOf: (name: string) => tenantIds.get(name),
    ...entitlements(document),
  })
}

/** null → the tools everybody sees; tenant → those and its own, in name order. */
function indexByTenant(
  tools: readonly CompiledTool[],
): Map<string | null, ReadonlyMap<string, CompiledTool>> {
  const groups = new Map<string | null, CompiledTool[]>([[null, []]])
  for (const entry of tools) {
    const group = groups.get(entry.tool.tenant)
    if (group === undefined) groups.set(entry.tool.tenant, [entry])
    else group.push(entry)
  }
  const shared = groups.get(null)!
  const index = new Map<string | null, ReadonlyMap<string, CompiledTool>>()
  for (const [tenant, own] of groups) {
    const visible = tenant === null ? shared : [...shared, ...own]
    visible.sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
    const named = new Map<string, CompiledTool>()
    for (const entry of visible) {
      const other = named.get(entry.tool.name)
      if (other !== undefined) {
        throw new Error(
          `tool "${entry.tool.name}" comes from tool-set "${other.tool.toolSet}" and from "${entry.tool.toolSet}"; give one of them a naming.prefix`,
        )
      }
      named.set(entry.tool.name, entry)
    }
    index.set(tenant, named)
  }
  return index
}
