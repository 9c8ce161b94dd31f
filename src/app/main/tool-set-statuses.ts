/** The status of the tool sets of a process, for its admin API. It synchronizes none. */
import type { ToolSource } from '../../catalog/source.ts'
import type { ReportedToolSet } from '../../data-plane/http/admin-overview.ts'
import { getOrSet } from '../../model/once-per.ts'
import type { AppContext } from './app-context.ts'

const sources = new WeakMap<AppContext, Pick<ToolSource, 'statuses'>[]>()

export function reportStatusesOf(context: AppContext, source: Pick<ToolSource, 'statuses'>): void {
  getOrSet(sources, context, () => []).push(source)
}

/** Empty before the source has been started. */
export function toolSetStatuses(context: AppContext): readonly ReportedToolSet[] {
  return (sources.get(context) ?? []).flatMap(source => source.statuses())
}
