/** A seeded generator of pseudo-random numbers: the same seed gives the same schedule of faults and the same mix of calls. It is not for secrets. */

export interface Random {
  /** At least `min`, below `max`. */
  between(min: number, max: number): number
  /** An integer from 0 to `count` − 1. */
  below(count: number): number
  shuffle<T>(items: readonly T[]): T[]
}

/** Mulberry32. @param seed any integer; its low 32 bits count */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  return {
    between: (min, max) => min + next() * (max - min),
    below,
    shuffle(items) {
      const rest = [...items]
      for (let last = rest.length - 1; last > 0; last--) {
        const other = below(last + 1)
        ;[rest[last], rest[other]] = [rest[other]!, rest[last]!]
      }
      return rest
    },
  }
}
