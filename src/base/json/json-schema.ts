/** Types of JSON values and of the JSON Schemas that tools have. */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** A schema object; the keywords are those of JSON Schema 2020-12, kept as they are on the wire. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** The root schema of a tool's arguments: always an object (MCP demands it). */
export interface ObjectSchema extends JsonSchema {
  readonly type: 'object'
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: readonly string[]
}
