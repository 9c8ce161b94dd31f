/** What the path of a tool ends with: the thing that it is about, and whether that is one of a collection or the collection. It knows no words of a certain API. */
import type { Tool } from '../../model/tool.ts'
import { isPlural, wordsOf } from './words.ts'

/** Words of a request → whether each was written as a plural; a word that was written in both forms says nothing. */
export type Counts = ReadonlyMap<string, boolean>

export function countsOf(text: string): Counts {
  const counts = new Map<string, boolean>()
  const unclear = new Set<string>()
  for (const [piece] of text.matchAll(/\p{L}+/gu)) {
    const plural = isPlural(piece)
    for (const word of wordsOf(piece)) {
      if (counts.get(word) === !plural) unclear.add(word)
      counts.set(word, plural)
    }
  }
  for (const word of unclear) counts.delete(word)
  return counts
}

export interface PathNoun {
  /** Of the last segment that is not a parameter. */
  readonly words: readonly string[]
  /** Undefined for tools that change something, and where the path does not say it. */
  readonly isCollection: boolean | undefined
}

export function pathNounOf({ request: { method, path } }: Tool): PathNoun {
  const segments = path.split('/').filter(segment => segment !== '')
  const last = segments.findLast(segment => !segment.startsWith('{')) ?? ''
  const isKnown = method === 'GET' && isPlural(/\p{L}+$/u.exec(last)?.[0] ?? '')
  return { words: wordsOf(last), isCollection: isKnown ? segments.at(-1) === last : undefined }
}

/** 1 as asked or not known, 0 one thing instead of several or the reverse. */
export function countFit({ words, isCollection }: PathNoun, counts: Counts): number {
  const plural = counts.get(words.at(-1) ?? '')
  return isCollection === undefined || plural === undefined || plural === isCollection ? 1 : 0
}

const SYNONYM_NAMES = 0.7

/** How much of it the request names, with the words of the request and their synonyms. */
export function nounFit(
  { words: noun }: PathNoun,
  words: ReadonlyMap<string, number>,
  terms: ReadonlyMap<string, number>,
): number {
  let named = 0
  for (const word of noun) named += words.has(word) ? 1 : terms.has(word) ? SYNONYM_NAMES : 0
  return noun.length === 0 ? 1 : named / noun.length
}
