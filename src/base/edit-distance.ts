/** The distance between two names in edits, with a limit. */

/**
 * Insertions, deletions, replacements and swaps of neighbors (optimal string alignment).
 * @returns `limit` where there are as many or more: most names differ after a few letters
 */
export function editDistance(from: string, to: string, limit: number): number {
  let before: number[] = []
  let leastBefore = 0
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    let least = i
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      let edits = Math.min(replaced, row[j]! + 1, next[j - 1]! + 1)
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        edits = Math.min(edits, before[j - 2]! + 1)
      next.push(edits)
      least = Math.min(least, edits)
    }
    // a swap counts from the row before the last
    if (least >= limit && leastBefore >= limit) return limit
    leastBefore = least
    before = row
    row = next
  }
  return Math.min(row[to.length]!, limit)
}
