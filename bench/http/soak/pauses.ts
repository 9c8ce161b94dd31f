/**
 * Reports which requests met a garbage collection, of the gateway or of the load itself, or a while in which the machine gave its processors
 * to others, and which met neither.
 */
import { readFileSync } from 'node:fs'
import { PerformanceObserver, performance } from 'node:perf_hooks'

/** `[begin as ms since 1970, ms]` */
export type Pause = readonly [beginMs: number, ms: number]
/** `[begin, end]`, in order, none touching another. */
export type Windows = readonly (readonly [number, number])[]

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

const TICK_MS = 10
const LOOK_EVERY_MS = 50

/** Time that the hypervisor took from this machine (proc(5), `stat`, the field `steal`), to a twentieth of a second. */
export class StolenTime {
  #pauses: Pause[] = []
  #ticks = stolenTicks()
  readonly #timer = setInterval(() => this.#look(), LOOK_EVERY_MS)

  #look(): void {
    const ticks = stolenTicks()
    const ms = (ticks - this.#ticks) * TICK_MS
    this.#ticks = ticks
    if (ms > 0)
      this.#pauses.push([performance.timeOrigin + performance.now() - LOOK_EVERY_MS, ms + LOOK_EVERY_MS])
  }

  /** Since the last time. */
  take(): readonly Pause[] {
    this.#look()
    return this.#pauses.splice(0)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** For all processors; 0 where the system does not report. */
function stolenTicks(): number {
  try {
    return Number(readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/)[8] ?? 0)
  } catch {
    return 0
  }
}

/**
 * When requests have to wait for a pause: until what it left undone is worked off. A gateway busy for a share s of the time
 * needs pause / (1 − s) for that.
 * @param pauses in any order
 */
export function windowsOf(pauses: readonly Pause[], share: number): Windows {
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
export function meets(windows: Windows, from: number, to: number): boolean {
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
