/** Suggests names that are similar to an unknown one, from a given list. It does not decide which names a caller may see. */
import { editDistance } from '../../../base/edit-distance.ts'

const MAX_SUGGESTIONS = 3
/** Pairs of characters that are compared, a few milliseconds: unknown names must not stall other calls. */
const MAX_PAIRS = 400_000
const MAX_COMPARED = 5_000
const MAX_NAME_CHARACTERS = 64

/** Up to three names, nearest first: the same letters, one within the other, or few edits apart. */
export function nearNames(unknown: string, names: readonly string[]): readonly string[] {
  const wanted = lettersOf(unknown.slice(0, MAX_NAME_CHARACTERS))
  if (wanted.length < 3) return []
  const limit = 1 + Math.floor(wanted.length / 5)
  const found: { readonly name: string; readonly distance: number }[] = []
  let pairs = 0
  for (const name of names.slice(0, MAX_COMPARED)) {
    const letters = lettersOf(name)
    const within = letters.includes(wanted) || (letters.length >= 5 && wanted.includes(letters))
    const isNearInLength = Math.abs(letters.length - wanted.length) <= limit
    if (!within && isNearInLength) pairs += wanted.length * letters.length
    if (pairs > MAX_PAIRS || !(within || isNearInLength)) continue
    const distance = within
      ? Math.abs(letters.length - wanted.length) / MAX_NAME_CHARACTERS
      : editDistance(wanted, letters, limit + 1)
    if (distance <= limit) found.push({ name, distance })
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return found.slice(0, MAX_SUGGESTIONS).map(({ name }) => name)
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '')
}
