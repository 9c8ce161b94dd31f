/** The status of the tool sets and ToolViews of a process, for its admin API. It synchronizes none. */
import type { ToolSource } from '../../catalog/source.ts'
import type { ReportedCatalog } from '../../data-plane/http/admin-overview.ts'
import type { AppContext } from './app-context.ts'

const sources = new WeakMap<AppContext, ToolSource>()

export function reportStatusesOf(context: AppContext, source: ToolSource): void {
  sources.set(context, source)
}

/** Empty before the source has been started. */
export function catalogReport(context: AppContext): ReportedCatalog {
  const source = sources.get(context)
  return { toolSets: source?.statuses() ?? [], views: source?.viewStatuses() ?? [] }
}
