/** The ToolViews in the response of `GET /admin/toolsets`: settings, figures and status. `admin-overview.ts` sends the response. */
import type { ToolView, ToolViewStatus, ViewFigures } from '../../../model/tool-view.ts'
import { reviewView } from '../../listing/view-review.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'

/** A view as its source sees it. */
export interface ReportedView {
  readonly namespace: string
  readonly name: string
  readonly status: ToolViewStatus
}

export interface ViewsSeen {
  readonly snapshot: Snapshot
  /** undefined: those of every tenant. */
  readonly tenant: string | undefined
  readonly reported: readonly ReportedView[]
  /** What clients may not cope with; knowledge from outside of the data plane. */
  readonly notes: (view: ToolView, figures: ViewFigures) => readonly string[]
}

type Name = Pick<ToolView, 'name' | 'namespace'>

const MAX_SHOWN = 50

/** In the order of their names; a view that is not served is shown for its status. */
export async function shownViews({
  snapshot,
  tenant,
  reported,
  notes,
}: ViewsSeen): Promise<readonly object[]> {
  const tools =
    tenant === undefined
      ? snapshot.tools.map(({ tool }) => tool)
      : [...snapshot.toolsOf(tenant).values()].map(({ tool }) => tool)
  const statuses = new Map(reported.map(each => [`${each.namespace}/${each.name}`, each]))
  const rows: (Name & { readonly [field: string]: unknown })[] = []
  for (const { view } of snapshot.views.all) {
    if (tenant !== undefined && view.tenant !== null && view.tenant !== tenant) continue
    const key = `${view.namespace}/${view.name}`
    const figures = await reviewView(view, tools)
    const { unlisted } = figures
    rows.push({
      name: view.name,
      namespace: view.namespace,
      tenant: view.tenant,
      title: view.title ?? null,
      path: `/mcp/${view.name}`,
      tools: figures.tools.length,
      listed: figures.tools.length - unlisted.length,
      tokens: figures.tokens,
      listed_tokens: figures.listedTokens,
      token_budget: view.tokenBudget ?? null,
      over_budget: view.overBudget === 'search' ? 'search' : 'leave_out',
      not_listed: unlisted.slice(0, MAX_SHOWN),
      bindings: view.bindings,
      warnings: notes(view, figures),
      status: shownStatus(statuses.get(key)),
    })
    statuses.delete(key)
  }
  for (const each of statuses.values())
    if (tenant === undefined || each.namespace === `tenant-${tenant}` || each.namespace === 'platform')
      rows.push({
        name: each.name,
        namespace: each.namespace,
        ...NOT_SERVED,
        status: shownStatus(each),
      })
  return rows.sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1))
}

const NOT_SERVED = {
  tenant: null,
  title: null,
  path: null,
  tools: 0,
  listed: 0,
  tokens: 0,
  listed_tokens: 0,
  token_budget: null,
  over_budget: null,
  not_listed: [],
  bindings: [],
  warnings: [],
}

function shownStatus(reported: ReportedView | undefined): object | null {
  if (reported === undefined) return null
  const { phase, lastError, conditions } = reported.status
  return { phase, message: lastError ?? null, conditions }
}
