/** Indexes the prepared tools, resources and prompts of a snapshot by tenant, and the parts of MCP that they serve. */

import { oncePer } from '../../base/once-per.ts'
import { asExactTool } from '../../model/exact-tool.ts'
import type { Tool } from '../../model/tool.ts'
import type { CompiledTool, ServedFeatures } from './snapshot.ts'

/** A validator and a builder of requests; made from the tool alone. */
export type PreparedTool = Pick<
  CompiledTool,
  'validate' | 'validateOutput' | 'buildRequest' | 'buildInSteps' | 'mcp' | 'document'
>

interface ToolIndex {
  readonly tools: readonly CompiledTool[]
  readonly served: ServedFeatures
  /** Some of the tools are not listed, but searched for. */
  readonly hasSearched: boolean
  /** null → the tools common to all tenants; tenant → those and the tenant's, in name order. */
  readonly byTenant: ReadonlyMap<string | null, VisibleTools>
}

interface VisibleTools {
  readonly tools: ReadonlyMap<string, CompiledTool>
  readonly features: ReadonlyMap<string, CompiledTool>
}

/** Keeps the last lists, so that changes elsewhere cost nothing here. */
export class ToolIndexer {
  readonly #prepared: (tool: Tool) => PreparedTool & Pick<CompiledTool, 'tool'>
  #lists: readonly (readonly Tool[])[] = []
  #index: ToolIndex | undefined

  constructor(prepare: (tool: Tool) => PreparedTool) {
    this.#prepared = oncePer(plain => {
      const tool = asExactTool(plain)
      return { tool, ...prepare(tool) }
    })
  }

  /**
   * It may be interrupted after each tool; the next index is begun after it has ended.
   * @throws Error when two tool sets bring tools of one name that one caller would see
   */
  *indexSteps(lists: readonly (readonly Tool[])[]): Generator<void, ToolIndex> {
    const unchanged =
      lists.length === this.#lists.length && lists.every((list, at) => list === this.#lists[at])
    if (this.#index !== undefined && unchanged) return this.#index
    const tools: CompiledTool[] = []
    for (const list of lists)
      for (const tool of list) {
        tools.push({ index: tools.length, ...this.#prepared(tool) })
        yield
      }
    const called = tools.filter(({ tool }) => tool.feature === undefined)
    const index = {
      tools: called,
      served: servedBy(tools),
      hasSearched: called.some(({ tool }) => tool.listing === 'search'),
      byTenant: yield* indexByTenant(tools),
    }
    this.#lists = lists
    this.#index = index
    return index
  }
}

function* indexByTenant(tools: readonly CompiledTool[]): Generator<void, Map<string | null, VisibleTools>> {
  const groups = new Map<string | null, CompiledTool[]>([[null, []]])
  for (const entry of tools) {
    const group = groups.get(entry.tool.tenant)
    if (group === undefined) groups.set(entry.tool.tenant, [entry])
    else group.push(entry)
  }
  const shared = groups.get(null)!
  const index = new Map<string | null, VisibleTools>()
  for (const [tenant, own] of groups) {
    yield
    const visible = tenant === null ? shared : [...shared, ...own]
    visible.sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
    yield
    const visibleTools = new Map<string, CompiledTool>()
    const features = new Map<string, CompiledTool>()
    for (const entry of visible) {
      const named = entry.tool.feature === undefined ? visibleTools : features
      const other = named.get(entry.tool.name)
      named.set(entry.tool.name, other === undefined ? entry : theOneServed(other, entry))
      yield
    }
    index.set(tenant, { tools: visibleTools, features })
  }
  return index
}

function servedBy(entries: readonly CompiledTool[]): ServedFeatures {
  const any = (has: (tool: Tool) => boolean | undefined): boolean =>
    entries.some(({ tool }) => has(tool) === true)
  return {
    resources: any(({ feature }) => feature !== undefined && feature.kind !== 'prompt'),
    prompts: any(({ feature }) => feature?.kind === 'prompt'),
    completions: any(
      ({ mcp, feature }) =>
        (feature !== undefined && mcp?.serves?.includes('completions')) ||
        Object.keys(feature?.document?.completions ?? {}).length > 0,
    ),
    subscriptions: any(({ mcp, feature }) => feature !== undefined && mcp?.serves?.includes('subscriptions')),
    mcpServers: any(({ mcp }) => mcp !== undefined),
    logging: any(({ mcp }) => mcp?.serves?.includes('logging')),
    tasks: any(({ tasks, mcp }) => tasks !== undefined || mcp?.serves?.includes('tasks')),
  }
}

/** A tool set comes before the document of an API: what one tenant publishes must not block the configuration of all. */
function theOneServed(other: CompiledTool, entry: CompiledTool): CompiledTool {
  if (entry.tool.apiId !== undefined) return other
  if (other.tool.apiId !== undefined) return entry
  throw new Error(
    `the tool sets "${other.tool.toolSet}" and "${entry.tool.toolSet}" both have a tool "${entry.tool.name}"; set naming.prefix in one of them`,
  )
}
