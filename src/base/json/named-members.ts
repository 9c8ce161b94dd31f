/** Reads a JSON value that has to be an object, in the forms by which clients say that it has no members. */
import { isObject } from './is-object.ts'

const NONE: Readonly<Record<string, unknown>> = Object.freeze({})

/** @returns the object; one without members where the value is left out, null or an empty list; undefined for any other value */
export function namedMembers(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (isObject(value)) return value
  const isNone = value === undefined || value === null || (Array.isArray(value) && value.length === 0)
  return isNone ? NONE : undefined
}
