/** What an allowing decision obliges the gateway to (`obligations`), read and checked. Nothing is carried out here. */

import { isObject } from '../../../base/json/is-object.ts'
import { oncePer } from '../../../base/once-per.ts'
import type { Decision } from '../../../policy/engine.ts'
import type { Questions } from '../../pipeline/inquiry.ts'
import { questionsOf } from './questions.ts'

/** Every obligation the gateway can meet. An unknown obligation is a denial, because it must not be skipped. */
export interface Obligations {
  /** Ask the client first, then decide again with the results. */
  readonly ask?: Questions
  /** Have the client's user confirm the call; the question, '' for the gateway's own. */
  readonly confirm?: string
  /** JSON Pointers (RFC 6901) to remove from the result, split and decoded; a segment `*` stands for every member or item. */
  readonly redact?: readonly (readonly string[])[]
  /** Calls of this resource per minute and consumer, on top of every other limit. */
  readonly limit?: { readonly perMinute: number }
  /** Log the decision regardless of sampling. */
  readonly log?: true
}

const NONE: Obligations = Object.freeze({})
const MAX_PATHS = 100

/** @returns what to do, or a sentence about what cannot be done. */
export function obligationsOf(decision: Decision): Obligations | string {
  return decision.obligations === undefined ? NONE : readAll(decision.obligations)
}

/** A cached decision is the same object each time, and so are its obligations. */
const readAll = oncePer((given: NonNullable<Decision['obligations']>): Obligations | string => {
  const read: { -readonly [name in keyof Obligations]: Obligations[name] } = {}
  for (const [name, parameters] of Object.entries(given)) {
    // false takes an obligation back
    if (parameters === false) continue
    if (name === 'confirm') read.confirm = messageOf(parameters)
    else if (name === 'log') read.log = true
    else if (name === 'ask') {
      const questions = questionsOf(parameters)
      if (questions === undefined)
        return 'The obligation "ask" must be {"<name>": {"method": "elicitation/create", "params": {…}}} with 1 to 8 names. The name "confirm" is reserved.'
      read.ask = questions
    } else if (name === 'redact') {
      const paths = pathsOf(parameters)
      if (paths === undefined)
        return 'The obligation "redact" must be {"paths": ["/json/pointer", …]} with 1 to 100 paths.'
      read.redact = paths
    } else if (name === 'limit') {
      const perMinute = isObject(parameters) ? parameters.per_minute : undefined
      if (typeof perMinute !== 'number' || !Number.isInteger(perMinute) || perMinute < 1)
        return 'The obligation "limit" must be {"per_minute": N}, where N is a whole number of at least 1.'
      read.limit = { perMinute }
    } else return `The policy requires the obligation "${name}", which this gateway does not support.`
  }
  return Object.freeze(read)
})

function messageOf(parameters: unknown): string {
  return isObject(parameters) && typeof parameters.message === 'string' ? parameters.message : ''
}

function pathsOf(parameters: unknown): readonly (readonly string[])[] | undefined {
  const paths = isObject(parameters) ? parameters.paths : undefined
  if (!Array.isArray(paths) || paths.length === 0 || paths.length > MAX_PATHS) return undefined
  const split: string[][] = []
  for (const path of paths as unknown[]) {
    if (typeof path !== 'string' || !path.startsWith('/')) return undefined
    split.push(
      path
        .slice(1)
        .split('/')
        .map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~')),
    )
  }
  return split
}
