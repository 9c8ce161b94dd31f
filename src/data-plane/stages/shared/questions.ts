/** Parses the questions of the obligation `ask` (name → MCP request), and checks single questions of MCP servers. */
import { isObject } from '../../../base/json/is-object.ts'
import { CAPABILITY_OF, type Question, type Questions } from '../../pipeline/inquiry.ts'

const MAX_QUESTIONS = 8
const NAME = /^(?!(?:confirm|__proto__)$)[A-Za-z0-9_.-]{1,64}$/

/** @returns undefined when it is not what it should be */
export function questionsOf(parameters: unknown): Questions | undefined {
  if (!isObject(parameters)) return undefined
  const entries = Object.entries(parameters)
  if (entries.length === 0 || entries.length > MAX_QUESTIONS) return undefined
  for (const [name, question] of entries) if (!NAME.test(name) || !isQuestion(question)) return undefined
  return Object.freeze(parameters as Questions)
}

export function isQuestion(value: unknown): value is Question {
  return (
    isObject(value) &&
    typeof value.method === 'string' &&
    Object.hasOwn(CAPABILITY_OF, value.method) &&
    isObject(value.params)
  )
}
