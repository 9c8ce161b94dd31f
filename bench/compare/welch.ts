/** Welch's t-test of two sets of samples, whose variances may differ. */
import jstat from 'jstat'

export interface Welch {
  /** Mean of the second minus mean of the first. */
  readonly difference: number
  /** Confidence interval of the difference. */
  readonly low: number
  readonly high: number
  readonly t: number
  /** Degrees of freedom after Welch and Satterthwaite. */
  readonly degrees: number
  /** Two-sided: how often a difference as large would be seen without any. */
  readonly p: number
}

/** @throws RangeError with fewer than two samples on a side: they say nothing about the variance */
export function welch(first: readonly number[], second: readonly number[], confidence = 0.95): Welch {
  const [a, b] = [moments(first), moments(second)]
  const difference = b.mean - a.mean
  const [ofA, ofB] = [a.variance / a.count, b.variance / b.count]
  const error = Math.sqrt(ofA + ofB)
  // no variance at all: whatever differs, differs for certain
  if (error === 0)
    return {
      difference,
      low: difference,
      high: difference,
      t: difference === 0 ? 0 : Math.sign(difference) * Number.POSITIVE_INFINITY,
      degrees: a.count + b.count - 2,
      p: difference === 0 ? 1 : 0,
    }
  const degrees = (ofA + ofB) ** 2 / (ofA ** 2 / (a.count - 1) + ofB ** 2 / (b.count - 1))
  const t = difference / error
  const margin = jstat.studentt.inv(1 - (1 - confidence) / 2, degrees) * error
  return {
    difference,
    low: difference - margin,
    high: difference + margin,
    t,
    degrees,
    p: 2 * jstat.studentt.cdf(-Math.abs(t), degrees),
  }
}

function moments(samples: readonly number[]): { count: number; mean: number; variance: number } {
  const count = samples.length
  if (count < 2) throw new RangeError(`${count} samples: Welch's test needs two on each side at least`)
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / count
  const variance = samples.reduce((sum, sample) => sum + (sample - mean) ** 2, 0) / (count - 1)
  return { count, mean, variance }
}
