/** The statuses that the tool sources of a process report, for its admin API. */

import { getOrSet } from '../../base/once-per.ts'
import type { ToolSource } from '../../catalog/source.ts'
import type { ReportedCatalog } from '../../data-plane/http/admin/admin-overview.ts'
import type { AppContext } from './app-context.ts'

type Reporting = Pick<ToolSource, 'statuses'> & Partial<Pick<ToolSource, 'viewStatuses'>>

const sources = new WeakMap<AppContext, Reporting[]>()

export function reportStatusesOf(context: AppContext, source: Reporting): void {
  getOrSet(sources, context, () => []).push(source)
}

/** Empty before the source has been started. */
export function catalogReport(context: AppContext): ReportedCatalog {
  const reported = sources.get(context) ?? []
  return {
    toolSets: reported.flatMap(source => source.statuses()),
    views: reported.flatMap(source => source.viewStatuses?.() ?? []),
  }
}
