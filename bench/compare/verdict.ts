/** The claim that two sets of samples of one case allow: faster, slower or none; and whether it is a regression. */
import { spread } from '../statistics.ts'
import { welch } from './welch.ts'

/** One case on both sides: one sample for each fresh process. */
export interface Pair {
  /** `suite/case`, and the metric where it is not `time`. */
  readonly id: string
  readonly unit: string
  readonly better: 'lower' | 'higher'
  readonly before: readonly number[]
  readonly after: readonly number[]
}

export type Claim = 'faster' | 'slower' | 'no claim'

export interface Compared extends Omit<Pair, 'before' | 'after'> {
  readonly beforeMedian: number
  readonly afterMedian: number
  /** After in parts of before: ratio of the geometric means, with its 95 % confidence interval. */
  readonly ratio: number
  readonly low: number
  readonly high: number
  readonly p: number
  /** `no claim` unless the interval excludes 1. */
  readonly claim: Claim
  /** Slower, and by more than the threshold. */
  readonly regression: boolean
}

/**
 * Welch's test on the logarithms: what disturbs times multiplies them, and the difference of logarithms is the ratio that is asked for.
 * @param threshold a significant loss above it is a regression: 0.05
 */
export function compared(pair: Pair, threshold: number): Compared {
  const { before, after, ...name } = pair
  const test = welch(before.map(Math.log), after.map(Math.log))
  const [ratio, low, high] = [test.difference, test.low, test.high].map(Math.exp) as [number, number, number]
  const more = low > 1
  const claim: Claim =
    more || high < 1 ? (more === (pair.better === 'higher') ? 'faster' : 'slower') : 'no claim'
  const loss = pair.better === 'lower' ? ratio - 1 : 1 / ratio - 1
  return {
    ...name,
    beforeMedian: spread(before).median,
    afterMedian: spread(after).median,
    ratio,
    low,
    high,
    p: test.p,
    claim,
    regression: claim === 'slower' && loss > threshold,
  }
}
