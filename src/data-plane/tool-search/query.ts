/** A request in the words of a user → the words to search for, with weights, and the actions, things and values that it names. It searches nothing. */
import { askedIn } from './actions.ts'
import { countsOf, type Named } from './path-noun.ts'
import { isFiller, synonymsOf, withoutPhrases } from './synonyms.ts'
import { inEnglish, isForeign } from './translations.ts'
import type { Action } from './verbs.ts'
import { WEIGHTS } from './weights.ts'
import { isPlural, wordsOf } from './words.ts'

export interface Query extends Named {
  /** Words of the request and how much each counts, at most 1. */
  readonly words: ReadonlyMap<string, number>
  /** Of each word: those that mean the same. */
  readonly others: ReadonlyMap<string, ReadonlySet<string>>
  /** What to search for: the words, and what means the same and is rare enough. */
  readonly searched: ReadonlyMap<string, number>
  /** All words in order but values, for what depends on their place. */
  readonly sequence: readonly string[]
  /** What it wants to do; empty when it does not say it. */
  readonly actions: ReadonlySet<Action>
}

const MAX_WORDS = 24
/** Names and values, such as `cus_9`, `"main"`, `DEPLOY_KEY`, `main.yml` or an address: they rarely stand in a document. */
const VALUES = /"[^"]*"|\S*@\S*|\S*\d\S*|\b[A-Z]+_[A-Z_]+\b|\b[\w-]+\.[a-z]{2,5}\b/g
/** `owner/name`, and paths of files. */
const PATHS = /\S+\/\S+/g
/** Words that API documents use for the caller, and for `owner/name`. */
const SELF = wordsOf('authenticated me')
const SELF_PATTERN = /\b(?:my|me|I|I've|I'm|mine)\b/
const US = wordsOf('organization')
const US_PATTERN = /\b(?:our|we|us|we've)\b/i
const REPOSITORY = wordsOf('repository')
/** The same in paths: so many tools have it that it is searched for only where a request says nothing else. */
const REPOSITORY_PATH = wordsOf('repo')
/** Adjectives and past forms: "added", "blocked". */
const PARTICIPLE = /\b[a-z]+[^\We]ed\b/gi

/** Words between a noun and its value ("order number 7"). */
const BEFORE_VALUE = new Set(wordsOf('number no id called named with the nr numero nummer'))

/** The words with which tools are described. */
export interface Vocabulary {
  has(word: string): boolean
  /** In so many tools that it says little about one. */
  isCommon(word: string): boolean
  /** In one tool at most. */
  isRare(word: string): boolean
  /** Those of the same family. */
  relatedTo(word: string): readonly string[]
}

const ANY: Vocabulary = { has: () => true, isCommon: () => false, isRare: () => false, relatedTo: () => [] }

export function readQuery(text: string, vocabulary: Vocabulary = ANY): Query {
  return new Reader(text, vocabulary).read()
}

/** Amounts say nothing about which thing is meant, unless they follow its noun ("order 7"). */
const IS_AMOUNT = /^\W*[\d.,:%]+\W*$/
/** Characters before a value in which its noun stands. */
const NOUN_WITHIN = 40
const MIN_PART = 4
const ACRONYM = 3
/** A singular noun needs an article after these words, so what stands there without one is a name: "does octocat follow", "who is octocat". */
const NAMES = /\b(?:does|did|has|who is|who's)\s+([a-z][a-z-]*)(?=\s+[a-z]|[?.!\s]*$)/gi
/** The first part of an id such as `cus_9`: short for its noun. */
const ID_PREFIX = /^\W*([a-z]{3,6})_\w/

const WITH_UMLAUT = /\p{L}*[äöü]\p{L}*/giu
const UMLAUT = /[äöü]/gi
const RESPELLED = new Map([
  ['ä', 'ae'],
  ['ö', 'oe'],
  ['ü', 'ue'],
])

const AS_WRITTEN: ReadonlyMap<string, string> = new Map()

/** Identifiers are written without umlauts. */
function respelledIn(text: string): ReadonlyMap<string, string> {
  const respelled = new Map<string, string>()
  for (const [written] of text.normalize('NFC').matchAll(WITH_UMLAUT)) {
    const [word] = wordsOf(written)
    const [other] = wordsOf(written.toLowerCase().replace(UMLAUT, letter => RESPELLED.get(letter)!))
    if (word !== undefined && other !== undefined) respelled.set(word, other)
  }
  return respelled
}

class Reader {
  readonly #text: string
  readonly #vocabulary: Vocabulary
  readonly #isForeign: boolean
  readonly #words = new Map<string, number>()
  readonly #others = new Map<string, ReadonlySet<string>>()
  readonly #names = new Map<string, number>()
  /** English word → how the request says it, as far as tools are described in that language. */
  readonly #originals = new Map<string, Set<string>>()
  /** Word of the request → as it is written where umlauts are not: `bucher` → `buecher`. */
  readonly #respelled: ReadonlyMap<string, string>

  constructor(text: string, vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary
    this.#text = withoutPhrases(text).replace(NAMES, (all, name: string) =>
      this.#isName(name) ? `${all.slice(0, -name.length)}@` : all,
    )
    this.#isForeign = isForeign(this.#text, wordsOf(this.#text))
    this.#respelled = this.#isForeign ? respelledIn(this.#text) : AS_WRITTEN
  }

  read(): Query {
    const text = this.#text.replace(PATHS, ' ')
    const hasPair = text !== this.#text
    const sequence = this.#wordsOf(text.replace(VALUES, ' '))
    const first = this.#wordsOf(this.#text)[0]
    const { actions, verbAt } = askedIn(sequence, first, /\?\s*$/.test(this.#text), this.#participles())
    const verb = sequence[verbAt]
    this.#addSequence(sequence, verbAt)
    const proper = [...this.#words.keys()].filter(word => this.#isProper(word))
    const identified: ReadonlySet<string>[] = []
    const prefixes: string[] = []
    let freeValues = proper.length
    for (const { 0: value, index } of text.matchAll(VALUES)) {
      const before = this.#wordsOf(text.slice(Math.max(0, index - NOUN_WITHIN), index))
      const at = before.findLastIndex(word => !BEFORE_VALUE.has(word))
      const noun = before[at]
      const prefix = ID_PREFIX.exec(value)?.[1]
      const isNoun = noun !== undefined && this.#words.has(noun) && noun !== verb
      if (isNoun && (prefix === undefined || !this.#isProper(noun)))
        identified.push(
          new Set([
            noun,
            this.#closed(before[at - 1] ?? '', noun) ?? noun,
            ...this.#othersOf(noun),
            ...(this.#isProper(noun) ? this.#partsOf(noun) : []),
          ]),
        )
      else if (!IS_AMOUNT.test(value)) {
        freeValues++
        if (prefix !== undefined) prefixes.push(prefix)
      }
    }
    if (SELF_PATTERN.test(this.#text)) this.#add(SELF, WEIGHTS.SELF_WEIGHT)
    if (US_PATTERN.test(this.#text)) this.#add(US, WEIGHTS.US_WEIGHT)
    if (hasPair) this.#add(this.#words.size > 1 ? REPOSITORY : REPOSITORY_PATH, WEIGHTS.REPOSITORY_WEIGHT)
    for (const word of this.#words.keys()) this.#name(word)
    const searched = this.#searched()
    for (const [value] of text.matchAll(VALUES))
      for (const word of wordsOf(value)) {
        this.#add([word], WEIGHTS.VALUE_WEIGHT)
        if (!searched.has(word)) searched.set(word, WEIGHTS.VALUE_WEIGHT)
      }
    return {
      words: this.#words,
      others: this.#others,
      searched,
      names: this.#names,
      sequence,
      actions,
      counts: countsOf(this.#text, word => this.#othersOf(word)),
      values: freeValues + identified.length + (hasPair ? 1 : 0),
      freeValues,
      hasPair,
      identified,
      prefixes,
    }
  }

  #isName(word: string): boolean {
    const [stem] = wordsOf(word)
    return stem !== undefined && !isFiller(stem) && !isPlural(word) && this.#vocabulary.isRare(stem)
  }

  #participles(): ReadonlySet<string> {
    return new Set([...this.#text.matchAll(PARTICIPLE)].flatMap(([word]) => wordsOf(word)))
  }

  #wordsOf(piece: string): string[] {
    const words = wordsOf(piece)
    if (!this.#isForeign) return words
    return inEnglish(words).map(({ word, original }) => {
      for (const written of [original, this.#respelled.get(original)])
        if (written !== undefined && written !== word && this.#vocabulary.has(written))
          this.#originals.set(word, (this.#originals.get(word) ?? new Set()).add(written))
      return word
    })
  }

  #add(words: readonly string[], weight: number): void {
    for (const word of words)
      if (this.#words.size < MAX_WORDS && !isFiller(word) && !this.#words.has(word))
        this.#words.set(word, weight)
  }

  #addSequence(sequence: readonly string[], verbAt: number): void {
    for (const [at, word] of sequence.entries()) {
      const next = sequence[at + 1]
      const modifies = next !== undefined && !isFiller(next)
      this.#add([word], at === verbAt ? WEIGHTS.ACTION_WEIGHT : modifies ? WEIGHTS.MODIFIER_WEIGHT : 1)
      // "top up" for `topup`
      const closed = this.#closed(word, next)
      if (closed !== undefined) this.#add([closed], WEIGHTS.CLOSED_WEIGHT)
      // "large file storage" for `lfs`
      const initials = sequence
        .slice(at, at + ACRONYM)
        .map(each => each[0])
        .join('')
      if (initials.length === ACRONYM && this.#vocabulary !== ANY && this.#vocabulary.has(initials))
        this.#add([initials], WEIGHTS.CLOSED_WEIGHT)
      if (this.#isProper(word)) this.#add(this.#partsOf(word), WEIGHTS.CLOSED_WEIGHT)
    }
  }

  /** One word that tools write for two; stems lack a last letter. */
  #closed(word: string, next: string | undefined): string | undefined {
    if (next === undefined || this.#vocabulary === ANY) return undefined
    return ['', 'e', 's'].map(letter => word + letter + next).find(each => this.#vocabulary.has(each))
  }

  /** It is in no tool and no table. */
  #isProper(word: string): boolean {
    return !this.#vocabulary.has(word) && this.#othersOf(word).size === 0
  }

  /** `blocklist` → `block`, `list`. */
  #partsOf(word: string): readonly string[] {
    for (let at = MIN_PART; at <= word.length - MIN_PART; at++) {
      const parts = [word.slice(0, at), word.slice(at)]
      if (parts.every(part => this.#vocabulary.has(part))) return parts
    }
    return []
  }

  #othersOf(word: string): ReadonlySet<string> {
    let found = this.#others.get(word)
    if (found === undefined) {
      found = new Set([
        ...synonymsOf(word),
        ...this.#vocabulary.relatedTo(word),
        ...(this.#originals.get(word) ?? []),
      ])
      this.#others.set(word, found)
    }
    return found
  }

  #name(word: string): void {
    this.#names.set(word, 1)
    for (const other of this.#othersOf(word))
      if (!this.#names.has(other)) this.#names.set(other, WEIGHTS.SYNONYM_NAMES)
    for (const original of this.#originals.get(word) ?? []) this.#names.set(original, 1)
  }

  #searched(): Map<string, number> {
    const searched = new Map(this.#words)
    const add = (word: string, weight: number): void => {
      if (weight > (searched.get(word) ?? 0) && (searched.has(word) || !this.#vocabulary.isCommon(word)))
        searched.set(word, weight)
    }
    for (const [word, weight] of this.#words) {
      const share = this.#vocabulary.has(word) ? WEIGHTS.SYNONYM_WEIGHT : WEIGHTS.UNKNOWN_SYNONYM_WEIGHT
      for (const original of this.#originals.get(word) ?? []) add(original, weight)
      for (const other of this.#othersOf(word)) add(other, weight * share)
      for (const other of this.#vocabulary.relatedTo(word)) add(other, weight * WEIGHTS.FAMILY_WEIGHT)
    }
    return searched
  }
}
