/** Reads an object of an author by its schema, and reports each fault with field, reason and fix. */
import { isObject } from '../../base/json/is-object.ts'
import type { ResourceFault } from '../resource-fault.ts'
import { NOTES, z } from './resource-fields.ts'

export type ReadResult<Value> =
  | { readonly value: Value; readonly faults: readonly [] }
  | { readonly value: undefined; readonly faults: readonly ResourceFault[] }

/**
 * At most one fault for each field; a field that the schema does not have is a fault. null counts as absent, as in Kubernetes.
 * @param path of the object, such as `spec`
 */
export function readBySchema<Schema extends z.ZodMiniType>(
  schema: Schema,
  given: unknown,
  path: string,
): ReadResult<z.output<Schema>> {
  const result = z.safeParse(schema, withoutNulls(schema, given), {
    error: issue => explain(issue as unknown as Issue),
  })
  if (result.success) return { value: result.data, faults: [] }
  const faults = new Map<string, ResourceFault>()
  for (const { code, message, path: at, ...issue } of result.error.issues) {
    const [reason = '', fix = ''] = message.split('\n')
    const names = code === 'unrecognized_keys' ? (issue as { keys: readonly string[] }).keys : [undefined]
    for (const name of names) {
      const field = fieldPath(path, name === undefined ? at : [...at, name.slice(0, 60)])
      if (!faults.has(field)) faults.set(field, { field, reason, fix })
    }
  }
  return { value: undefined, faults: [...faults.values()] }
}

/** Reason and fix for a field that is not one of these. */
export function unknownField(allowed: readonly string[]): Pick<ResourceFault, 'reason' | 'fix'> {
  const fix = `correct or remove the field; allowed fields: ${allowed.join(', ')}`
  return { reason: 'is not a known field', fix }
}

export function fieldPath(path: string, names: readonly PropertyKey[]): string {
  return names.reduce<string>((text, name) => {
    if (typeof name === 'number') return `${text}[${name}]`
    return text === '' ? String(name) : `${text}.${String(name)}`
  }, path)
}

/** What an issue has at this point (zod 4, `$ZodRawIssue`). */
interface Issue {
  readonly code: string
  readonly input: unknown
  readonly schema?: z.ZodMiniType
  readonly expected?: string
  readonly origin?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly params?: { readonly reason?: string; readonly fix?: string }
}

/** `reason` and `fix`, separated by a line feed. */
function explain(issue: Issue): string {
  const { type = '', shape = {} } = (issue.schema?.def ?? {}) as Definition
  const { reason = reasonOf(issue), fix = fixOf(type, issue.schema) } =
    issue.code === 'unrecognized_keys' ? unknownField(Object.keys(shape)) : (issue.params ?? {})
  return `${reason}\n${fix}`
}

const TYPES: { readonly [expected: string]: string } = {
  string: 'a string',
  boolean: 'a boolean',
  array: 'a list',
  number: 'an integer',
  int: 'an integer',
}

function reasonOf({ code, input, expected = '', origin, minimum, maximum }: Issue): string {
  if (input === undefined) return 'is missing'
  if (code === 'invalid_type') return `is not ${TYPES[expected] ?? 'an object'}`
  if (code === 'too_small') return origin === 'number' ? `is below ${minimum}` : 'is empty'
  if (code === 'too_big' && origin === 'string') return `is longer than ${maximum} characters`
  if (code === 'too_big')
    return origin === 'array' ? `has more than ${maximum} entries` : `is above ${maximum}`
  return `is ${JSON.stringify(input)?.slice(0, 62)}`
}

const FIXES: { readonly [type: string]: string } = {
  array: 'write a list of objects',
  object: 'write an object',
}

function fixOf(type: string, schema: z.ZodMiniType | undefined): string {
  return (schema && NOTES.get(schema)?.fix) ?? FIXES[type] ?? 'correct it'
}

/** What the kinds of schemas hold (zod 4, `def`). */
interface Definition {
  readonly type?: string
  /** For optional and default. */
  readonly innerType?: z.ZodMiniType
  readonly element?: z.ZodMiniType
  readonly shape?: { readonly [field: string]: z.ZodMiniType }
  /** For a record. */
  readonly valueType?: z.ZodMiniType
}

/** A copy without the fields that are null or undefined. */
function withoutNulls(schema: z.ZodMiniType, value: unknown): unknown {
  const { innerType, element, shape, valueType } = schema.def as Definition
  if (innerType !== undefined) return withoutNulls(innerType, value)
  if (element !== undefined && Array.isArray(value)) return value.map(item => withoutNulls(element, item))
  if ((shape ?? valueType) === undefined || !isObject(value)) return value
  const given = Object.entries(value).filter(([, field]) => (field ?? undefined) !== undefined)
  return Object.fromEntries(
    given.map(([name, field]) => {
      const inner = valueType ?? (Object.hasOwn(shape!, name) ? shape![name] : undefined)
      return [name, inner === undefined ? field : withoutNulls(inner, field)]
    }),
  )
}
