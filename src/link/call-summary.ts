/** Summaries and windows of recorded calls: their types, how they are merged, and the form in which they are shown. */

import { getOrSet } from '../base/once-per.ts'
import {
  addFigures,
  addGroups,
  type Figures,
  type Groups,
  noFigures,
  quantileMs,
  SEPARATOR,
} from '../model/call-figures.ts'

/** For each list. */
const MAX_LISTED = 20

/** The calls that one or more threads have recorded. */
export interface CallWindow {
  readonly calls: number
  readonly capacity: number
  /** Unix ms of the oldest call; null without calls. */
  readonly sinceMs: number | null
}

/** Figures of the calls of a period. */
export interface Summary {
  readonly total: Figures
  /** Since when all calls are covered, Unix ms. */
  readonly coveredFromMs: number
  /** When they were counted, or the end of the time asked for, Unix ms: a question may reach into the future. */
  readonly coveredToMs: number
  /** toolset, tool */
  readonly tools: Groups
  /** tenant, consumer */
  readonly consumers: Groups
  /** reason, tenant, consumer; of refused calls */
  readonly refusals: Groups
  /** reason, tool; of failed calls */
  readonly failures: Groups
  /** Equal parts of the time asked for, the oldest first. */
  readonly series: readonly Figures[]
  readonly window: CallWindow
}

/** @param parts of `series` in each summary */
export function mergedSummary(summaries: readonly Summary[], fromMs: number, parts: number): Summary {
  const [only, ...others] = summaries
  if (
    only !== undefined &&
    others.length === 0 &&
    only.coveredFromMs >= fromMs &&
    only.series.length === parts
  )
    return only
  const merged: Summary = {
    total: noFigures(),
    coveredFromMs: Math.max(fromMs, ...summaries.map(one => one.coveredFromMs)),
    coveredToMs: Math.max(fromMs, ...summaries.map(one => one.coveredToMs)),
    tools: new Map(),
    consumers: new Map(),
    refusals: new Map(),
    failures: new Map(),
    series: Array.from({ length: parts }, noFigures),
    window: windowOf(summaries),
  }
  for (const one of summaries) {
    addFigures(merged.total, one.total)
    addGroups(merged.tools, one.tools)
    addGroups(merged.consumers, one.consumers)
    addGroups(merged.refusals, one.refusals)
    addGroups(merged.failures, one.failures)
    for (const [at, figures] of one.series.entries()) addFigures(merged.series[at]!, figures)
  }
  return merged
}

/** @param parts of threads, or of gateways */
export function windowOf(parts: readonly { readonly window: CallWindow }[]): CallWindow {
  const windows = parts.map(({ window }) => window)
  const since = windows.flatMap(({ sinceMs }) => (sinceMs === null ? [] : [sinceMs]))
  return {
    calls: windows.reduce((sum, { calls }) => sum + calls, 0),
    capacity: windows.reduce((sum, { capacity }) => sum + capacity, 0),
    sinceMs: since.length === 0 ? null : Math.min(...since),
  }
}

export function shownSummary(summary: Summary, fromMs: number, toMs: number) {
  const { total, tools, consumers, refusals, failures, series, coveredFromMs, coveredToMs } = summary
  const coveredS = Math.max(0.001, (Math.min(toMs, coveredToMs) - coveredFromMs) / 1000)
  const perSecond = (calls: number): number => Math.round((calls / coveredS) * 100) / 100
  const { calls, refused, failed, latency, backend } = total
  const success = calls - refused - failed
  return {
    covered_s: coveredS,
    calls,
    success,
    refused,
    failed,
    rates: {
      calls: perSecond(calls),
      success: perSecond(success),
      refused: perSecond(refused),
      failed: perSecond(failed),
    },
    latency: {
      p50_ms: quantileMs(latency, 0.5),
      p90_ms: quantileMs(latency, 0.9),
      p99_ms: quantileMs(latency, 0.99),
    },
    backend: { p50_ms: quantileMs(backend, 0.5), p99_ms: quantileMs(backend, 0.99) },
    refusals: byReason(refusals, 'consumers', ([tenant, consumer]) => ({
      tenant: tenant || null,
      consumer: consumer || null,
    })),
    failures: byReason(failures, 'tools', ([tool]) => ({ tool: tool || null })),
    slowest: largest(tools, figures => quantileMs(figures.latency, 0.99) ?? 0).map(([name, figures]) => ({
      tool: name.split(SEPARATOR)[1],
      ...shownFigures(figures),
    })),
    consumers: largest(consumers, figures => figures.calls).map(([name, figures]) => {
      const [tenant, consumer] = name.split(SEPARATOR)
      return { tenant: tenant || null, consumer, ...shownFigures(figures) }
    }),
    series: series.map((figures, at) => ({
      at: new Date(fromMs + (at * (toMs - fromMs)) / series.length).toISOString(),
      ...shownFigures(figures),
    })),
  }
}

function largest(groups: Groups, size: (figures: Figures) => number): [string, Figures][] {
  return [...groups].sort(([, a], [, b]) => size(b) - size(a)).slice(0, MAX_LISTED)
}

/** Reasons with their calls and, under `name`, who or what was affected most. */
function byReason(
  groups: Groups,
  name: string,
  show: (parts: readonly string[]) => object,
): readonly { readonly calls: number }[] {
  const reasons = new Map<string, Groups>()
  for (const [key, figures] of groups) {
    const [reason, ...parts] = key.split(SEPARATOR) as [string, ...string[]]
    getOrSet(reasons, reason, (): Groups => new Map()).set(parts.join(SEPARATOR), figures)
  }
  return [...reasons]
    .map(([reason, affected]) => ({
      reason,
      calls: [...affected.values()].reduce((sum, { calls }) => sum + calls, 0),
      [name]: largest(affected, ({ calls }) => calls).map(([key, { calls }]) => ({
        ...show(key.split(SEPARATOR)),
        calls,
      })),
    }))
    .sort((a, b) => b.calls - a.calls)
}

/** Counts and latencies on the wire. */
export function shownFigures({ calls, refused, failed, latency, backend, lastAtMs }: Figures) {
  return {
    calls,
    refused,
    errors: failed,
    p50_ms: quantileMs(latency, 0.5),
    p99_ms: quantileMs(latency, 0.99),
    backend_p50_ms: quantileMs(backend, 0.5),
    last_call_at: lastAtMs === 0 ? null : new Date(lastAtMs).toISOString(),
  }
}
