/** Converts parts of a Swagger 2.0 document to OpenAPI 3: parameters, bodies, responses, servers, security schemes. It does not change the document. */
import { isObject } from '../../base/json/is-object.ts'
import { type Dict, own, put, strings, text } from './dict.ts'
import type { OpenDocument } from './document.ts'

/** Keywords of a parameter that are not part of its schema (2.0, Parameter Object). */
const PLACEMENT = new Set([
  'name',
  'in',
  'required',
  'description',
  'collectionFormat',
  'allowEmptyValue',
  'schema',
])

/** A non-body parameter of 2.0 as in OpenAPI 3. */
export function modernParameter(parameter: Dict): Dict {
  const schema = schemaOf(parameter)
  const place = own(parameter, 'in')
  const out: Record<string, unknown> = {
    ...pick(parameter, ['name', 'in', 'required', 'description']),
    schema,
  }
  if (own(schema, 'type') === 'array') Object.assign(out, styleOf(own(parameter, 'collectionFormat'), place))
  return out
}

/** The request body from `in: body` or `in: formData` parameters; undefined when there is none. */
export function modernBody(
  document: OpenDocument,
  operation: Dict,
  parameters: readonly Dict[],
): Dict | undefined {
  const consumes = consumesOf(document, operation)
  const body = parameters.find(parameter => parameter.in === 'body')
  if (body !== undefined) {
    const types = consumes.length > 0 ? consumes : ['application/json']
    return {
      required: own(body, 'required') === true,
      description: own(body, 'description'),
      content: Object.fromEntries(types.map(type => [type, { schema: own(body, 'schema') ?? {} }])),
    }
  }
  const fields = parameters.filter(parameter => parameter.in === 'formData')
  return fields.length > 0 ? formBody(fields, consumes) : undefined
}

function formBody(fields: readonly Dict[], consumes: readonly string[]): Dict {
  const properties: Record<string, unknown> = {}
  const encoding: Record<string, unknown> = {}
  for (const field of fields) {
    const name = String(field.name)
    const schema = { ...schemaOf(field), description: own(field, 'description') }
    put(properties, name, schema)
    if (own(schema, 'type') === 'array') {
      const style = styleOf(own(field, 'collectionFormat'), 'query')
      if (Object.keys(style).length > 0) put(encoding, name, style)
    }
  }
  const required = fields.filter(field => own(field, 'required') === true).map(field => String(field.name))
  const hasFile = fields.some(field => own(field, 'type') === 'file')
  const multipart = 'multipart/form-data'
  const urlencoded = 'application/x-www-form-urlencoded'
  const type =
    hasFile || (consumes.includes(multipart) && !consumes.includes(urlencoded)) ? multipart : urlencoded
  return {
    required: required.length > 0,
    content: { [type]: { schema: { type: 'object', properties, required }, encoding } },
  }
}

/** Responses of 2.0 have one `schema`; those of 3 have one for each media type. */
export function modernResponse(document: OpenDocument, operation: Dict, response: Dict): Dict {
  const produces = strings(own(operation, 'produces') ?? own(document.root, 'produces'))
  const types = produces.length > 0 ? produces : ['application/json']
  const schema = own(response, 'schema')
  if (schema === undefined) return { content: {} }
  return { content: Object.fromEntries(types.map(type => [type, { schema }])) }
}

/** `schemes`, `host` and `basePath` as server addresses, https first; without a host they are relative. */
export function modernServers(document: OpenDocument, operation: Dict): readonly Dict[] {
  const { root } = document
  const basePath = text(own(root, 'basePath')) ?? '/'
  const host = text(own(root, 'host'))
  if (host === undefined) return [{ url: basePath }]
  const given = strings(own(operation, 'schemes') ?? own(root, 'schemes')).filter(
    s => s === 'https' || s === 'http',
  )
  const schemes = given.length > 0 ? given.sort().reverse() : ['https']
  return schemes.map(scheme => ({
    url: `${scheme}://${host}${basePath.startsWith('/') ? '' : '/'}${basePath}`,
  }))
}

function consumesOf(document: OpenDocument, operation: Dict): string[] {
  return strings(own(operation, 'consumes') ?? own(document.root, 'consumes'))
}

function schemaOf(parameter: Dict): Dict {
  const given = own(parameter, 'schema')
  if (isObject(given)) return given
  const schema: Record<string, unknown> = {}
  for (const key of Object.keys(parameter)) if (!PLACEMENT.has(key)) put(schema, key, parameter[key])
  return schema
}

/** `collectionFormat` (default csv) as style and explode; `multi` exists in a query and a form only. */
function styleOf(format: unknown, place: unknown): Dict {
  if (format === 'multi' && place === 'query') return { style: 'form', explode: true }
  if (format === 'ssv') return { style: 'spaceDelimited', explode: false }
  if (format === 'pipes') return { style: 'pipeDelimited', explode: false }
  if (format === 'tsv') return { style: 'tabDelimited', explode: false }
  return { style: place === 'query' ? 'form' : 'simple', explode: false }
}

function pick(from: Dict, keys: readonly string[]): Dict {
  return Object.fromEntries(keys.filter(key => Object.hasOwn(from, key)).map(key => [key, from[key]]))
}

/** The names and places of all security schemes as in 3.x. */
export function modernSecuritySchemes(document: OpenDocument): Dict {
  const given = own(document.root, 'securityDefinitions')
  if (!isObject(given)) return {}
  const out: Record<string, unknown> = {}
  for (const name of Object.keys(given)) {
    const scheme = given[name]
    if (!isObject(scheme)) continue
    put(out, name, own(scheme, 'type') === 'basic' ? { type: 'http', scheme: 'basic' } : scheme)
  }
  return out
}

/** Parameters of 2.0 that are not the body. */
export function isPlain(parameter: Dict): boolean {
  return parameter.in !== 'body' && parameter.in !== 'formData'
}
