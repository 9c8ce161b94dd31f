/** Adds examples, made from schemas, to JSON bodies of an OpenAPI document. */
import { isObject } from '../../../base/json/is-object.ts'

type Schema = { readonly [keyword: string]: unknown }
interface Media {
  schema?: Schema
  example?: unknown
}
interface Content {
  readonly content?: { readonly [type: string]: Media }
}
interface Operation {
  readonly requestBody?: Content
  readonly responses?: { readonly [status: string]: Content }
}
type Operations = { readonly [path: string]: { readonly [method: string]: Operation } }
interface Document {
  readonly paths?: Operations
  readonly webhooks?: Operations
  readonly components?: { readonly schemas?: { readonly [name: string]: Schema } }
}

/** Schemas may refer to themselves. */
const MAX_DEPTH = 8
const FORMATS: { readonly [format: string]: string } = {
  'date-time': '2026-01-31T12:00:00.000Z',
  uri: 'https://example.com/',
  email: 'admin@example.com',
}

/** The bodies of the document are changed in place. */
export function addExamples(document: object): void {
  const { paths = {}, webhooks = {}, components = {} } = document as Document
  const example = (schema: Schema): unknown => exampleOf(schema, components.schemas ?? {}, 0)
  for (const operations of [...Object.values(paths), ...Object.values(webhooks)])
    for (const { requestBody, responses = {} } of Object.values(operations))
      for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)])
        for (const [type, media] of Object.entries(content))
          if (type === 'application/json' && media.schema !== undefined)
            media.example ??= example(media.schema)
}

function exampleOf(schema: Schema, schemas: { readonly [name: string]: Schema }, depth: number): unknown {
  if (depth > MAX_DEPTH) return null
  const next = (part: unknown): unknown => exampleOf(part as Schema, schemas, depth + 1)
  const { $ref, anyOf, oneOf, allOf, properties, items } = schema
  if (schema.example !== undefined) return schema.example
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (typeof $ref === 'string') return next(schemas[$ref.slice('#/components/schemas/'.length)] ?? {})
  if (Array.isArray(allOf)) return Object.assign({}, ...allOf.map(next))
  const choices = (anyOf ?? oneOf) as readonly Schema[] | undefined
  if (choices !== undefined) return next(choices.find(choice => choice.type !== 'null') ?? {})
  const type = Array.isArray(schema.type) ? schema.type.find(each => each !== 'null') : schema.type
  if (isObject(properties))
    return Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, next(part)]))
  if (type === 'array') return isObject(items) ? [next(items)] : []
  if (type === 'string') return FORMATS[String(schema.format)] ?? 'text'
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  return type === 'boolean' ? true : type === undefined ? null : {}
}
