/** Converts values of a schema between the names of requests and responses (snake case) and those of the model (camel case). */
import type { z } from './zod.ts'

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** Names of the members of a record, such as header names, are data and stay. */
type Renamed<T> = T extends readonly (infer Item)[]
  ? readonly Renamed<Item>[]
  : T extends object
    ? string extends keyof T
      ? { readonly [name: string]: T[string & keyof T] }
      : { readonly [Name in keyof T as CamelCase<Name & string>]: Renamed<T[Name]> }
    : T

/** The type that a schema declares for the model. */
export type ModelOf<Schema extends z.ZodType> = Renamed<z.output<Schema>>

type Convert = (value: unknown) => unknown

/** Absent fields stay absent. */
export function toModel<Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>): ModelOf<Schema> {
  return converterOf(schema, 'model')(value) as ModelOf<Schema>
}

/** A record with a property for every field of the schema; the others are left out. */
type Source<Shape> = { readonly [Name in keyof Shape & string as CamelCase<Name>]: unknown }

/** Dates become ISO 8601 in UTC; what is undefined is left out. */
export function toWire<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  record: Source<Shape>,
): { readonly [Name in keyof Shape & string]: unknown } {
  return converterOf(schema, 'wire')(record) as { readonly [Name in keyof Shape & string]: unknown }
}

const CONVERTERS = { model: new WeakMap<z.ZodType, Convert>(), wire: new WeakMap<z.ZodType, Convert>() }

function converterOf(schema: z.ZodType, to: 'model' | 'wire'): Convert {
  const known = CONVERTERS[to].get(schema)
  if (known !== undefined) return known
  const converter = makeConverter(schema, to)
  CONVERTERS[to].set(schema, converter)
  return converter
}

function makeConverter(schema: z.ZodType, to: 'model' | 'wire'): Convert {
  const { def } = schema as unknown as { readonly def: Definition }
  const inner = def.innerType ?? def.in
  if (inner !== undefined) return converterOf(inner, to)
  if (def.element !== undefined) {
    const convert = converterOf(def.element, to)
    return value => (Array.isArray(value) ? value.map(convert) : value)
  }
  if (def.shape === undefined) return value => (value instanceof Date ? value.toISOString() : value)
  const fields = Object.entries(def.shape).map(([wire, field]) => {
    const [from, name] = to === 'model' ? [wire, camelCase(wire)] : [camelCase(wire), wire]
    return { from, name, convert: converterOf(field, to) }
  })
  return value => {
    if (typeof value !== 'object' || value === null) return value
    const values = value as { readonly [name: string]: unknown }
    const present = fields.filter(({ from }) => values[from] !== undefined)
    return Object.fromEntries(present.map(({ from, name, convert }) => [name, convert(values[from])]))
  }
}

/** What the kinds of schemas hold (zod 4, `def`). */
interface Definition {
  /** For optional, nullable and default. */
  readonly innerType?: z.ZodType
  /** For a transformation: the schema before it. */
  readonly in?: z.ZodType
  readonly element?: z.ZodType
  readonly shape?: { readonly [field: string]: z.ZodType }
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The values under their names in the model, without a schema; only the first level is renamed. */
export function camelCased<Values extends object>(
  values: Values,
): { readonly [Name in keyof Values as CamelCase<Name & string>]: Values[Name] } {
  const entries = Object.entries(values).map(([name, value]) => [camelCase(name), value])
  return Object.fromEntries(entries) as { [Name in keyof Values as CamelCase<Name & string>]: Values[Name] }
}
