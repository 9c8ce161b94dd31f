/** Converts types, annotations and assertions of a schema node to JSON Schema 2020-12. `schema.ts` converts subschemas. */

import { isWhole } from '../../base/json/decimal.ts'
import { ExactNumber, numberOf, writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import { usablePattern } from '../../base/json-schema/pattern.ts'
import { type Dict, list, own, put, strings } from './dict.ts'
import type { Dialect } from './document.ts'
import { cleanText, MAX_FIELD_DESCRIPTION, MAX_TITLE, plainText } from './words.ts'

export type Draft = { [keyword: string]: unknown }

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'])
/** Names that authors use instead of the seven types. */
const ALIASES: { readonly [name: string]: string } = {
  int: 'integer',
  int32: 'integer',
  int64: 'integer',
  long: 'integer',
  short: 'integer',
  byte: 'integer',
  float: 'number',
  double: 'number',
  decimal: 'number',
  bool: 'boolean',
  str: 'string',
  text: 'string',
  date: 'string',
  datetime: 'string',
  'date-time': 'string',
  uuid: 'string',
  file: 'string',
  list: 'array',
  map: 'object',
  dict: 'object',
}

const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const
const CONTAINS_COUNTS = ['minContains', 'maxContains'] as const
const MAX_ENUM_TEXT = 65_536

/** The types that a schema allows, in 2020-12 names, including `null` when nullable; undefined when it has no type. */
export function typesOf(node: Dict, dialect: Dialect): string[] | undefined {
  const given = own(node, 'type')
  const names = Array.isArray(given) ? given : [given]
  const types: string[] = []
  for (const name of names) {
    if (typeof name !== 'string') continue
    const lower = name.toLowerCase()
    const type = TYPES.has(lower) ? lower : own(ALIASES, lower)
    if (typeof type === 'string' && !types.includes(type)) types.push(type)
  }
  if (types.length === 0) return undefined
  if (isNullable(node, dialect) && !types.includes('null')) types.push('null')
  return types
}

/** `nullable` of 3.0, `x-nullable` of 2.0; 3.1 has the type `null`, but authors still write `nullable`. */
export function isNullable(node: Dict, dialect: Dialect): boolean {
  return own(node, 'nullable') === true || (dialect === '2.0' && own(node, 'x-nullable') === true)
}

/** Copies annotations and assertions of the node itself (no subschemas) into `out`; `dropped` is called for omitted patterns. */
export function copyKeywords(
  node: Dict,
  out: Draft,
  types: readonly string[] | undefined,
  dropped: (what: string) => void,
): void {
  const title = plainText(own(node, 'title'), MAX_TITLE)
  const description = describe(node)
  if (title !== '' && !description.startsWith(title)) out.title = title
  if (description !== '') out.description = description
  if (own(node, 'deprecated') === true) out.deprecated = true
  // the decision log masks such values; the vendor keyword itself is not passed on to clients
  if (own(node, 'writeOnly') === true || own(node, 'x-sensitive') === true) out.writeOnly = true
  copyValues(node, out, types)
  copyBounds(node, out)
  for (const keyword of ['format', 'contentEncoding', 'contentMediaType'] as const) {
    const value = own(node, keyword)
    if (typeof value === 'string' && /^[\w./+-]{1,64}$/.test(value)) out[keyword] = value
  }
  if (own(node, 'uniqueItems') === true) out.uniqueItems = true
  const pattern = own(node, 'pattern')
  if (typeof pattern === 'string' && pattern !== '') {
    const usable = usablePattern(pattern)
    if (usable !== undefined) out.pattern = usable
    else dropped(`pattern ${cleanText(pattern, 80)}`)
  }
}

/** The description with the first example, because agents read it more reliably than `examples`. */
function describe(node: Dict): string {
  const description = plainText(own(node, 'description'), MAX_FIELD_DESCRIPTION)
  const example = exampleOf(node)
  if (example === undefined) return description
  const shown = typeof example === 'string' ? example : writeJson(example)
  if (shown === undefined || shown.length > 160 || description.includes(shown)) return description
  const clean = cleanText(shown, 160)
  if (clean === '') return description
  return description === '' ? `Example: ${clean}` : `${description}\nExample: ${clean}`
}

function exampleOf(node: Dict): unknown {
  const example = own(node, 'example')
  if (example !== undefined && example !== null) return example
  const examples = own(node, 'examples')
  if (Array.isArray(examples)) return examples[0]
  if (!isObject(examples)) return undefined
  const first = Object.values(examples)[0]
  return isObject(first) ? own(first, 'value') : undefined
}

function copyValues(node: Dict, out: Draft, types: readonly string[] | undefined): void {
  const values = own(node, 'enum')
  if (Array.isArray(values) && values.length > 0) {
    const fitted = [
      ...new Map(values.map(value => coerce(value, types)).map(v => [writeJson(v), v])).values(),
    ]
    if (JSON.stringify(fitted).length <= MAX_ENUM_TEXT) out.enum = fitted
  }
  if (Object.hasOwn(node, 'const')) out.const = node.const
  const preset = own(node, 'default')
  if (preset !== undefined && isOfType(coerce(preset, types), types)) out.default = coerce(preset, types)
}

/** YAML may turn unquoted texts such as `1`, `yes` and `1.0` into numbers and booleans; authors also quote numbers. */
function coerce(value: unknown, types: readonly string[] | undefined): unknown {
  if (types === undefined || isOfType(value, types)) return value
  const isScalar = typeof value === 'number' || typeof value === 'boolean' || value instanceof ExactNumber
  if (types.includes('string') && isScalar) return String(value)
  if (typeof value !== 'string') return value
  if ((types.includes('number') || types.includes('integer')) && QUOTED_NUMBER.test(value))
    return numberOf(withoutZeros(value))
  if (types.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

function isOfType(value: unknown, types: readonly string[] | undefined): boolean {
  if (types === undefined) return true
  if (value === null) return types.includes('null')
  if (Array.isArray(value)) return types.includes('array')
  if (typeof value === 'number' || value instanceof ExactNumber) {
    const isInteger = typeof value === 'number' ? Number.isInteger(value) : isWhole(value.decimal)
    return types.includes('number') || (types.includes('integer') && isInteger)
  }
  return types.includes(typeof value)
}

function copyBounds(node: Dict, out: Draft): void {
  for (const keyword of [...COUNTS, ...CONTAINS_COUNTS]) {
    const value = toNumber(own(node, keyword))
    if (Number.isSafeInteger(value) && Number(value) >= 0) out[keyword] = value
  }
  const step = toNumber(own(node, 'multipleOf'))
  if (step instanceof ExactNumber ? step.decimal.sign > 0 : step !== undefined && step > 0)
    out.multipleOf = step
  bound(node, out, 'minimum', 'exclusiveMinimum')
  bound(node, out, 'maximum', 'exclusiveMaximum')
}

/** `exclusiveX: true` beside `X` (draft 4, up to 3.0) becomes the number `exclusiveX` of 2020-12. */
function bound(node: Dict, out: Draft, plain: string, exclusive: string): void {
  const limit = toNumber(own(node, plain))
  const strict = own(node, exclusive)
  const strictLimit = toNumber(strict)
  if (strict === true && limit !== undefined) out[exclusive] = limit
  else {
    if (limit !== undefined) out[plain] = limit
    if (strictLimit !== undefined) out[exclusive] = strictLimit
  }
}

function toNumber(value: unknown): number | ExactNumber | undefined {
  if (value instanceof ExactNumber) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  return typeof value === 'string' && QUOTED_NUMBER.test(value) ? numberOf(withoutZeros(value)) : undefined
}

const QUOTED_NUMBER = /^-?\d+(\.\d+)?$/

/** JSON writes no zeros before a number. */
function withoutZeros(number: string): string {
  return number.replace(/^(-?)0+(?=\d)/, '$1')
}

/** `dependentRequired`, and the array half of draft 4 `dependencies`. */
export function dependentRequired(node: Dict): Draft | undefined {
  const out: Draft = {}
  for (const keyword of ['dependencies', 'dependentRequired']) {
    const given = own(node, keyword)
    if (!isObject(given)) continue
    for (const name of Object.keys(given)) {
      if (Array.isArray(given[name])) put(out, name, strings(list(given[name])))
    }
  }
  return Object.keys(out).length > 0 ? out : undefined
}
