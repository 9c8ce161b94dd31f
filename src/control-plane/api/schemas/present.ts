/** Turns a record into its JSON representation, with the fields and in the order of the schema. It validates nothing. */
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
    const value = values[name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())]
    return [name, value instanceof Date ? value.toISOString() : value]
  })
  return Object.fromEntries(fields)
}

/** Names of the fields in responses; those that the schema of a request lacks are read-only. */
export function fieldNames(schema: z.ZodObject): readonly string[] {
  return Object.keys(schema.shape)
}
