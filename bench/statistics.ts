/** Medians and ratios of samples. */

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** @throws RangeError without a sample */
export function spread(samples: readonly number[]): Spread {
  if (samples.length === 0) throw new RangeError('no sample: a median of nothing is not a figure')
  const sorted = [...samples].sort((a, b) => a - b)
  const upper = sorted.length >> 1
  const median = sorted.length % 2 === 1 ? sorted[upper]! : (sorted[upper - 1]! + sorted[upper]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)! }
}

/**
 * What `samples` are in parts of `reference`. Repeats took turns, so each is divided by its neighbour: what slowed the machine for a
 * while slowed both. With unequal counts there are no neighbours, and the spread is the widest that the extremes allow.
 */
export function ratioSpread(samples: readonly number[], reference: readonly number[]): Spread {
  if (samples.length === reference.length) return spread(samples.map((sample, at) => sample / reference[at]!))
  const [mine, other] = [spread(samples), spread(reference)]
  return { median: mine.median / other.median, min: mine.min / other.max, max: mine.max / other.min }
}
