/** Estimates a bound of the CPU time of a schema on arguments of a given size, and the sizes of a schema and of its patterns. */
import { holdsExact } from '../json/exact-number.ts'
import { isObject } from '../json/is-object.ts'
import type { JsonSchema } from '../json/json-schema.ts'
import { patternSteps } from './pattern.ts'
import { programBound } from './pattern-bound.ts'
import { hasPlainReferences, referenceTarget } from './reference.ts'

/** Size of arguments, counted in one walk. */
export interface ArgumentSize {
  /** Members of objects and items of lists, on all levels. */
  readonly values: number
  /** Characters of all strings, member names and exact numbers. */
  readonly chars: number
  readonly depth: number
  /** Some numbers are ones that a double would change. */
  readonly exact: boolean
}

/** Nanoseconds, from measurements with a factor of about two; each rate includes the error object of a failed assertion. */
const RATES = {
  assertion: 150,
  member: 40,
  literal: 10,
  object: 80,
  lengthChar: 6,
  formatChar: 150,
  decimal: 2_000,
}
/** `uniqueItems` describes each value and each name once per validation, however many lists have it. */
const UNIQUE_ITEMS = { value: 1_000, char: 20 }
/** Schemas applied to one value; more are without bound here. */
const MAX_APPLIED = 500

const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const
const IN_PLACE = ['not', 'if', 'then', 'else'] as const
/** `dependencies` is the keyword of older dialects that became `dependentSchemas` and `dependentRequired`; Ajv still applies it. */
const IN_PLACE_MAPS = ['dependentSchemas', 'dependencies'] as const
const CHILDREN = [
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'propertyNames',
] as const

/** What one schema, with all schemas applied to the same value, costs there; and what it applies to the values below. */
interface Node {
  readonly perValue: number
  readonly perChar: number
  /** A value below may meet one schema of each group. */
  readonly groups: readonly (readonly Node[])[]
}

interface Draft {
  perValue: number
  perChar: number
  groups: (readonly Node[])[]
}

export class SchemaCost {
  /** Keywords that Ajv generates code for; the time of the compilation is proportional to them. */
  readonly keywords: number
  /** Some numbers of the schema are ones that a double would change. */
  readonly exact: boolean
  readonly #schema: JsonSchema
  #unique = false
  #isBounded = true
  #nodes: Node[] | undefined
  readonly #drafts = new Map<object, Draft>()
  /** For each node, at the depth that was computed last; then the largest of the root up to each depth. */
  #perValue: number[] = []
  #perChar: number[] = []
  readonly #rootPerValue: number[] = []
  readonly #rootPerChar: number[] = []

  constructor(schema: JsonSchema) {
    this.#schema = schema
    this.keywords = countValues(schema)
    this.exact = holdsExact(schema)
  }

