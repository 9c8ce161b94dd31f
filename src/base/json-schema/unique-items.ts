/** The keyword `uniqueItems` for Ajv, without a comparison of all pairs of items, and the clearing of its cache. */
import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'
import { ExactNumber } from '../json/exact-number.ts'
import { receivedAt } from './exact-keywords.ts'

/**
 * Numbers for JSON values: equal values (JSON Schema 2020-12 §4.2.2) have the same number, different values have different ones.
 * A list or an object is described by the numbers of its parts, so no part is written out twice, however many levels
 * have the keyword. Recursion is bounded by the caller, which refuses deeply nested values.
 */
class ValueNumbers {
  readonly #byDescription = new Map<string, number>()
  readonly #known = new Map<object, number>()

  of(value: unknown): number {
    if (value === null || typeof value !== 'object' || value instanceof ExactNumber)
      return this.#numberOf(describePrimitive(value))
    let number = this.#known.get(value)
    if (number === undefined) {
      number = this.#numberOf(Array.isArray(value) ? this.#describeList(value) : this.#describeObject(value))
      this.#known.set(value, number)
    }
    return number
  }

  #numberOf(description: string): number {
    let number = this.#byDescription.get(description)
    if (number === undefined) {
      number = this.#byDescription.size
      this.#byDescription.set(description, number)
    }
    return number
  }

  #describeList(list: readonly unknown[]): string {
    let text = '['
    for (const item of list) text += `${this.of(item)},`
    return text
  }

  #describeObject(object: object): string {
    const record = object as Record<string, unknown>
    let text = '{'
    for (const key of Object.keys(record).sort()) text += `${JSON.stringify(key)}${this.of(record[key])},`
    return text
  }
}

/**
 * The first character says the type. Numbers get one too: V8 hashes strings of digits, and numbers themselves, without a seed,
 * so a caller could choose many that share a bucket.
 */
function describePrimitive(value: unknown): string {
  if (typeof value === 'string') return `"${value}`
  return `=${value instanceof ExactNumber ? value.canonical : String(value)}`
}

/** Values of the arguments that are being validated; validation is synchronous, so there is one at a time. */
let numbers: ValueNumbers | undefined

/** Drops what the last validation cached; callers do so after each one, because arguments may change. */
export function clearValues(): void {
  numbers = undefined
}

/** @returns the last item that has an equal one before it, and the nearest of those, as Ajv reports them */
function findDuplicate(list: readonly unknown[]): { readonly i: number; readonly j: number } | undefined {
  if (list.length < 2) return undefined
  numbers ??= new ValueNumbers()
  const lastIndexes = new Map<number, number>()
  let found: { i: number; j: number } | undefined
  for (let i = 0; i < list.length; i++) {
    const number = numbers.of(list[i])
    const j = lastIndexes.get(number)
    if (j !== undefined) found = { i, j }
    lastIndexes.set(number, i)
  }
  return found
}

const KEYWORD = 'uniqueItems'

const definition: FuncKeywordDefinition = {
  keyword: KEYWORD,
  type: 'array',
  schemaType: 'boolean',
  errors: true,
  compile(asserted: boolean) {
    const check = ((list: readonly unknown[], context?: DataValidationCxt) => {
      const params = asserted ? findDuplicate(receivedAt(list, context) as typeof list) : undefined
      if (params === undefined) return true
      const { i, j } = params
      const message = `must NOT have duplicate items (items ## ${j} and ${i} are identical)`
      check.errors = [{ keyword: KEYWORD, params, message }]
      return false
    }) as SchemaValidateFunction
    return check as ReturnType<NonNullable<FuncKeywordDefinition['compile']>>
  },
}

/** Puts the keyword in the place of Ajv's. */
export function replaceUniqueItems(ajv: Ajv2020): void {
  ajv.removeKeyword(KEYWORD)
  ajv.addKeyword(definition)
}
