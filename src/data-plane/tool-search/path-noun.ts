/**
 * Reads the thing and the places in the path of a tool and the plurals in a request, and measures how well a request fits a path. It
 * searches nothing.
 */
import type { Tool } from '../../model/tool.ts'
import { isPlural, wordsOf } from './words.ts'

/** Words of a request → whether each was written as a plural; a word that was written in both forms says nothing. */
type Counts = ReadonlyMap<string, boolean>

/** Of nouns that mean several of what they follow: "commit history". */
const COLLECTIONS = /^ (?:histor|list|log|overview|timeline)/

/** @param othersOf words that mean the same: those of a plural are plurals where they are not written */
export function countsOf(text: string, othersOf: (word: string) => Iterable<string> = () => []): Counts {
  const counts = new Map<string, boolean>()
  const unclear = new Set<string>()
  const note = (word: string, plural: boolean): void => {
    if (counts.get(word) === !plural) unclear.add(word)
    counts.set(word, plural)
  }
  for (const { 0: piece, index } of text.matchAll(/\p{L}+/gu)) {
    const plural = isPlural(piece) || COLLECTIONS.test(text.slice(index + piece.length))
    const next = /^ (\p{L}+)/u.exec(text.slice(index + piece.length))?.[1]
    // "project boards": the count is that of the last word
    if (plural || next === undefined || !isPlural(next)) for (const word of wordsOf(piece)) note(word, plural)
  }
  const written = [...counts]
  const known = new Set(counts.keys())
  for (const [word, plural] of written)
    if (plural) for (const other of othersOf(word)) if (!known.has(other)) note(other, plural)
  for (const word of unclear) counts.delete(word)
  return counts
}

/** A collection in a path, one of whose things is a parameter. */
interface Place {
  readonly words: readonly string[]
  readonly joined: string
  /** The thing is named by two parameters, such as `{owner}/{name}`. */
  readonly isPair: boolean
}

export interface PathNoun {
  /** Of the last segment that is not a parameter. */
  readonly words: readonly string[]
  /** Undefined for tools that change something, and where the path does not say it. */
  readonly isCollection: boolean | undefined
  /** It adds one to a collection. */
  readonly creates: boolean
  readonly places: readonly Place[]
  /** Places that the thing itself is in. */
  readonly parents: readonly Place[]
}

const isParameter = (segment: string | undefined): boolean => segment?.startsWith('{') === true

function placeOf(segment: string, isPair: boolean): Place {
  const words = wordsOf(segment)
  return { words, joined: words.join(''), isPair }
}

export function pathNounOf({ request: { method, path } }: Tool): PathNoun {
  const segments = path.split('/').filter(segment => segment !== '')
  const last = segments.findLast(segment => !isParameter(segment)) ?? ''
  const isKnown = method === 'GET' && isPlural(/\p{L}+$/u.exec(last)?.[0] ?? '')
  const places = segments.flatMap((segment, at) =>
    !isParameter(segment) && isParameter(segments[at + 1])
      ? [placeOf(segment, isParameter(segments[at + 2]))]
      : [],
  )
  return {
    words: wordsOf(last),
    isCollection: isKnown ? segments.at(-1) === last : undefined,
    creates: method === 'POST' && segments.at(-1) === last,
    places,
    parents: isParameter(segments.at(-1)) ? places.slice(0, -1) : places,
  }
}

/** What a request says about things and places. */
export interface Named {
  /** Words that name things, and how sure: 1 as written, less for what means the same. */
  readonly names: ReadonlyMap<string, number>
  /** Values that stand beside no noun: each may name a thing of any place. */
  readonly freeValues: number
  /** `owner/name` is written. */
  readonly hasPair: boolean
  /** Nouns with a value ("order 7"), each with what means the same. */
  readonly identified: readonly ReadonlySet<string>[]
  /** First parts of ids that stand beside no noun ("cus_9"). */
  readonly prefixes: readonly string[]
  readonly counts: Counts
  readonly values: number
}

/** 1 as asked or not known, 0 one thing instead of several or the reverse; `NOT_SAID_WHICH` one thing that the request does not identify. */
export function countFit({ words, isCollection }: PathNoun, { counts, values }: Named): number {
  if (isCollection === undefined) return 1
  const plural = counts.get(words.at(-1) ?? '')
  if (plural !== undefined) return plural === isCollection ? 1 : 0
  // nothing says which one
  return !isCollection && values === 0 ? NOT_SAID_WHICH : 1
}

const NOT_SAID_WHICH = 0.5

/** How much of the noun the request names. */
export function nounFit({ words: noun }: PathNoun, { names }: Named): number {
  return noun.length === 0 ? 1 : namedOf(noun, names) / noun.length
}

/** How many of the places that a tool is in the request does not name. */
export function unnamedParents({ parents }: PathNoun, { names, freeValues, hasPair }: Named): number {
  let unnamed = 0
  let free = freeValues
  for (const { words, isPair } of parents) {
    if ((isPair && hasPair) || namedOf(words, names) > 0) continue
    if (isPair || free-- <= 0) unnamed++
  }
  return unnamed
}

/** The share of the nouns with a value, the ids without a noun and `owner/name` that are places of a tool, or what it creates; 1 without any. */
export function identifiedFit({ places, words: noun, creates }: PathNoun, query: Named): number {
  const { identified, prefixes, hasPair } = query
  let met = hasPair && places.some(({ isPair }) => isPair) ? 1 : 0
  for (const nouns of identified)
    if (
      places.some(({ words }) => words.some(word => nouns.has(word))) ||
      (creates && noun.some(word => nouns.has(word)))
    )
      met++
  for (const prefix of prefixes) if (places.some(({ joined }) => abbreviates(prefix, joined))) met++
  const all = identified.length + prefixes.length + (hasPair ? 1 : 0)
  return all === 0 ? 1 : met / all
}

/** Whether the letters stand in the noun in this order, the first one first: `acct`, `account`. */
function abbreviates(letters: string, noun: string): boolean {
  if (letters[0] !== noun[0]) return false
  let at = 0
  for (const letter of letters) {
    at = noun.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}

function namedOf(noun: readonly string[], names: ReadonlyMap<string, number>): number {
  let named = 0
  for (const word of noun) named += names.get(word) ?? 0
  return named
}
