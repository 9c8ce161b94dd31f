/**
 * Decides when a measured program is warm: load runs in windows until the cost of a call is steady, because how long compilers take depends on
 * how many threads compile, and on what else the processors do.
 */
import { spread } from '../../statistics.ts'

/** As many as the rule looks at; each half of them has a mean. */
export const WINDOWS = 4
/** wrk takes whole seconds only. */
export const WINDOW_SECONDS = 1
/** For the median: how far the cheapest and the dearest of these windows are apart at most. */
export const MAX_SPREAD = 0.12
/** For the median: how far the means of their two halves are apart at most, so that windows which still become cheaper are not steady. */
export const MAX_TREND = 0.04
/** For one case; a figure that is not steady by then is marked, and does not enter the report. */
export const MAX_WARM_UP_MS = 30_000

/** @param costs of the windows so far, in their order: CPU time of a call, or another cost that falls while code is compiled */
export function isSteady(costs: readonly number[]): boolean {
  const last = costs.slice(-WINDOWS)
  if (last.length < WINDOWS) return false
  const { median, min, max } = spread(last)
  const trend = mean(last.slice(WINDOWS / 2)) - mean(last.slice(0, WINDOWS / 2))
  return max - min <= MAX_SPREAD * median && Math.abs(trend) <= MAX_TREND * median
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

export interface WarmUp<W> {
  /** False: the time was up before the windows were steady. */
  readonly warm: boolean
  readonly warmUpMs: number
  /** All of them, in their order. */
  readonly windows: readonly W[]
}

export interface WarmUpOptions {
  readonly maxMs?: number
  /** As `performance.now()`. */
  readonly nowMs?: () => number
}

/** @param window sends load for one window and returns what it showed */
export async function warmUp<W>(
  window: () => Promise<W>,
  costOf: (window: W) => number,
  { maxMs = MAX_WARM_UP_MS, nowMs = () => performance.now() }: WarmUpOptions = {},
): Promise<WarmUp<W>> {
  const startedAtMs = nowMs()
  const windows: W[] = []
  let warm = false
  while (!warm && nowMs() - startedAtMs < maxMs) {
    windows.push(await window())
    warm = isSteady(windows.map(costOf))
  }
  return { warm, warmUpMs: Math.round(nowMs() - startedAtMs), windows }
}

/** `warm after 5 s`, or what it cost in the last windows where it was not steady. @param what a cost is of, in µs */
export function warmUpText<W>(
  { warm, warmUpMs, windows }: WarmUp<W>,
  costOf: (window: W) => number,
  what = 'call',
): string {
  const seconds = `${(warmUpMs / 1000).toFixed(0)} s`
  if (warm) return `warm after ${seconds}`
  const costs = windows.slice(-WINDOWS).map(window => costOf(window).toFixed(1))
  return `NOT WARM: not steady after ${seconds} (${costs.join(', ')} µs a ${what})`
}
