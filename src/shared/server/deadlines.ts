/** One coarse timer for everything that must arrive within the same time; it knows nothing of HTTP. */
import { Chain, type Linked } from './chain.ts'

export const NOT_WATCHED = -1

/**
 * What can be watched carries its own place in the list: a Map costs 0.4 µs a request where this costs a few
 * stores.
 */
export interface Watched extends Linked {
  /** `NOT_WATCHED` at first; afterwards ours to write. */
  watchedSinceMs: number
}

/** Fires between the time-out and half of it (at most two seconds) later, in the order of watching. */
export class Deadlines<T extends Watched> {
  readonly #lateMs: number
  readonly #onLate: (item: T) => void
  readonly #timer: NodeJS.Timeout
  /** Monotonic ms of the last tick: a clock that costs nothing to read. */
  #nowMs = performance.now()
  /** All deadlines lie equally far ahead, so the order of insertion is the order of expiry. */
  readonly #chain = new Chain<T>()

  constructor(timeoutMs: number, onLate: (item: T) => void) {
    this.#onLate = onLate
    const stepMs = Math.max(10, Math.min(1000, timeoutMs / 4))
    // A stamp is up to one step old, and nothing may be late before its time.
    this.#lateMs = timeoutMs + stepMs
    this.#timer = setInterval(() => this.#sweep(), stepMs).unref()
  }

  /** Starts the time of an item, again when it is watched already. */
  watch(item: T): void {
    this.unwatch(item)
    item.watchedSinceMs = this.#nowMs
    this.#chain.append(item)
  }

  unwatch(item: T): void {
    if (item.watchedSinceMs === NOT_WATCHED) return
    this.#chain.remove(item)
    item.watchedSinceMs = NOT_WATCHED
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sweep(): void {
    this.#nowMs = performance.now()
    for (let item = this.#chain.first; item !== undefined; item = this.#chain.first) {
      if (this.#nowMs - item.watchedSinceMs <= this.#lateMs) return
      this.unwatch(item)
      this.#onLate(item)
    }
  }
}
