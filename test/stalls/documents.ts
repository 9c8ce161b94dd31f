/** Generates ToolSets with OpenAPI documents whose schemas are as costly as a tenant could make them. */
import type { Random } from '../chaos/random.ts'

export type Schema = { readonly [keyword: string]: unknown }

export interface Operation {
  readonly name: string
  readonly path: string
  readonly schema: Schema
  readonly mediaType: string
  readonly parameters: readonly Schema[]
}

const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)]!
const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at))

const FORMATS = [
  'date-time',
  'email',
  'uri',
  'uri-reference',
  'uuid',
  'ipv4',
  'ipv6',
  'hostname',
  'regex',
  'json-pointer',
  'url',
  'duration',
  'byte',
  'uri-template',
  'date',
  'time',
]

/** From atoms, repeats, groups and alternatives; about half are within the limits of the engine. */
export function aPattern(random: Random, depth = 0): string {
  const atom = () =>
    pick(random, ['a', 'b', '.', '[a-z]', '\\w', '\\d', '[^x]', '(?:ab|a)', '\\s', '[ab]', '\\p{L}', 'x'])
  const part = (): string => {
    const inner = depth < 3 && random.below(3) === 0 ? `(${aPattern(random, depth + 1)})` : atom()
    const repeat = pick(random, [
      '',
      '',
      '*',
      '+',
      '?',
      '{2,}',
      `{1,${pick(random, [3, 30, 300, 1000])}}`,
      `{${pick(random, [2, 20, 200])}}`,
    ])
    return inner + repeat
  }
  const parts = times(1 + random.below(4), part).join('')
  const both = random.below(4) === 0 ? `${parts}|${times(2, part).join('')}` : parts
  return depth > 0 ? both : pick(random, ['', '^']) + both + pick(random, ['', '$'])
}

function aLiteral(random: Random, depth: number): unknown {
  const kind = depth > 2 ? random.below(2) : random.below(4)
  if (kind === 0) return random.below(1_000)
  if (kind === 1) return `v${random.below(1_000)}`
  if (kind === 2) return times(random.below(4), () => aLiteral(random, depth + 1))
  return Object.fromEntries(times(random.below(5), at => [`k${at}`, aLiteral(random, depth + 1)]))
}

export function aSchema(random: Random, depth: number): Schema {
  const below = () => aSchema(random, depth + 1)
  const leaf = depth >= 4
  const wide = pick(random, [1, 3, 10, depth < 2 ? 60 : 4, depth < 1 ? 400 : 5])
  switch (random.below(leaf ? 5 : 15)) {
    case 0:
      return {
        type: 'string',
        pattern: aPattern(random),
        ...(random.below(2) === 0 ? { maxLength: 100_000 } : {}),
      }
    case 1:
      return { type: 'string', format: pick(random, FORMATS) }
    case 2:
      return { enum: times(pick(random, [1, 10, 100, 1_000]), () => aLiteral(random, 0)) }
    case 3:
      return { type: 'integer', multipleOf: 3, minimum: 0 }
    case 4:
      return { const: aLiteral(random, 0) }
    case 5:
      return { type: 'array', items: below(), uniqueItems: random.below(2) === 0 }
    case 6:
      return { type: 'array', contains: below(), minContains: 2, prefixItems: times(3, below) }
    case 7:
    case 8:
      return { [pick(random, ['oneOf', 'anyOf', 'allOf'])]: times(Math.min(wide, 60), below) }
    case 9:
      return { type: 'object', additionalProperties: below(), propertyNames: { pattern: aPattern(random) } }
    case 10:
      return {
        type: 'object',
        patternProperties: Object.fromEntries(times(1 + random.below(5), () => [aPattern(random), below()])),
        unevaluatedProperties: false,
      }
    case 11:
      return { type: 'object', dependentSchemas: { a: below(), b: below() }, additionalProperties: below() }
    case 12:
      return { $ref: '#/components/schemas/Node' }
    case 13:
      return { not: below(), type: 'object', additionalProperties: below() }
    default:
      return {
        type: 'object',
        properties: Object.fromEntries(times(wide, at => [`p${at}`, below()])),
        required: ['p0'],
      }
  }
}

const MEDIA_TYPES = [
  'application/json',
  'application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
]
const STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']

export function anOperation(random: Random, name: string): Operation {
  const schema = { type: 'object', properties: { a: aSchema(random, 0), b: aSchema(random, 1) } }
  const parameters = times(random.below(3), at => {
    const place = pick(random, ['query', 'header'])
    const style = place === 'header' ? 'simple' : pick(random, STYLES)
    return { name: `q${at}`, in: place, style, explode: random.below(2) === 0, schema: aSchema(random, 2) }
  })
  return { name, path: `/${name}`, schema, mediaType: pick(random, MEDIA_TYPES), parameters }
}

/** What a schema refers to: it contains itself in several ways. */
function aNode(random: Random): Schema {
  const self = { $ref: '#/components/schemas/Node' }
  const branch = () =>
    pick<Schema>(random, [
      { type: 'object', properties: { x: self, y: self } },
      { type: 'array', items: self },
      { type: 'object', additionalProperties: self },
      { type: 'string', pattern: aPattern(random) },
      { type: 'object', required: ['z'], properties: { x: self } },
    ])
  return { [pick(random, ['oneOf', 'anyOf', 'allOf'])]: times(1 + random.below(4), branch) }
}

/** A ToolSet that holds its document. */
export interface InlineToolSet {
  readonly [field: string]: unknown
  readonly spec: { readonly [field: string]: unknown; readonly openAPISpec: { readonly inline: string } }
}

export function toolSetOf(random: Random, operations: readonly Operation[], baseURL: string): InlineToolSet {
  const paths = Object.fromEntries(
    operations.map(({ name, path, schema, mediaType, parameters }) => [
      path,
      {
        post: {
          operationId: name,
          summary: `Does ${name} ${random.below(1_000_000)}.`,
          parameters,
          requestBody: { content: { [mediaType]: { schema } } },
          responses: {
            200: { description: 'Done.', content: { 'application/json': { schema: { type: 'object' } } } },
          },
        },
      },
    ]),
  )
  const openapi = {
    openapi: '3.1.0',
    info: { title: 'Stalls', version: '1' },
    paths,
    components: { schemas: { Node: aNode(random) } },
  }
  return {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'stalls', namespace: 'tenant-acme' },
    spec: {
      displayName: 'Stalls',
      baseURL,
      openAPISpec: { inline: JSON.stringify(openapi) },
      toolDefaults: { outputSchema: random.below(2) === 0 },
    },
  }
}
