/** Reads an OpenAPI document (2.0, 3.0, 3.1) as plain operations, with types and examples of schemas. It follows references within the document only. */

type Json = Readonly<Record<string, unknown>>
export type Schema = Json

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: Schema
}

export interface Body {
  readonly mediaType: string
  readonly required: boolean
  readonly schema: Schema
}

export interface Operation {
  /** Method and path: unique in the document. */
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly isDeprecated: boolean
  readonly parameters: readonly Parameter[]
  readonly body: Body | undefined
  readonly responses: readonly {
    readonly status: string
    readonly description: string
    readonly schema: Schema | undefined
  }[]
}

export interface ApiDocument {
  readonly operations: readonly Operation[]
  /** Follows a reference. */
  readonly resolve: (schema: unknown) => Schema
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const
const MAX_OPERATIONS = 2_000
const MAX_REFERENCES = 20

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** @param spec as the control plane returns it: an object, or text. @throws Error when the text is neither JSON nor YAML */
export async function readDocument(spec: unknown): Promise<ApiDocument> {
  return documentOf(typeof spec === 'string' ? await parse(spec) : spec)
}

async function parse(text: string): Promise<unknown> {
  try {
    return JSON.parse(text)
  } catch {
    // most documents are objects already
    return (await import('yaml')).parse(text, { maxAliasCount: 100 })
  }
}

function documentOf(value: unknown): ApiDocument {
  const root = objectOf(value)
  const resolve = (schema: unknown): Schema => {
    let found = objectOf(schema)
    for (let steps = 0; typeof found.$ref === 'string' && steps < MAX_REFERENCES; steps++) {
      const { $ref, ...beside } = found
      const target = at(root, $ref as string)
      if (target === undefined)
        return { ...beside, description: `The reference ${String($ref)} cannot be resolved.` }
      found = { ...target, ...beside }
    }
    return found
  }
  const operations: Operation[] = []
  for (const [path, item] of Object.entries(objectOf(root.paths))) {
    const shared = resolve(item)
    for (const method of METHODS) {
      const operation = shared[method]
      if (!isObject(operation) || operations.length >= MAX_OPERATIONS) continue
      operations.push(operationOf(path, method, operation, listOf(shared.parameters), root, resolve))
    }
  }
  return { operations, resolve }
}

function at(root: Json, reference: string): Json | undefined {
  if (!reference.startsWith('#/')) return undefined
  let found: unknown = root
  for (const step of decodeFragment(reference.slice(2)).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined
    found = found[name]
  }
  return isObject(found) ? found : undefined
}

/** A reference is a URI fragment (RFC 6901 §6); one that is not encoded as such is taken as it is written. */
function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

function operationOf(
  path: string,
  method: string,
  operation: Json,
  shared: readonly unknown[],
  root: Json,
  resolve: ApiDocument['resolve'],
): Operation {
  const all = new Map<string, Json>()
  for (const each of [...shared, ...listOf(operation.parameters)]) {
    const parameter = resolve(each)
    all.set(`${textOf(parameter.in)} ${textOf(parameter.name)}`, parameter)
  }
  const given = [...all.values()]
  return {
    id: `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    summary: textOf(operation.summary) || textOf(operation.operationId),
    description: textOf(operation.description),
    isDeprecated: operation.deprecated === true,
    parameters: given
      .filter(each => ['path', 'query', 'header'].includes(textOf(each.in)))
      .map(each => ({
        name: textOf(each.name),
        in: each.in as Parameter['in'],
        required: each.required === true || each.in === 'path',
        description: textOf(each.description),
        // 2.0 describes the value in the parameter itself
        schema: resolve(each.schema ?? firstContent(each.content)?.schema ?? each),
      })),
    body: bodyOf(operation, given, root, resolve),
    responses: Object.entries(objectOf(operation.responses)).map(([status, each]) => {
      const response = resolve(each)
      const schema = response.schema ?? firstContent(response.content)?.schema
      return {
        status,
        description: textOf(response.description),
        schema: schema === undefined ? undefined : resolve(schema),
      }
    }),
  }
}

function bodyOf(
  operation: Json,
  parameters: readonly Json[],
  root: Json,
  resolve: ApiDocument['resolve'],
): Body | undefined {
  const inBody = parameters.find(each => each.in === 'body')
  if (inBody !== undefined) {
    const consumes = [...listOf(operation.consumes), ...listOf(root.consumes)]
    return {
      mediaType: textOf(consumes[0]) || 'application/json',
      required: inBody.required === true,
      schema: resolve(inBody.schema),
    }
  }
  if (operation.requestBody === undefined) return undefined
  const body = resolve(operation.requestBody)
  const content = firstContent(body.content)
  if (content === undefined) return undefined
  return {
    mediaType: content.mediaType,
    required: body.required === true,
    schema: resolve(content.schema),
  }
}

function firstContent(
  content: unknown,
): { readonly mediaType: string; readonly schema: unknown } | undefined {
  const entries = Object.entries(objectOf(content))
  const [mediaType, media] = entries.find(([type]) => type.includes('json')) ?? entries[0] ?? []
  return mediaType === undefined ? undefined : { mediaType, schema: objectOf(media).schema }
}

const MAX_EXAMPLE_DEPTH = 5

/** A value for the schema: its example, its default, or made of its types. It may break other rules of the schema, such as a pattern. */
export function exampleOf(schema: Schema, resolve: ApiDocument['resolve'], depth = 0): unknown {
  if (schema.example !== undefined) return schema.example
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0]
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [first] = [...listOf(schema.oneOf), ...listOf(schema.anyOf)]
  if (depth >= MAX_EXAMPLE_DEPTH) return null
  if (first !== undefined) return exampleOf(resolve(first), resolve, depth + 1)
  const type = typeOf(schema)
  if (type.startsWith('object')) {
    const parts = [schema, ...listOf(schema.allOf).map(resolve)]
    const properties = parts.flatMap(part => Object.entries(objectOf(part.properties)))
    return Object.fromEntries(
      properties
        .map(([name, each]) => [name, resolve(each)] as const)
        .filter(([, each]) => each.readOnly !== true)
        .map(([name, each]) => [name, exampleOf(each, resolve, depth + 1)]),
    )
  }
  if (type.startsWith('array')) return [exampleOf(resolve(schema.items), resolve, depth + 1)]
  if (type.startsWith('boolean')) return false
  if (type.startsWith('integer') || type.startsWith('number'))
    return typeof schema.minimum === 'number' ? schema.minimum : 0
  return ''
}

/** The type in words: `string, date-time`, `array`, `one of`. */
export function typeOf(schema: Schema): string {
  const { type, format } = schema
  const name = Array.isArray(type) ? type.join(' or ') : textOf(type)
  if (name !== '') return format === undefined ? name : `${name}, ${String(format)}`
  if (schema.properties !== undefined || schema.allOf !== undefined) return 'object'
  if (schema.items !== undefined) return 'array'
  if (schema.oneOf !== undefined || schema.anyOf !== undefined) return 'one of'
  return schema.enum === undefined ? 'any' : 'string'
}

/** The parts of a schema: properties, items, alternatives. */
export function partsOf(
  schema: Schema,
  resolve: ApiDocument['resolve'],
): readonly { readonly name: string; readonly required: boolean; readonly schema: Schema }[] {
  const merged = [schema, ...listOf(schema.allOf).map(resolve)]
  const required = new Set(merged.flatMap(part => listOf(part.required)))
  const properties = merged.flatMap(part => Object.entries(objectOf(part.properties)))
  const items = schema.items === undefined ? [] : [['each item', schema.items] as const]
  const choices = [...listOf(schema.oneOf), ...listOf(schema.anyOf)].map(
    (each, index) => [`choice ${index + 1}`, each] as const,
  )
  return [
    ...properties.map(([name, each]) => ({ name, required: required.has(name), schema: resolve(each) })),
    ...[...items, ...choices].map(([name, each]) => ({ name, required: false, schema: resolve(each) })),
  ]
}
