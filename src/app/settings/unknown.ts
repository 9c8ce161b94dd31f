/** Finds variables that look like a misspelled setting. It reads no value. */

/** Kubernetes sets these for each Service of the namespace. */
const SERVICE_LINK = /_(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$/
const PREFIX = 'TOOLGATE_'
const MIN_LENGTH = 5

export interface UnknownSetting {
  readonly name: string
  readonly nearest: string
}

/**
 * @param names of the environment
 * @param known names that are read
 */
export function findUnknownSettings(names: readonly string[], known: ReadonlySet<string>): UnknownSetting[] {
  const found: UnknownSetting[] = []
  for (const name of names) {
    const plain = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : name
    if (known.has(plain) || plain.length < MIN_LENGTH || SERVICE_LINK.test(name)) continue
    const bare = plain.toUpperCase().replaceAll('-', '_')
    const wanted = bare.startsWith(PREFIX) ? bare.slice(PREFIX.length) : bare
    const nearest = nearestOf(wanted, known)
    if (nearest !== undefined) found.push({ name, nearest })
  }
  return found
}

/** One edit in a short name, three in a long one. */
function nearestOf(name: string, known: ReadonlySet<string>): string | undefined {
  const maxEdits = name.length < 9 ? 1 : name.length < 16 ? 2 : 3
  let best: string | undefined
  let bestEdits = maxEdits + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestEdits) continue
    const edits = editsBetween(name, candidate, bestEdits)
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/**
 * Insertions, deletions, replacements and swaps of neighbors (optimal string alignment).
 * @returns `limit` where there are as many or more: most names of an environment differ from all settings after a few letters
 */
function editsBetween(from: string, to: string, limit: number): number {
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
  return row[to.length]!
}