  /** @returns nanoseconds; Infinity when it is unbounded. Its own time is keywords × depth; callers use it on small schemas. */
  of({ values, chars, depth }: ArgumentSize): number {
    this.#prepare(depth)
    if (!this.#isBounded) return Number.POSITIVE_INFINITY
    const at = Math.min(depth, this.#rootPerValue.length - 1)
    const unique = this.#unique ? UNIQUE_ITEMS : { value: 0, char: 0 }
    return (
      (this.#rootPerValue[at]! + unique.value) * (values + 1) + (this.#rootPerChar[at]! + unique.char) * chars
    )
  }

  #prepare(depth: number): void {
    if (this.#nodes === undefined) {
      this.#isBounded = hasPlainReferences(this.#schema)
      this.#draft(this.#schema)
      this.#nodes = [...this.#drafts.values()]
      this.#perValue = this.#nodes.map(node => node.perValue)
      this.#perChar = this.#nodes.map(node => node.perChar)
      this.#rootPerValue.push(this.#perValue[0]!)
      this.#rootPerChar.push(this.#perChar[0]!)
    }
    while (this.#rootPerValue.length <= depth && this.#perValue.some(cost => cost > 0)) this.#descend()
  }

  /** One level further down: a schema costs there what the schemas cost that it applies to the values below. */
  #descend(): void {
    const nodes = this.#nodes!
    const places = new Map(nodes.map((node, index) => [node, index]))
    const sum = (node: Node, above: readonly number[]): number =>
      node.groups.reduce(
        (total, group) =>
          total + group.reduce((most, child) => Math.max(most, above[places.get(child)!]!), 0),
        0,
      )
    const perValue = nodes.map(node => sum(node, this.#perValue))
    const perChar = nodes.map(node => sum(node, this.#perChar))
    this.#perValue = perValue
    this.#perChar = perChar
    this.#rootPerValue.push(Math.max(this.#rootPerValue.at(-1)!, perValue[0]!))
    this.#rootPerChar.push(Math.max(this.#rootPerChar.at(-1)!, perChar[0]!))
  }

  #draft(schema: object): Draft {
    const known = this.#drafts.get(schema)
    if (known !== undefined) return known
    const draft: Draft = { perValue: 0, perChar: 0, groups: [] }
    this.#drafts.set(schema, draft)
    const applied = this.#appliedWith(schema)
    for (const one of applied ?? []) this.#add(one, draft)
    if (applied === undefined) draft.perValue = Number.POSITIVE_INFINITY
    return draft
  }

  /** The schema and all that apply to the same value, as often as they apply; undefined when that has no end. */
  #appliedWith(schema: object): object[] | undefined {
    const applied = [schema]
    for (let at = 0; at < applied.length; at++) {
      if (applied.length > MAX_APPLIED) return undefined
      for (const next of this.#inPlace(applied[at] as JsonSchema)) applied.push(next)
    }
    return applied
  }

  #inPlace(schema: JsonSchema): object[] {
    const found: unknown[] = IN_PLACE.map(keyword => schema[keyword])
    for (const keyword of IN_PLACE_LISTS) {
      const list = schema[keyword]
      // one at a time: a spread of a long list overflows the stack
      if (Array.isArray(list)) for (const one of list) found.push(one)
    }
    for (const keyword of IN_PLACE_MAPS) {
      const map = schema[keyword]
      if (isObject(map)) for (const one of Object.values(map)) found.push(one)
    }
    if (typeof schema.$ref === 'string') found.push(referenceTarget(this.#schema, schema.$ref))
    return found.filter(isObject)
  }

  #add(given: object, draft: Draft): void {
    const schema = given as JsonSchema
    const { properties, required, dependentRequired, dependentSchemas, dependencies } = schema
    const lists = [properties, required, dependentRequired, dependentSchemas, dependencies]
    draft.perValue += Object.keys(schema).length * RATES.assertion
    for (const list of lists)
      if (typeof list === 'object' && list !== null) draft.perValue += Object.keys(list).length * RATES.member
    if (Array.isArray(schema.enum)) for (const literal of schema.enum) draft.perValue += literalCost(literal)
    if (isObject(schema.const) || Array.isArray(schema.const)) draft.perValue += literalCost(schema.const)
    if (schema.uniqueItems === true) this.#unique = true
    if (schema.multipleOf !== undefined && !Number.isSafeInteger(schema.multipleOf))
      draft.perValue += RATES.decimal
    if (schema.minLength !== undefined || schema.maxLength !== undefined) draft.perChar += RATES.lengthChar
    if (schema.format !== undefined) draft.perChar += RATES.formatChar
    if (typeof schema.pattern === 'string') draft.perChar += patternSteps(schema.pattern)
    for (const keyword of CHILDREN) {
      const child = schema[keyword]
      if (isObject(child)) draft.groups.push([this.#draft(child)])
    }
    if (isObject(schema.properties)) draft.groups.push(this.#members(schema.properties))
    if (Array.isArray(schema.prefixItems))
      draft.groups.push(schema.prefixItems.filter(isObject).map(item => this.#draft(item)))
    if (!isObject(schema.patternProperties)) return
    for (const [pattern, child] of Object.entries(schema.patternProperties)) {
      draft.perChar += patternSteps(pattern)
      draft.perValue += RATES.assertion
      if (isObject(child)) draft.groups.push([this.#draft(child)])
    }
  }

  #members(properties: object): Node[] {
    return Object.values(properties)
      .filter(isObject)
      .map(child => this.#draft(child))
  }
}

/** Instructions of all patterns for the linear-time engine, at most; a part that is not a schema counts as one. */
export function programOf(schema: JsonSchema): number {
  const pending: object[] = [schema]
  let instructions = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { pattern, patternProperties } = next as JsonSchema
    if (typeof pattern === 'string') instructions += programBound(pattern)
    if (isObject(patternProperties))
      for (const name of Object.keys(patternProperties)) instructions += programBound(name)
    for (const child of Object.values(next))
      if (typeof child === 'object' && child !== null) pending.push(child)
  }
  return instructions
}

/** A comparison ends at the first difference; the longest is that with all of the literal. */
function literalCost(literal: unknown): number {
  if (typeof literal !== 'object' || literal === null) return RATES.literal
  return (
    RATES.object +
    Object.values(literal).reduce((total: number, part) => total + RATES.member + literalCost(part), 0)
  )
}

/** Members and items on all levels, annotations included: their share is small. */
export function countValues(root: object): number {
  const pending = [root]
  let count = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const children: unknown[] = Object.values(next)
    count += children.length
    for (const child of children) if (typeof child === 'object' && child !== null) pending.push(child)
  }
  return count
}
