/** Tells which requests met a garbage collection, of the gateway or of the load itself, and which did not. It measures no request. */
import { PerformanceObserver, performance } from 'node:perf_hooks'

/** `[begin as ms since 1970, ms]` */
export type Pause = readonly [beginMs: number, ms: number]

/** Collections of this process; they come a little late. */
export class OwnPauses {
  #pauses: Pause[] = []

  constructor() {
    new PerformanceObserver(list => {
      for (const { startTime, duration } of list.getEntries())
        this.#pauses.push([performance.timeOrigin + startTime, duration])
    }).observe({ entryTypes: ['gc'] })
  }

  /** Since the last time. */
  take(): readonly Pause[] {
    return this.#pauses.splice(0)
  }
}

/**
 * When requests have to wait for a pause: until what it left undone is worked off. At share s of the capacity that takes pause / (1 − s).
 * @param pauses in any order
 * @returns windows in order, none touching another
 */
export function windowsOf(pauses: readonly Pause[], share: number): readonly (readonly [number, number])[] {
  const windows: [number, number][] = []
  for (const [begin, ms] of pauses.toSorted(([a], [b]) => a - b)) {
    const last = windows.at(-1)
    const end = begin + ms / (1 - share)
    if (last !== undefined && begin <= last[1]) last[1] = Math.max(last[1], end)
    else windows.push([begin, end])
  }
  return windows
}

/** Whether something from `from` to `to` met one of the windows. */
export function meets(windows: readonly (readonly [number, number])[], from: number, to: number): boolean {
  let low = 0
  let high = windows.length
  // the first window that ends behind `from`
  while (low < high) {
    const middle = (low + high) >> 1
    if (windows[middle]![1] < from) low = middle + 1
    else high = middle
  }
  return low < windows.length && windows[low]![0] <= to
}
