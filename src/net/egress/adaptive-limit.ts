/**
 * How many calls an origin gets at once, by how long it takes to respond: a gradient of latencies, with the parameters of Gradient2 in Netflix'
 * concurrency-limits. It falls while responses take longer than they did, and grows while they do not.
 */

/** A latency may be so many times the average before the limit falls. */
const TOLERANCE = 1.5
/** The least part of the limit that one window leaves. */
const MIN_GRADIENT = 0.5
const SMOOTHING = 0.2
/** Calls that may wait at the origin, so that it has one when it ends another. */
const QUEUED = 4
const MIN_LIMIT = 20
/** Responses whose average is compared: those of single calls differ much. */
const WINDOW = 64
/** Windows that the long average covers; the first ones count equally. */
const COVERED = 200
const FIRST = 10
/** What remains of the long average after a window in which responses took less than half of it: the origin has recovered. */
const DECAY = 0.95

export class AdaptiveLimit {
  readonly #max: number
  #limit: number
  #longMs = 0
  #windows = 0
  #sumMs = 0
  #count = 0
  #mostRunning = 0

  /** @param max at first as well */
  constructor(max: number) {
    this.#max = max
    this.#limit = max
  }

  get limit(): number {
    return Math.floor(this.#limit)
  }

  /**
   * A response has begun.
   * @param latencyMs since its request was sent
   * @param running calls of the origin
   * @returns true when the limit may have changed
   */
  add(latencyMs: number, running: number): boolean {
    this.#sumMs += latencyMs
    if (running > this.#mostRunning) this.#mostRunning = running
    if (++this.#count < WINDOW) return false
    this.#compare(this.#sumMs / WINDOW)
    this.#sumMs = 0
    this.#count = 0
    this.#mostRunning = 0
    return true
  }

  #compare(shortMs: number): void {
    this.#windows++
    this.#longMs += (shortMs - this.#longMs) / (this.#windows > FIRST ? COVERED : this.#windows)
    if (this.#longMs > 2 * shortMs) this.#longMs *= DECAY
    // a limit that is not used says nothing
    if (this.#mostRunning < this.#limit / 2) return
    const gradient = Math.max(MIN_GRADIENT, Math.min(1, (TOLERANCE * this.#longMs) / shortMs))
    const next = this.#limit * gradient + QUEUED
    this.#limit = Math.min(this.#max, Math.max(MIN_LIMIT, this.#limit + SMOOTHING * (next - this.#limit)))
  }
}
