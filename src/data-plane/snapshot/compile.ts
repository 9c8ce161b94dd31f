/** Compiles a snapshot document into a snapshot, whose parts other files of this folder index. */

import type { SnapshotDocument } from '../../link/document.ts'
import type { Tool } from '../../model/tool.ts'
import type { PreparedPolicy } from '../../policy/engine.ts'
import { ControlIndexer, controlToolLists } from './control-index.ts'
import { EntitlementIndexer } from './entitlements.ts'
import type { Snapshot } from './snapshot.ts'
import { type PreparedTool, ToolIndexer } from './tool-index.ts'
import { viewIndex } from './view-index.ts'

/**
 * A document's snapshot depends on the document alone. A compiler that has seen the one before makes it in the time of what
 * differs: of a thousand tenants, one.
 */
export class SnapshotCompiler {
  readonly #tools: ToolIndexer
  readonly #control = new ControlIndexer()
  readonly #entitlements = new EntitlementIndexer()

  /** @param prepare makes a tool ready to be called; the folder `tool-request` provides it */
  constructor(prepare: (tool: Tool) => PreparedTool) {
    this.#tools = new ToolIndexer(prepare)
  }

  /**
   * It may be interrupted often; the next document is begun after it has ended.
   * @returns makes the snapshot for a policy, at once
   * @throws Error when the document contradicts itself (a plan that does not exist, two tools of one name that one caller would see)
   */
  *compileSteps(document: SnapshotDocument): Generator<void, (policy: PreparedPolicy) => Snapshot> {
    const { tools, served, hasSearched, byTenant } = yield* this.#tools.indexSteps([
      document.tools,
      ...controlToolLists(document.control),
    ])
    yield
    const shared = byTenant.get(null)!
    const visibleTo = (tenant: string | undefined) =>
      tenant === undefined ? shared : (byTenant.get(tenant) ?? shared)
    const { apis, apisById, keys, tenantIds, suspended } = yield* this.#control.indexSteps(document.control)
    yield
    const views = viewIndex(document.views ?? [])
    const isSearched = views.all.some(
      ({ view }) => view.tokenBudget !== undefined && view.overBudget === 'search',
    )
    const entitlements = yield* this.#entitlements.indexSteps(document)
    return policy =>
      Object.freeze({
        version: document.version,
        policy,
        toolCount: tools.length,
        hasSearchedTools: hasSearched || isSearched,
        views,
        tools,
        served,
        listings: new Map(),
        toolsOf: (tenant: string | undefined) => visibleTo(tenant).tools,
        featuresOf: (tenant: string | undefined) => visibleTo(tenant).features,
        apis,
        apiOf: (id: string) => apisById.get(id),
        keyOf: (prefix: string) => keys.get(prefix),
        tenantIdOf: (name: string) => tenantIds.get(name),
        isSuspended: (tenant: string | undefined) => tenant !== undefined && suspended.has(tenant),
        ...entitlements,
      })
  }
}
