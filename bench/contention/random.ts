/** Numbers that only look random: the same for the same seed. */

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1
  }

  /** At least 0, below 1 (xorshift32). */
  next(): number {
    let state = this.#state
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    this.#state = state >>> 0
    return this.#state / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  shuffle<T>(list: T[]): T[] {
    for (let at = list.length - 1; at > 0; at--) {
      const other = this.below(at + 1)
      ;[list[at], list[other]] = [list[other]!, list[at]!]
    }
    return list
  }
}

const PARTS = 64

/**
 * Factors from 0.5 to 1.5 for the private time of calls. Each of 64 parts of the range comes once before any comes again, so that the mean of
 * different runs is the same.
 */
export class Jitter {
  readonly #random: Random
  #left: number[] = []

  constructor(random: Random) {
    this.#random = random
  }

  next(): number {
    if (this.#left.length === 0)
      this.#left = this.#random.shuffle(
        Array.from({ length: PARTS }, (_, part) => 0.5 + (part + 0.5) / PARTS),
      )
    return this.#left.pop()!
  }
}
