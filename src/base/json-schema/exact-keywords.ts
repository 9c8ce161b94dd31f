/** Keywords of JSON Schema for exact numbers, and the copy of arguments that Ajv validates with them. It does not change the arguments. */
import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'
import { compareDecimals, type Decimal, decimalOf, isMultipleOf, isWhole } from '../json/decimal.ts'
import { ExactNumber } from '../json/exact-number.ts'
import { isObject } from '../json/is-object.ts'

/** The arguments that are being validated; validation is synchronous, so there is one at a time. */
let current: unknown

/**
 * Validates a copy of the arguments with doubles of the same type, which Ajv distinguishes by themselves: a whole number stands
 * for a whole number, also within the bounds of `format: int64`.
 */
export function validateExact<T>(args: unknown, validate: (standIn: unknown) => T): T {
  current = args
  try {
    return validate(withStandIns(args))
  } finally {
    current = undefined
  }
}

/** The value that Ajv sees at a place of the copy, as it was received. */
export function receivedAt(seen: unknown, context: DataValidationCxt | undefined): unknown {
  // a string may be the name of a member (`propertyNames`), whose path is that of the object
  if (current === undefined || context === undefined || typeof seen === 'string') return seen
  let value: unknown = current
  for (const token of context.instancePath.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

const MAX_INT64 = decimalOf('9223372036854775807')
const MIN_INT64 = decimalOf('-9223372036854775808')
/** The last double below 2^63. */
const BELOW_INT64 = 2 ** 63 - 1024

function withStandIns(value: unknown): unknown {
  if (value instanceof ExactNumber) return standIn(value)
  if (Array.isArray(value)) return value.map(withStandIns)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withStandIns(inner)]))
}

function standIn({ text, decimal }: ExactNumber): number {
  if (!isWhole(decimal)) return 0.5
  const isInt64 = compareDecimals(decimal, MIN_INT64) >= 0 && compareDecimals(decimal, MAX_INT64) <= 0
  // twice as large: the nearest double of the first number below the bounds is the bound
  return isInt64 ? Math.min(Number(text), BELOW_INT64) : 2 * Number(text)
}

function asDecimal(value: unknown): Decimal {
  return value instanceof ExactNumber ? value.decimal : decimalOf(String(value))
}

function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber
}

function isEqual(value: unknown, allowed: unknown): boolean {
  if (isNumber(value)) return isNumber(allowed) && compareDecimals(asDecimal(value), asDecimal(allowed)) === 0
  if (Array.isArray(value))
    return (
      Array.isArray(allowed) &&
      value.length === allowed.length &&
      value.every((item, at) => isEqual(item, allowed[at]))
    )
  if (!isObject(value)) return value === allowed
  const names = Object.keys(value)
  return (
    isObject(allowed) &&
    names.length === Object.keys(allowed).length &&
    names.every(name => Object.hasOwn(allowed, name) && isEqual(value[name], allowed[name]))
  )
}

/** @param passes the value as it was received, and what the schema says */
function keyword(
  name: string,
  type: 'number' | undefined,
  passes: (value: unknown, asserted: never) => boolean,
  fault: (asserted: never) => { readonly params: Record<string, unknown>; readonly message: string },
): FuncKeywordDefinition {
  return {
    keyword: name,
    ...(type === undefined ? undefined : { type }),
    errors: true,
    compile(asserted) {
      const check = ((data: unknown, context?: DataValidationCxt) => {
        if (passes(receivedAt(data, context), asserted as never)) return true
        check.errors = [{ keyword: name, ...fault(asserted as never) }]
        return false
      }) as SchemaValidateFunction
      return check as ReturnType<NonNullable<FuncKeywordDefinition['compile']>>
    },
  }
}

function bound(name: string, sign: string, holds: (difference: number) => boolean): FuncKeywordDefinition {
  return keyword(
    name,
    'number',
    (value, limit: unknown) => holds(compareDecimals(asDecimal(value), asDecimal(limit))),
    (limit: unknown) => ({ params: { limit }, message: `must be ${sign} ${limit}` }),
  )
}

/** Ajv divides doubles: 19.99 / 0.01 is not a whole number. */
const MULTIPLE_OF = keyword(
  'multipleOf',
  'number',
  (value, step: unknown) =>
    Number.isSafeInteger(value) && Number.isSafeInteger(step)
      ? Number(value) % Number(step) === 0
      : isMultipleOf(asDecimal(value), asDecimal(step)),
  (step: unknown) => ({ params: { multipleOf: step }, message: `must be multiple of ${step}` }),
)

const KEYWORDS: readonly FuncKeywordDefinition[] = [
  bound('minimum', '>=', difference => difference >= 0),
  bound('maximum', '<=', difference => difference <= 0),
  bound('exclusiveMinimum', '>', difference => difference > 0),
  bound('exclusiveMaximum', '<', difference => difference < 0),
  keyword(
    'enum',
    undefined,
    (value, values: readonly unknown[]) => values.some(allowed => isEqual(value, allowed)),
    (allowedValues: readonly unknown[]) => ({
      params: { allowedValues },
      message: 'must be one of the values',
    }),
  ),
  keyword('const', undefined, isEqual, (allowedValue: unknown) => ({
    params: { allowedValue },
    message: 'must be the value',
  })),
]

/** Puts the keywords in the place of Ajv's. */
export function addExactKeywords(ajv: Ajv2020): void {
  for (const definition of KEYWORDS) replace(ajv, definition)
}

/** Also for schemas and arguments that doubles hold. */
export function replaceMultipleOf(ajv: Ajv2020): void {
  replace(ajv, MULTIPLE_OF)
}

function replace(ajv: Ajv2020, definition: FuncKeywordDefinition): void {
  ajv.removeKeyword(definition.keyword as string)
  ajv.addKeyword(definition)
}
