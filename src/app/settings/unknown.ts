/** Finds variables that look like a misspelled setting. */
import { editDistance } from '../../base/edit-distance.ts'

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
    const edits = editDistance(name, candidate, bestEdits)
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}
