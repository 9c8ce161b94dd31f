/** Decides from measured latencies and reported faults whether requests may share a connection. It sends nothing and has no timer. */

/** Latencies of which the median is taken: few, so that it follows an upstream whose latency changes. */
const SAMPLES = 15
const SAMPLES_PER_MEDIAN = 4
/** Below it a wait costs less than the mistake of taking a pause of this process for one of the upstream. */
const MIN_BLOCKED_MS = 50
const BLOCKED_MEDIANS = 8
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 30_000

export class LineGuard {
  readonly #samples = new Float64Array(SAMPLES)
  #sampled = 0
  #limitMs = MIN_BLOCKED_MS
  #pausedUntilMs = 0
  #pauseMs = 0

  /** How long a response may take while other requests wait behind it. */
  get limitMs(): number {
    return this.#limitMs
  }

  mayShare(nowMs: number): boolean {
    return nowMs >= this.#pausedUntilMs
  }

  /** The latency of a response whose request waited behind no other. */
  sample(ms: number): void {
    this.#samples[this.#sampled++ % SAMPLES] = ms
    if (this.#sampled % SAMPLES_PER_MEDIAN !== 0) return
    const sorted = this.#samples.slice(0, Math.min(this.#sampled, SAMPLES)).sort()
    const median = sorted[sorted.length >> 1]!
    this.#limitMs = Math.max(MIN_BLOCKED_MS, BLOCKED_MEDIANS * median)
  }

  /** Requests have waited behind a response that took this long since nothing was before it. */
  waited(ms: number, nowMs: number): void {
    if (ms > this.#limitMs) this.pause(nowMs)
  }

  /** One request per connection for a while: twice as long as the last time, unless sharing went well for twice as long as that. */
  pause(nowMs: number): void {
    if (!this.mayShare(nowMs)) return
    const wentWell = nowMs - this.#pausedUntilMs > 2 * this.#pauseMs
    this.#pauseMs = wentWell ? FIRST_PAUSE_MS : Math.min(2 * this.#pauseMs, MAX_PAUSE_MS)
    this.#pausedUntilMs = nowMs + this.#pauseMs
  }
}
