/** Finds the actions that a request asks for, recognizes their words, and measures how well a tool fits them. It searches nothing. */
import type { Tool } from '../../model/tool.ts'
import { synonymsOf } from './synonyms.ts'
import { type Action, VERBS } from './verbs.ts'
import { isPlural, wordsOf } from './words.ts'

const OF_WORD = new Map<string, Set<Action>>()
for (const [action, words] of Object.entries(VERBS) as [Action, string][])
  for (const written of words.split(/\s+/)) {
    const word = wordsOf(written)[0]!
    OF_WORD.set(word, (OF_WORD.get(word) ?? new Set()).add(action))
  }

/** Begin questions, also after a preposition ("of which team"). */
const QUESTIONS = new Set(wordsOf('which what who whose whom where when how why whether'))
/** Begin questions as the first word; elsewhere they say nothing. */
const ASKING = new Set(
  wordsOf('is are was were am do does did has have had can could may might must will would should any'),
)
/** "Could you close it" asks for an action. */
const POLITE = new Set(wordsOf('you please kindly'))
/** A word after one of these is a noun ("the list", "this order"). */
const BEFORE_NOUN = new Set(
  wordsOf(
    'a an the this that these those our my your his her its their all every each any which what no of existing on in at for from by with last',
  ),
)
/** The action is named early. */
const WORDS_READ = 16
const QUESTION_WITHIN = 3
const NONE: ReadonlySet<Action> = new Set()
const NO_WORDS: ReadonlySet<string> = new Set()
const READ: ReadonlySet<Action> = new Set<Action>(['read'])

export function isActionWord(word: string): boolean {
  return OF_WORD.has(word)
}

/** An unknown word that begins a request is a verb where one of the same meaning is. */
function actionsOfAny(others: ReadonlySet<string>): ReadonlySet<Action> | undefined {
  for (const other of others) if (OF_WORD.has(other)) return OF_WORD.get(other)
  return undefined
}

interface Asked {
  /** Empty when the request names none. */
  readonly actions: ReadonlySet<Action>
  /** Place of the verb or of the question word; -1: none. */
  readonly verbAt: number
}

/**
 * Of the question, or of the first verb.
 * @param words in order, without values
 * @param first of the request, also if it is a value
 * @param participles words that were written with -ed: they ask for nothing
 */
export function askedIn(
  words: readonly string[],
  first: string | undefined,
  isQuestion: boolean,
  participles: ReadonlySet<string> = NO_WORDS,
): Asked {
  if (first === words[0] && ASKING.has(first ?? '') && !words.slice(1, 3).some(word => POLITE.has(word)))
    return { actions: READ, verbAt: -1 }
  for (const [at, word] of words.slice(0, WORDS_READ).entries()) {
    if (at < QUESTION_WITHIN && QUESTIONS.has(word)) return { actions: READ, verbAt: at }
    const found = OF_WORD.get(word) ?? (at === 0 ? actionsOfAny(synonymsOf(word)) : undefined)
    if (found !== undefined && !participles.has(word) && !BEFORE_NOUN.has(words[at - 1] ?? ''))
      return { actions: found, verbAt: at }
  }
  return { actions: isQuestion ? READ : NONE, verbAt: -1 }
}

/** How well a tool fits the actions, from 0 (the opposite) to 1 (as asked). */
export function actionFit({ request: { method, path } }: Tool, wanted: ReadonlySet<Action>): number {
  if (method === 'GET' || method === 'HEAD') return wanted.has('read') ? 1 : 0
  if (method === 'DELETE') return wanted.has('delete') ? 1 : 0
  // to write to a thing itself is to change it
  const changes = method === 'PATCH' || method === 'PUT' || path.endsWith('}')
  if (wanted.has('update')) return changes ? 1 : 0.8
  if (wanted.has('create')) return method === 'POST' && !changes ? 1 : 0.7
  if (method !== 'POST' || wanted.has('read')) return 0
  // a POST below a thing may do anything, such as cancel it; to a collection it rather adds
  return changes || isPlural(path) ? 0.4 : 0.7
}
