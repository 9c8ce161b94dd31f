/** Counts in plain logs of admitted calls: what may be concluded about windows. */

/** Most entries of ascending `times` that any half-open window of `lengthMs` holds. */
export function maxInWindow(times: readonly number[], lengthMs: number): number {
  let max = 0
  let first = 0
  for (let last = 0; last < times.length; last++) {
    while (times[last]! - times[first]! >= lengthMs) first++
    max = Math.max(max, last - first + 1)
  }
  return max
}

/** Entries later than `afterMs`. */
export function countAfter(times: readonly number[], afterMs: number): number {
  let count = 0
  for (let at = times.length - 1; at >= 0 && times[at]! > afterMs; at--) count++
  return count
}

export interface Span {
  /** Not earlier than this, and not later than that. */
  readonly from: number
  readonly to: number
}

/** Maximum number of spans entirely inside a window: certainly admitted in it, in any order of the threads. */
export function mostSurelyInside(spans: readonly Span[], lengthMs: number): number {
  const byEnd = [...spans].sort((a, b) => a.to - b.to)
  const starts = [...new Set(spans.map(span => span.from))].sort((a, b) => a - b)
  let max = 0
  let first = 0
  for (const start of starts) {
    // A span that ends before the window begins does so for every later window too.
    while (first < byEnd.length && byEnd[first]!.to < start) first++
    let count = 0
    for (let at = first; at < byEnd.length && byEnd[at]!.to < start + lengthMs; at++)
      if (byEnd[at]!.from >= start) count++
    max = Math.max(max, count)
  }
  return max
}
