/** A built request judged by the original document: read from the wire by the document's own words, values checked against its own schemas. Independent of the compiler. */

import type { Ajv, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvDraft04 from 'ajv-draft-04'
import ajvFormats from 'ajv-formats'
import type { BackendRequest } from '../../src/data-plane/snapshot/snapshot.ts'

type Dict = { readonly [key: string]: unknown }

export type Verdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid' | 'unjudged'; readonly reason: string }

const OPTIONS = {
  strict: false,
  logger: false,
  validateSchema: false,
  allErrors: false,
  unicodeRegExp: false,
} as const
const ROOT = 'doc:/'

export class DocumentCheck {
  readonly #document: Dict
  readonly #exact: Ajv
  /** Turns text from the wire into the types a parameter schema wants. */
  readonly #coercing: Ajv
  readonly #validators = new Map<string, ValidateFunction>()
  /** Parameters that are API keys: the gateway sends them where it has a credential, and no document of the corpus has one. */
  readonly #keys: ReadonlySet<string>

  constructor(document: Dict) {
    this.#document = withoutIds(document)
    const { securitySchemes } = (document.components ?? {}) as Dict
    const schemes = Object.values((securitySchemes ?? document.securityDefinitions ?? {}) as Dict) as Dict[]
    this.#keys = new Set(schemes.map(scheme => `${scheme.in} ${scheme.name}`.toLowerCase()))
    this.#exact = this.#ajv({})
    this.#coercing = this.#ajv({ coerceTypes: 'array' })
  }

  #ajv(extra: object): Ajv {
    const isNew = String(this.#document.openapi).startsWith('3.1')
    const Draft04 = ajvDraft04 as unknown as new (options: object) => Ajv
    const ajv = isNew
      ? (new Ajv2020({ ...OPTIONS, ...extra }) as unknown as Ajv)
      : new Draft04({ ...OPTIONS, ...extra })
    ;(ajvFormats as unknown as (ajv: Ajv) => void)(ajv)
    // Draft 4 names schemas by `id`, which in these documents is the name of a field.
    ajv.opts.schemaId = '$id'
    ajv.addSchema(this.#document, ROOT)
    return ajv
  }

  judge(method: string, path: string, baseUrl: string, request: BackendRequest): Verdict {
    try {
      return this.#judge(method, path, baseUrl, request)
    } catch (error) {
      return { kind: 'unjudged', reason: String((error as Error).message).slice(0, 120) }
    }
  }

  #judge(method: string, path: string, baseUrl: string, request: BackendRequest): Verdict {
    const [pathItem, itemPointer] = this.#follow(this.#paths()[path], `/paths/${escapeToken(path)}`)
    const operation = pathItem[method.toLowerCase()] as Dict
    const pointer = `${itemPointer}/${method.toLowerCase()}`
    const parameters = this.#parameters(pathItem, itemPointer, operation, pointer)
    const wire = readWire(request, path, baseUrl)
    if (wire === undefined) return { kind: 'invalid', reason: `the path ${request.url} does not fit ${path}` }
    for (const { parameter, pointer: at } of parameters) {
      const verdict = this.#checkParameter(parameter, at, wire)
      if (verdict !== undefined) return verdict
    }
    return this.#checkBody(operation, pointer, request)
  }

  #parameters(
    pathItem: Dict,
    itemPointer: string,
    operation: Dict,
    pointer: string,
  ): { parameter: Dict; pointer: string }[] {
    const all = new Map<string, { parameter: Dict; pointer: string }>()
    for (const [holder, at] of [
      [pathItem, itemPointer],
      [operation, pointer],
    ] as const) {
      ;((holder.parameters ?? []) as unknown[]).forEach((entry, i) => {
        const [parameter, found] = this.#follow(entry, `${at}/parameters/${i}`)
        all.set(`${parameter.in} ${parameter.name}`, { parameter, pointer: found })
      })
    }
    return [...all.values()]
  }

  #checkParameter(parameter: Dict, pointer: string, wire: Wire): Verdict | undefined {
    const name = String(parameter.name)
    const place = String(parameter.in)
    if (
      place === 'header' &&
      ['accept', 'content-type', 'authorization', ...MANAGED].includes(name.toLowerCase())
    )
      return undefined
    const content = parameter.content as Dict | undefined
    const schema = content === undefined ? parameter.schema : undefined
    const [target] = this.#follow(schema ?? {}, '')
    const raw = readParameter(parameter, target, wire)
    if (raw === undefined) {
      const isKey = this.#keys.has(`${place} ${name}`.toLowerCase())
      const required = parameter.required === true && !isEmptyable(target) && !isKey
      return required ? { kind: 'invalid', reason: `${place} parameter ${name} is missing` } : undefined
    }
    if (schema === undefined) return undefined
    return this.#check(this.#coercing, `${pointer}/schema`, raw, `${place} parameter ${name}`)
  }

  #checkBody(operation: Dict, pointer: string, request: BackendRequest): Verdict {
    if (operation.requestBody === undefined || request.method === 'HEAD') return { kind: 'valid' }
    const [body, at] = this.#follow(operation.requestBody, `${pointer}/requestBody`)
    if (request.body === undefined) {
      return body.required === true ? { kind: 'invalid', reason: 'the body is missing' } : { kind: 'valid' }
    }
    const sentType = headerOf(request, 'content-type')?.split(';')[0] ?? ''
    const content = (body.content ?? {}) as Dict
    const key = Object.keys(content).find(type => matches(type, sentType))
    if (key === undefined)
      return { kind: 'invalid', reason: `${sentType} is not among ${Object.keys(content).join(', ')}` }
    const media = content[key] as Dict
    if (media.schema === undefined || typeof request.body !== 'string') return { kind: 'valid' }
    if (!/json|^\*\/\*$/.test(sentType) && !isStructured(request.body)) return { kind: 'valid' }
    const value: unknown = JSON.parse(request.body)
    return (
      this.#check(this.#exact, `${at}/content/${escapeToken(key)}/schema`, value, 'the body') ?? {
        kind: 'valid',
      }
    )
  }

  #check(ajv: Ajv, pointer: string, value: unknown, what: string): Verdict | undefined {
    const key = `${ajv === this.#exact ? 'e' : 'c'}${pointer}`
    let validate = this.#validators.get(key)
    if (validate === undefined) {
      validate = ajv.compile({ $ref: `${ROOT}#${encodeURI(pointer).replaceAll('#', '%23')}` })
      this.#validators.set(key, validate)
    }
    if (validate({ value }.value)) return undefined
    const error = validate.errors?.[0]
    return {
      kind: 'invalid',
      reason: `${what}${error?.instancePath ?? ''} ${error?.message ?? ''} (${error?.schemaPath.slice(-60)})`,
    }
  }

  #paths(): Dict {
    return this.#document.paths as Dict
  }

  #follow(value: unknown, pointer: string): [Dict, string] {
    for (let hops = 0; hops < 20; hops++) {
      const reference = (value as Dict | undefined)?.$ref
      if (typeof reference !== 'string') return [(value ?? {}) as Dict, pointer]
      pointer = decodeURIComponent(reference.slice(1))
      value = pointer
        .split('/')
        .slice(1)
        .reduce<unknown>((node, token) => (node as Dict)?.[unescapeToken(token)], this.#document)
    }
    throw new Error('references in a circle')
  }
}

