/** Conversion of records and field names between the model and the control-plane API, and the field names of a schema. */
import type { z } from 'zod'

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** A record with a property in camel case for every field of the schema; other properties are not shown. */
type Source<Shape> = { readonly [Name in keyof Shape & string as CamelCase<Name>]: unknown }

/** Dates become ISO 8601 in UTC. */
export function present<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  record: Source<Shape>,
): { readonly [Name in keyof Shape & string]: unknown } {
  const values = record as { readonly [name: string]: unknown }
  const fields = Object.keys(schema.shape).map(name => {
    const value = values[camelCase(name)]
    return [name, value instanceof Date ? value.toISOString() : value]
  })
  return Object.fromEntries(fields)
}

/** The values under their names in the model; only the first level is renamed. */
export function camelCased<Values extends object>(
  values: Values,
): { readonly [Name in keyof Values as CamelCase<Name & string>]: Values[Name] } {
  const entries = Object.entries(values).map(([name, value]) => [camelCase(name), value])
  return Object.fromEntries(entries) as { [Name in keyof Values as CamelCase<Name & string>]: Values[Name] }
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Names of the fields in responses; those that the schema of a request lacks are read-only. */
export function fieldNames(schema: z.ZodObject): readonly string[] {
  return Object.keys(schema.shape)
}
