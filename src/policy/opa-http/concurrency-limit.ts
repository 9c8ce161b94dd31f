/** Lets a bounded number through at once, and a bounded number wait in order. */

export class ConcurrencyLimit {
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(maxInside: number, maxWaiting: number) {
    this.#free = maxInside
    this.#maxWaiting = maxWaiting
  }

  /** Resolves to true when it is one's turn: then `leave` must be called once. False: too many are waiting already. */
  enter(): Promise<boolean> {
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve(true)
    }
    if (this.#waiting.length >= this.#maxWaiting) return Promise.resolve(false)
    return new Promise(resolve => this.#waiting.push(() => resolve(true)))
  }

  leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
