/** Reads the shop's OpenAPI document, finds the operation of a request, and checks query and body against it. */
import { readFile } from 'node:fs/promises'
import type { JsonSchema } from '../../base/json/json-schema.ts'
import { compileValidator } from '../../base/json-schema/validate.ts'
import { ShopProblem, shopInvalid } from './problem.ts'

/** One file for the tools and for the shop itself; seen from here in `src` and from its build in `dist` alike. */
const FILE = new URL('../../../toolsets/configmaps/shop-openapi/openapi.json', import.meta.url)

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: JsonSchema
}

interface PathItem {
  readonly [method: string]: {
    readonly operationId: string
    readonly parameters?: readonly Parameter[]
    readonly requestBody?: {
      readonly content: { readonly 'application/json': { readonly schema: JsonSchema } }
    }
  }
}

export interface ShopDocument {
  readonly paths: { readonly [path: string]: PathItem }
  readonly components: { readonly parameters: { readonly [name: string]: Parameter } }
}

/** @throws Error when the file cannot be read. */
export async function readShopDocument(): Promise<ShopDocument> {
  return JSON.parse(await readFile(FILE, 'utf8')) as ShopDocument
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly segments: readonly string[]
  /** The operation takes an `Idempotency-Key`. */
  readonly repeatable: boolean
  /** Ignores the query where the operation has no query parameters. @throws Problem 400 that names every faulty parameter. */
  readQuery(search: URLSearchParams): unknown
  /** @throws Problem 400 that names every faulty field. */
  checkBody(body: unknown): void
}

export interface FoundOperation {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
}

export function operationsOf({ paths, components }: ShopDocument): Operation[] {
  const resolve = (parameter: Parameter): Parameter =>
    parameter.$ref === undefined ? parameter : components.parameters[parameter.$ref.split('/').at(-1)!]!
  return Object.entries(paths).flatMap(([path, { parameters: _, ...methods }]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], requestBody }]): Operation => {
      const resolved = parameters.map(resolve)
      const query = resolved.filter(parameter => parameter.in === 'query')
      const properties = Object.fromEntries(query.map(({ name, schema }) => [name, schema]))
      const checkQuery = compileValidator({ properties, additionalProperties: false, components })
      const bodySchema = requestBody?.content['application/json'].schema
      const checkBody = compileValidator({ ...bodySchema, components })
      return {
        id: operationId,
        method: method.toUpperCase(),
        segments: path.split('/'),
        repeatable: resolved.some(({ name }) => name === 'Idempotency-Key'),
        readQuery(search) {
          if (query.length === 0) return {}
          const values = valuesOf(search, properties)
          const faults = checkQuery(values)
          if (faults.length === 0) return values
          throw shopInvalid(faults.map(({ path, message }) => ({ field: path.slice(1), message })))
        },
        checkBody(body) {
          const faults = checkBody(body)
          if (faults.length > 0)
            throw shopInvalid(faults.map(({ path, message }) => ({ field: path, message })))
        },
      }
    }),
  )
}

/** @throws Problem 404, or 405 when the path exists with other methods only. */
export function findOperation(
  operations: readonly Operation[],
  method: string,
  path: string,
): FoundOperation {
  const parts = path.split('/')
  const allow: string[] = []
  for (const operation of operations) {
    const params = paramsOf(operation.segments, parts)
    if (params === undefined) continue
    if (operation.method === method) return { operation, params }
    allow.push(operation.method)
  }
  if (allow.length === 0)
    throw new ShopProblem(404, 'no-route', 'Not found.', `The path ${path.slice(0, 200)} does not exist.`)
  const headers = { allow: allow.join(', ') }
  const detail = `Use ${allow.join(' or ')}.`
  throw new ShopProblem(405, 'method', 'The path does not support this method.', detail, { headers })
}

function paramsOf(
  segments: readonly string[],
  parts: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (segments.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, segment] of segments.entries()) {
    const part = parts[at]!
    if (!segment.startsWith('{')) {
      if (segment !== part) return undefined
      continue
    }
    const value = decodePart(part)
    if (value === undefined || value === '') return undefined
    params[segment.slice(1, -1)] = value
  }
  return params
}

function decodePart(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** Lists are repeated (`a=1&a=2`) or comma-separated, objects are `name[key]=value`; what does not fit its type stays text. */
function valuesOf(search: URLSearchParams, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  const values = new Map<string, unknown>()
  for (const [key, text] of search) {
    const [, name = key, inner] = /^([^[\]]+)\[([^[\]]+)\]$/.exec(key) ?? []
    const type = Object.hasOwn(schemas, name) ? schemas[name]!.type : undefined
    if (inner !== undefined && type === 'object') {
      const held = (values.get(name) ?? {}) as Record<string, unknown>
      values.set(name, { ...held, [inner]: wholeNumber(text) })
    } else if (type === 'array') {
      values.set(key, [...((values.get(key) as string[] | undefined) ?? []), ...text.split(',')])
    } else if (type === 'integer') values.set(key, wholeNumber(text))
    else if (type === 'boolean') values.set(key, text === 'true' ? true : text === 'false' ? false : text)
    else values.set(key, text)
  }
  return Object.fromEntries(values)
}

function wholeNumber(text: string): unknown {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text
}