interface Wire {
  readonly path: { readonly [name: string]: string }
  readonly query: readonly (readonly [string, string])[]
  readonly headers: { readonly [name: string]: string }
  readonly cookies: { readonly [name: string]: string }
}

function readWire(request: BackendRequest, template: string, baseUrl: string): Wire | undefined {
  const [whole = '', search = ''] = request.url.slice(baseUrl.length).split('?')
  const query = search === '' ? [] : search.split('&').map(readPair)
  // `/search?q={term}`: a path parameter that is sent in the query.
  const inQuery = [...(template.split('?')[1] ?? '').matchAll(/([^=&]*)=\{([^{}]+)\}/g)].flatMap(
    ([, key, name]) => {
      const value = query.find(pair => pair[0] === key)?.[1]
      return value === undefined ? [] : [[name!, value] as const]
    },
  )
  const names: string[] = []
  const source = template
    .split('#')[0]!
    .split('?')[0]!
    .split(/(\{[^{}]+\})/)
    .map(piece => {
      if (!/^\{[^{}]+\}$/.test(piece)) return piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      names.push(piece.slice(1, -1))
      return '([^/]+)'
    })
  const match = new RegExp(`^${source.join('')}$`).exec(safeDecode(whole, template))
  if (match === null) return undefined
  const headers: Record<string, string> = {}
  for (let i = 0; i < request.headers.length; i += 2)
    headers[request.headers[i]!.toLowerCase()] = request.headers[i + 1]!
  return {
    path: {
      ...Object.fromEntries(names.map((name, k) => [name, match[k + 1]!])),
      ...Object.fromEntries(inQuery),
    },
    query,
    headers,
    cookies: Object.fromEntries(
      (headers.cookie ?? '').split('; ').map(c => [c.split('=')[0]!, c.slice(c.indexOf('=') + 1)]),
    ),
  }
}

