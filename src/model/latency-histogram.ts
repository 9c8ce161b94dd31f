/** Buckets of latencies, and quantiles of the counts in them. */

/** Buckets in each doubling: no bucket is wider than 1/32 of its values, so that a quantile is within 1.6 % of the true one. */
const PER_OCTAVE = 32
/** About 12 days; longer ones count as this. */
const MAX_US = 2 ** 40 - 1

/** Number of the bucket of a latency; 0 … 1,151. Below 64 µs every microsecond has its own. */
export function bucketOf(latencyUs: number): number {
  const value = Math.min(MAX_US, Math.max(0, Math.trunc(latencyUs)))
  if (value < 2 * PER_OCTAVE) return value
  const shift = (value < 2 ** 31 ? 31 - Math.clz32(value) : Math.floor(Math.log2(value))) - 5
  return shift * PER_OCTAVE + Math.floor(value / 2 ** shift)
}

/** The middle of a bucket, in microseconds. */
export function middleOf(bucket: number): number {
  if (bucket < 2 * PER_OCTAVE) return bucket
  const shift = Math.floor(bucket / PER_OCTAVE) - 1
  const low = (bucket - shift * PER_OCTAVE) * 2 ** shift
  return low + (2 ** shift - 1) / 2
}

export interface BucketCount {
  readonly bucket: number
  readonly requests: number
}

/**
 * The latency below or at which a share of the calls were, in microseconds.
 * @param counts in ascending order of their buckets
 * @param share 0 … 1, such as 0.95
 * @returns undefined when there were no calls
 */
export function quantile(counts: readonly BucketCount[], share: number): number | undefined {
  const total = counts.reduce((sum, { requests }) => sum + requests, 0)
  const rank = Math.max(1, Math.ceil(share * total))
  let seen = 0
  for (const { bucket, requests } of counts) {
    seen += requests
    if (seen >= rank) return middleOf(bucket)
  }
  return undefined
}
