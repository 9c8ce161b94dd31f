/** One coarse timer for everything that must arrive within the same time; it knows nothing of HTTP. */

/** Fires between the time-out and half of it (at most two seconds) later, in the order of watching. */
export class Deadlines<T> {
  /** Monotonic ms of the last tick: a clock that costs nothing to read. */
  nowMs = performance.now()
  readonly #lateMs: number
  readonly #onLate: (item: T) => void
  /** All deadlines lie equally far ahead, so the order of insertion is the order of expiry. */
  readonly #watched = new Map<T, number>()
  readonly #timer: NodeJS.Timeout

  constructor(timeoutMs: number, onLate: (item: T) => void) {
    this.#onLate = onLate
    const stepMs = Math.max(10, Math.min(1000, timeoutMs / 4))
    // A stamp is up to one step old, and nothing may be late before its time.
    this.#lateMs = timeoutMs + stepMs
    this.#timer = setInterval(() => this.#sweep(), stepMs).unref()
  }

  /** Starts the time of an item, anew when it is watched already. */
  watch(item: T): void {
    this.#watched.delete(item)
    this.#watched.set(item, this.nowMs)
  }

  forget(item: T): void {
    this.#watched.delete(item)
  }

  /** Milliseconds an item has been watched, 0 when it is not. */
  ageMs(item: T): number {
    const since = this.#watched.get(item)
    return since === undefined ? 0 : performance.now() - since
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#watched.clear()
  }

  #sweep(): void {
    this.nowMs = performance.now()
    for (const [item, since] of this.#watched) {
      if (this.nowMs - since <= this.#lateMs) return
      this.#watched.delete(item)
      this.#onLate(item)
    }
  }
}
