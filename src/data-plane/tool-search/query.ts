/** A request in the words of a user → the words to search for, with weights. It searches nothing. */
import { isActionWord } from './actions.ts'
import { type Counts, countsOf } from './path-noun.ts'
import { isFiller, SYNONYM_WEIGHT, synonymsOf, withoutPhrases } from './synonyms.ts'
import { inEnglish, isForeign } from './translations.ts'
import { wordsOf } from './words.ts'

export interface Query {
  /** Words of the request and how much each counts, at most 1. */
  readonly words: ReadonlyMap<string, number>
  /** Those and their synonyms. */
  readonly terms: ReadonlyMap<string, number>
  /** All words in order, for what depends on their place. */
  readonly sequence: readonly string[]
  readonly counts: Counts
}

const MAX_WORDS = 24
/** Names and values, such as `cus_9`, `"main"`, `DEPLOY_KEY` or an address: they rarely stand in a document. */
const VALUES = /"[^"]*"|\S*@\S*|\S*\d\S*|\b[A-Z]+_[A-Z_]+\b/g
/** `owner/name`, and paths of files. */
const PATHS = /\S+\/\S+/g
const VALUE_WEIGHT = 0.15
/** What a request does is compared by itself (`actionFit`), so its word counts less. */
const ACTION_WEIGHT = 0.5
/** Words that API documents use for the caller, and for `owner/name`. */
const SELF = wordsOf('authenticated me')
const SELF_PATTERN = /\b(?:my|me|I)\b/
const REPOSITORY = wordsOf('repository')
const HINT_WEIGHT = 0.3

export function readQuery(text: string): Query {
  const plain = withoutPhrases(text)
  const written = wordsOf(plain)
  const translated = isForeign(written) ? inEnglish : (each: string[]): string[] => each
  const sequence = translated(written)
  const words = new Map<string, number>()
  const add = (added: readonly string[], weightOf: (word: string) => number): void => {
    for (const word of added) {
      if (words.size >= MAX_WORDS) return
      if (!isFiller(word) && !words.has(word)) words.set(word, weightOf(word))
    }
  }
  const withoutPaths = plain.replace(PATHS, ' ')
  add(translated(wordsOf(withoutPaths.replace(VALUES, ' '))), word =>
    isActionWord(word) ? ACTION_WEIGHT : 1,
  )
  for (const [value] of withoutPaths.matchAll(VALUES)) add(wordsOf(value), () => VALUE_WEIGHT)
  if (SELF_PATTERN.test(plain)) add(SELF, () => HINT_WEIGHT)
  if (withoutPaths !== plain) add(REPOSITORY, () => HINT_WEIGHT)
  return { words, terms: termsOf(words), sequence, counts: countsOf(plain) }
}

function termsOf(words: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const terms = new Map(words)
  for (const [word, weight] of words) {
    if (weight <= VALUE_WEIGHT) continue
    for (const other of synonymsOf(word))
      terms.set(other, Math.max(terms.get(other) ?? 0, weight * SYNONYM_WEIGHT))
  }
  return terms
}
