/** Validates untrusted input against a schema, and lists invalid fields with their paths. */
import type { z } from '../../../model/schema/zod.ts'
import type { FieldFault } from './problem.ts'

export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly FieldFault[] }

/** Limits the length of the response. */
const MAX_FAULTS = 50
const MAX_NAME = 100

/** @param readOnly fields of the resource that no caller may set */
export function validateInput<T>(
  schema: z.ZodType<T>,
  input: unknown,
  where: 'body' | 'query',
  readOnly: readonly string[] = [],
): Validated<T> {
  const result = schema.safeParse(input)
  if (result.success) return { ok: true, value: result.data }
  const faults: FieldFault[] = []
  for (const issue of result.error.issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const known = issue.path.length === 0 && readOnly.includes(key)
        faults.push({
          field: fieldName([...issue.path, key], where),
          message: known ? 'is read-only.' : 'is not a known field.',
        })
      }
    } else {
      faults.push({ field: fieldName(issue.path, where), message: messageOf(issue, input) })
    }
    if (faults.length >= MAX_FAULTS) break
  }
  return { ok: false, faults }
}

function messageOf(issue: z.core.$ZodIssue, input: unknown): string {
  const typed = issue.code === 'invalid_type' || issue.code === 'invalid_value'
  const missing = typed && valueAt(input, issue.path) === undefined
  return missing ? 'is required.' : issue.message
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input
  for (const key of path) {
    if (value === null || typeof value !== 'object') return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

function fieldName(path: readonly PropertyKey[], where: string): string {
  let name = ''
  for (const key of path) {
    if (typeof key === 'number') name += `[${key}]`
    else name += name === '' ? String(key) : `.${String(key)}`
  }
  return name === '' ? where : name.slice(0, MAX_NAME)
}