function readPair(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  return [decodeURIComponent(pair.slice(0, at)), pair.slice(at + 1)]
}

/** Characters a document writes raw in its path are encoded on the wire: compared encoded. */
function safeDecode(path: string, template: string): string {
  if (/^[\x21-\x7e]*$/.test(template) && !/[ "<>^`|\\]/.test(template)) return path
  return path
    .split('/')
    .map(part => (/%2F/i.test(part) ? part : decodeURIComponent(part)))
    .join('/')
}

/** The value before any schema: text, list or object of text, as style and explode require. */
function readParameter(parameter: Dict, schema: Dict, wire: Wire): unknown {
  const name = String(parameter.name)
  const place = String(parameter.in)
  const style = String(parameter.style ?? (place === 'query' || place === 'cookie' ? 'form' : 'simple'))
  const explode = typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form'
  const isList = schema.type === 'array' || (Array.isArray(schema.type) && schema.type.includes('array'))
  const isMap = schema.type === 'object' || (schema.properties !== undefined && schema.type === undefined)
  if (place === 'query') {
    if (style === 'deepObject' || (isMap && explode)) {
      const map = readMap(name, style, wire, schema)
      // OpenAPI leaves the form of a list in this style open: `name[0]=…` is what servers read as one
      return isList && map !== undefined ? Object.values(map) : map
    }
    const values = wire.query.filter(([key]) => key === name).map(([, value]) => value)
    if (values.length === 0) return undefined
    if (isList) {
      const delimiter = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ','
      return (explode ? values : values[0]!.split(delimiter)).map(decodeURIComponent)
    }
    return isMap ? pairs(values[0]!.split(',').map(decodeURIComponent)) : decodeURIComponent(values[0]!)
  }
  const table = place === 'path' ? wire.path : place === 'cookie' ? wire.cookies : wire.headers
  const text = table[place === 'header' ? name.toLowerCase() : name]
  if (text === undefined) return undefined
  const bare = style === 'matrix' ? text.replace(/^;[^=]*=/, '') : style === 'label' ? text.slice(1) : text
  const decode = place === 'header' ? (value: string) => value : decodeURIComponent
  if (isList) return bare.split(',').map(decode)
  return isMap ? pairs(bare.split(/[,=]/).map(decode)) : decode(bare)
}

function readMap(name: string, style: string, wire: Wire, schema: Dict): Dict | undefined {
  const out: Record<string, unknown> = {}
  for (const [key, value] of wire.query) {
    if (style === 'deepObject') {
      const inner = key.startsWith(`${name}[`)
        ? /^\[([^\]]*)\]$/.exec(key.slice(name.length))?.[1]
        : undefined
      if (key.startsWith(`${name}[`) && inner === undefined) return undefined
      if (inner !== undefined) out[inner] = decodeURIComponent(value)
    } else if (Object.hasOwn((schema.properties ?? {}) as Dict, key)) out[key] = decodeURIComponent(value)
  }
  return Object.keys(out).length > 0 ? out : undefined
}

function pairs(flat: readonly string[]): Dict {
  const out: Record<string, string> = {}
  for (let i = 0; i + 1 < flat.length; i += 2) out[flat[i]!] = flat[i + 1]!
  return out
}

/** Required, yet nothing on the wire: an empty list or map has no form there. */
function isEmptyable(schema: Dict): boolean {
  return schema.type === 'array' || schema.type === 'object' || schema.properties !== undefined
}

function headerOf(request: BackendRequest, name: string): string | undefined {
  const at = request.headers.findIndex((value, i) => i % 2 === 0 && value.toLowerCase() === name)
  return at < 0 ? undefined : request.headers[at + 1]
}

const MANAGED = [
  'host',
  'content-length',
  'user-agent',
  'connection',
  'cookie',
  'accept-encoding',
  'content-encoding',
  'expect',
  'transfer-encoding',
]

function matches(declared: string, sent: string): boolean {
  const type = declared.split(';')[0]!.trim().toLowerCase()
  return type === sent || type.includes('*')
}

function isStructured(text: string): boolean {
  return /^[[{]/.test(text)
}

function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Examples full of `id`s would be taken for names of schemas; `nullable` without `type` stops Ajv; a Java pattern says nothing in JSON Schema. */
function withoutIds(document: Dict): Dict {
  const kept = (key: string, given: unknown): unknown => {
    const value = withoutReadOnly(document, given)
    if (/^\$?id$|^\$schema$/.test(key) && typeof value === 'string') return undefined
    if (key === 'pattern' && typeof value === 'string' && !isEcmaScript(value)) return undefined
    // With a discriminator it is the named branch that counts, whichever else would hold (OpenAPI 3.1 §4.8.25).
    if (value !== null && typeof value === 'object' && 'discriminator' in value && 'oneOf' in value) {
      const { oneOf, ...rest } = value as Record<string, unknown>
      return { ...rest, anyOf: oneOf }
    }
    if (value === null || typeof value !== 'object' || !('nullable' in value) || 'type' in value) return value
    const { nullable: _, ...rest } = value as Record<string, unknown>
    return rest
  }
  return JSON.parse(JSON.stringify(document, kept)) as Dict
}

/** `required` of a property that is readOnly counts for responses alone (OpenAPI 3.0.3 §4.7.24). */
function withoutReadOnly(document: Dict, schema: unknown): unknown {
  const { required, properties } = (schema ?? {}) as Dict
  if (!Array.isArray(required) || properties === null || typeof properties !== 'object') return schema
  const isSent = (name: unknown): boolean =>
    resolved(document, (properties as Dict)[name as string]).readOnly !== true
  const sent = required.filter(isSent)
  const { required: _, ...rest } = schema as Dict
  // draft 4 allows no empty list
  return sent.length === 0 ? rest : { ...rest, required: sent }
}

function resolved(document: Dict, given: unknown): Dict {
  let value = given as Dict | undefined
  for (let hops = 0; hops < 20 && typeof value?.$ref === 'string'; hops++)
    value = decodeURIComponent(value.$ref.slice(1))
      .split('/')
      .slice(1)
      .reduce<unknown>((node, token) => (node as Dict)?.[unescapeToken(token)], document) as Dict | undefined
  return value ?? {}
}

function isEcmaScript(pattern: string): boolean {
  if (!pattern.includes('\\p')) return true
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}
