/** Finds the actions that a request asks for, and measures how well a tool fits them. */
import type { Tool } from '../../../model/tool.ts'
import { isPlural, wordsOf } from './words.ts'

export type Action = 'read' | 'create' | 'update' | 'delete'

/** The verbs that API documents use. */
const VERBS: { readonly [action in Action]: string } = {
  read: 'get list show find search browse read look view see check fetch retrieve display download count preview inspect describe query lookup print export',
  create: `create add new make register open start put publish post insert upload submit invite send generate run execute trigger import
    assign attach restore deploy grant issue`,
  update: `update change edit modify rename set correct replace overwrite move adjust enable disable assign activate deactivate archive transfer
    rotate reset close reopen approve reject accept cancel restart pause resume suspend configure patch lock unlock restore recover`,
  delete: 'delete remove purge drop clear erase destroy revoke unlink detach unassign uninstall cancel stop',
}

const OF_WORD = new Map<string, Set<Action>>()
for (const [action, words] of Object.entries(VERBS) as [Action, string][])
  for (const written of words.split(/\s+/)) {
    const word = wordsOf(written)[0]!
    OF_WORD.set(word, (OF_WORD.get(word) ?? new Set()).add(action))
  }

/** A question reads. */
const QUESTIONS = new Set(
  wordsOf('which what who whose whom where when how why whether is are does do did has have'),
)
/** A word after one of these is a noun ("the list", "this order"). */
const BEFORE_NOUN = new Set(
  wordsOf(
    'a an the this that these those our my your its their all every each any of on in at for from by with',
  ),
)
const READ: ReadonlySet<Action> = new Set<Action>(['read'])
const NONE: ReadonlySet<Action> = new Set()

export function isActionWord(word: string): boolean {
  return OF_WORD.has(word)
}

/** @param words in order. @returns those of its first verb; empty when the request names none */
export function actionsOf(words: readonly string[]): ReadonlySet<Action> {
  if (QUESTIONS.has(words[0] ?? '')) return READ
  for (const [at, word] of words.entries()) {
    const found = OF_WORD.get(word)
    if (found !== undefined && !BEFORE_NOUN.has(words[at - 1] ?? '')) return found
  }
  return NONE
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
