/** Judges a client's result of a question: accepted, declined or unusable. */
import { isObject } from '../../../base/json/is-object.ts'
import type { Question } from '../../pipeline/inquiry.ts'

export type ElicitationVerdict = 'accepted' | 'declined' | 'unusable'

/** The result type depends on the question (MCP: ElicitResult, CreateMessageResult, ListRootsResult). Unknown members are ignored. */
export function verdictOn(question: Question, response: unknown): ElicitationVerdict {
  if (!isObject(response)) return 'unusable'
  if (question.method === 'roots/list') return Array.isArray(response.roots) ? 'accepted' : 'unusable'
  if (question.method === 'sampling/createMessage')
    return typeof response.role === 'string' &&
      typeof response.content === 'object' &&
      response.content !== null
      ? 'accepted'
      : 'unusable'
  if (response.action === 'decline' || response.action === 'cancel') return 'declined'
  if (response.action !== 'accept') return 'unusable'
  return fits(question.params.requestedSchema, response.content) ? 'accepted' : 'unusable'
}

/** Forms are flat (MCP 2025-06-18, elicitation, "Requested Schema"): required fields are there, and what is there has its type. */
function fits(schema: unknown, content: unknown): boolean {
  if (!isObject(schema)) return true
  const form = isObject(content) ? content : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  if (!required.every(name => typeof name === 'string' && Object.hasOwn(form, name))) return false
  const fields = isObject(schema.properties) ? schema.properties : {}
  return Object.entries(fields).every(
    ([name, field]) => !Object.hasOwn(form, name) || !isObject(field) || hasType(field.type, form[name]),
  )
}

function hasType(type: unknown, value: unknown): boolean {
  if (type === 'string' || type === 'number' || type === 'boolean') return typeof value === type
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  return true
}
