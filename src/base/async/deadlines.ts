/** Deadlines of one duration that share a coarse timer. For a late item it calls a callback. */
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

/** Fires between the time-out and two steps later, in the order of watching. */
export class Deadlines<T extends Watched> {
  readonly #lateMs: number
  readonly #stepMs: number
  readonly #onLate: (item: T) => void
  /** Runs while something is watched. */
  #timer: NodeJS.Timeout | undefined
  /** Monotonic ms of the last tick: a clock that costs nothing to read. */
  #nowMs = 0
  /** All deadlines lie equally far ahead, so the order of insertion is the order of expiry. */
  readonly #chain = new Chain<T>()

  /** @param maxStepMs of the timer, whose step is a fourth of the time-out, but not longer than this and not shorter than 10 ms */
  constructor(timeoutMs: number, onLate: (item: T) => void, maxStepMs = 1000) {
    this.#onLate = onLate
    this.#stepMs = Math.max(10, Math.min(maxStepMs, timeoutMs / 4))
    // A stamp is up to one step old, and nothing may be late before its time.
    this.#lateMs = timeoutMs + this.#stepMs
  }

  /** Starts the time of an item, again when it is watched already. */
  watch(item: T): void {
    this.unwatch(item)
    if (this.#timer === undefined) this.#start()
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
    this.#timer = undefined
  }

  #start(): void {
    this.#nowMs = performance.now()
    this.#timer = setInterval(() => this.#sweep(), this.#stepMs).unref()
  }

  #sweep(): void {
    this.#nowMs = performance.now()
    if (this.#chain.first === undefined) return this.stop()
    for (let item = this.#chain.first; item !== undefined; item = this.#chain.first) {
      if (this.#nowMs - item.watchedSinceMs <= this.#lateMs) return
      this.unwatch(item)
      this.#onLate(item)
    }
  }
}
