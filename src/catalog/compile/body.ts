/** Reads the request body of an operation: its media type, its encoding and the fields that can be separate arguments. */
import { isObject } from '../../base/json/is-object.ts'
import type { BodyBinding } from '../../model/tool.ts'
import { type Dict, own } from './dict.ts'
import type { OpenDocument, RawOperation } from './document.ts'
import { type Fields, fieldsOf } from './fields.ts'
import { type BodyKind, byPreference, concrete, essence, isJson, kindOfBody } from './media-types.ts'
import { typesOf } from './schema-keywords.ts'
import { modernBody } from './swagger2.ts'

export interface ReadBody {
  readonly kind: BodyKind
  readonly contentType: string
  readonly required: boolean
  readonly description: unknown
  /** The schema in the document. */
  readonly node: unknown
  /** Set when the body is an object whose properties can be separate arguments. */
  readonly fields: Fields | undefined
  readonly encoding: NonNullable<BodyBinding['encoding']>
}

/** undefined: the operation has no body. A string: the reason why its body cannot be sent. */
export function compileBody(
  document: OpenDocument,
  raw: RawOperation,
  parameters: readonly Dict[],
): ReadBody | string | undefined {
  const operation = raw.operation as Dict
  const given =
    document.dialect === '2.0'
      ? modernBody(document, operation, parameters)
      : document.follow(own(operation, 'requestBody'))
  const declared = document.dialect === '2.0' ? given : own(operation, 'requestBody')
  if (declared === undefined || declared === null) return undefined
  if (!isObject(declared)) return 'the request body is not an object: correct requestBody'
  if (!isObject(given)) return 'the request body refers to a component that is not in the document'
  // RFC 9110 §9.3.2 gives a body of HEAD no meaning, and clients do not send one.
  if (raw.method === 'HEAD') return undefined
  const content = own(given, 'content')
  const types = isObject(content) ? Object.keys(content).filter(key => essence(key) !== undefined) : []
  if (!isObject(content) || types.length === 0) {
    return own(given, 'required') === true
      ? 'the request body has no valid media type: add one under content'
      : undefined
  }
  const choice = [...types].sort((a, b) => byPreference(essence(a)!, essence(b)!))[0]!
  const media = document.follow(content[choice])
  return readMedia(document, essence(choice)!, isObject(media) ? media : {}, given)
}

function readMedia(document: OpenDocument, type: string, media: Dict, body: Dict): ReadBody {
  const node = own(media, 'schema')
  const kind = kindFor(document, type, node)
  const fields =
    kind === 'json' || kind === 'form' || kind === 'multipart' ? fieldsOf(document, node) : undefined
  return {
    kind,
    contentType: concrete(type, kind),
    required: own(body, 'required') === true,
    description: own(body, 'description'),
    node,
    fields,
    encoding: kind === 'form' || kind === 'multipart' ? encodingOf(document, media, node, fields) : {},
  }
}

/** A vendor type (`application/vnd.acme`) with an object schema is JSON, unless it is XML or YAML. */
function kindFor(document: OpenDocument, type: string, node: unknown): BodyKind {
  const kind = kindOfBody(type)
  const schema = document.follow(node)
  if (!isObject(schema)) return type === '*/*' ? 'json' : kind
  if (isBinary(document, schema) && !isJson(type) && kind !== 'form' && kind !== 'multipart') return 'binary'
  const types = typesOf(schema, document.dialect)
  const structured =
    isObject(own(schema, 'properties')) || types?.includes('object') || types?.includes('array')
  return structured && (kind === 'binary' || kind === 'text') && !/[/+]xml$|yaml/.test(type) ? 'json' : kind
}

/** True for strings that represent bytes: `format: binary`, 2.0 `file`, 3.1 `contentMediaType` without `contentEncoding`. */
function isBinary(document: OpenDocument, node: unknown): boolean {
  const schema = document.follow(node)
  if (!isObject(schema)) return false
  if (own(schema, 'format') === 'binary' || own(schema, 'type') === 'file') return true
  const mediaType = own(schema, 'contentMediaType')
  return (
    typeof mediaType === 'string' &&
    own(schema, 'contentEncoding') === undefined &&
    !/json|^text\//.test(mediaType)
  )
}

type PropertyEncoding = NonNullable<BodyBinding['encoding']>[string]

/** Encoding Objects (OpenAPI 3.1 §4.8.15), and which properties are files. */
function encodingOf(
  document: OpenDocument,
  media: Dict,
  node: unknown,
  fields: Fields | undefined,
): NonNullable<BodyBinding['encoding']> {
  const given = own(media, 'encoding')
  const schema = document.follow(node)
  const properties = fields?.properties ?? mapOf(isObject(schema) ? own(schema, 'properties') : undefined)
  const encoding = new Map<string, PropertyEncoding>()
  for (const [name, property] of properties) {
    const entry = isObject(given) ? readEncoding(own(given, name)) : {}
    const target = document.follow(property)
    const item = isObject(target) ? own(target, 'items') : undefined
    const binary = isBinary(document, property) || (item !== undefined && isBinary(document, item))
    if (binary) encoding.set(name, { ...entry, binary })
    else if (Object.keys(entry).length > 0) encoding.set(name, entry)
  }
  return Object.fromEntries(encoding)
}

function mapOf(properties: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(properties) ? Object.entries(properties) : [])
}

const STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject'] as const

function readEncoding(given: unknown): PropertyEncoding {
  if (!isObject(given)) return {}
  // Of several listed types (`image/png, image/jpeg`), the first is sent.
  const first = String(own(given, 'contentType') ?? '').split(',', 1)[0]!
  const contentType = essence(first)
  const style = STYLES.find(candidate => candidate === own(given, 'style'))
  const explode = own(given, 'explode')
  return {
    ...(contentType === undefined || contentType.includes('*') ? {} : { contentType }),
    ...(style === undefined ? {} : { style }),
    ...(typeof explode === 'boolean' ? { explode } : {}),
    ...(own(given, 'allowReserved') === true ? { allowReserved: true } : {}),
  }
}
