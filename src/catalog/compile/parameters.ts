/** Reads the parameters of an operation and the placeholders of its path into bindings and schemas. */
import { isObject } from '../../base/json/is-object.ts'
import type { BackendAuthentication, ParameterBinding, ParameterLocation } from '../../model/tool.ts'
import { type Dict, list, own, put } from './dict.ts'
import type { OpenDocument, RawOperation } from './document.ts'
import { essence } from './media-types.ts'
import { placeOf } from './security.ts'
import { isPlain, modernParameter } from './swagger2.ts'

/** A parameter that becomes an argument; `node` is its schema in the document. */
export interface ReadParameter {
  readonly binding: Omit<ParameterBinding, 'argument'>
  readonly node: unknown
  readonly required: boolean
  readonly description: unknown
}

const STYLES: { readonly [place in ParameterLocation]: readonly ParameterBinding['style'][] } = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

/** Swagger 2.0 has them in every place. */
const DELIMITED = ['spaceDelimited', 'pipeDelimited', 'tabDelimited'] as const

/** Headers that the gateway or HTTP itself sets, so that no argument may (OpenAPI 3.1 §4.8.12 names the first three). */
const RESERVED_HEADERS = new Set([
  ...['accept', 'content-type', 'authorization', 'host', 'content-length', 'transfer-encoding', 'connection'],
  ...[
    'keep-alive',
    'upgrade',
    'te',
    'trailer',
    'expect',
    'proxy-authorization',
    'proxy-connection',
    'cookie',
  ],
  ...['content-encoding', 'accept-encoding', 'user-agent', 'http2-settings'],
])

/** True when no argument may set this header. */
function isReservedHeader(name: string): boolean {
  return RESERVED_HEADERS.has(name.toLowerCase())
}

/** True when the name is valid for a header or a cookie (RFC 9110 §5.6.2, token). */
function isToken(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/.test(name)
}

/**
 * The parameters that an agent may set: not those that the gateway sets, such as its credential, nor path parameters without a
 * placeholder. A placeholder without a parameter gets one.
 * @param credentials places and names of the security schemes, as `placeOf` writes them
 */
export function readParameters(
  document: OpenDocument,
  raw: RawOperation,
  parameters: readonly Dict[],
  authentication: BackendAuthentication,
  credentials: ReadonlySet<string>,
  notice: (message: string) => void,
): readonly ReadParameter[] {
  const read: ReadParameter[] = []
  const open = new Set(placeholdersOf(raw.path))
  for (const given of parameters) {
    if (document.dialect === '2.0' && !isPlain(given)) continue
    const parameter = document.dialect === '2.0' ? modernParameter(given) : given
    const name = parameter.name as string
    const place = parameter.in
    if (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie') {
      notice(
        `parameter ${name.slice(0, 80)} is ignored: its location "${String(place).slice(0, 20)}" is not valid`,
      )
      continue
    }
    if (place === 'path' && !open.delete(name)) {
      notice(`path parameter ${name.slice(0, 80)} is ignored: it does not occur in the path`)
      continue
    }
    if (isSetByGateway(name, place, authentication) || credentials.has(placeOf(place, name))) continue
    if ((place === 'header' || place === 'cookie') && !isToken(name)) {
      notice(`${place} parameter ${name.slice(0, 80)} is ignored: its name is not valid`)
      continue
    }
    read.push(readOne(document, parameter, name, place))
  }
  for (const name of open) {
    notice(
      `the path contains {${name.slice(0, 80)}}, but the operation declares no path parameter of this name: the gateway adds a string argument`,
    )
    read.push({
      binding: { name, in: 'path', style: 'simple', explode: false },
      node: { type: 'string' },
      required: true,
      description: undefined,
    })
  }
  return read
}

/** Names between braces, each once, in order. */
export function placeholdersOf(path: string): string[] {
  return [...new Set([...path.matchAll(/\{([^{}]+)\}/g)].map(match => match[1]!))]
}

function isSetByGateway(
  name: string,
  place: ParameterLocation,
  authentication: BackendAuthentication,
): boolean {
  if (place === 'header' && isReservedHeader(name)) return true
  if (authentication.type !== 'apiKey' || authentication.in !== place) return false
  return place === 'header'
    ? name.toLowerCase() === authentication.name?.toLowerCase()
    : name === authentication.name
}

function readOne(
  document: OpenDocument,
  parameter: Dict,
  name: string,
  place: ParameterLocation,
): ReadParameter {
  const styles = document.dialect === '2.0' ? [...STYLES[place], ...DELIMITED] : STYLES[place]
  const given = own(parameter, 'style')
  const style = styles.find(candidate => candidate === given) ?? styles[0]!
  const explodeGiven = own(parameter, 'explode')
  const explode =
    typeof explodeGiven === 'boolean' ? explodeGiven : style === 'form' || style === 'deepObject'
  const content = contentOf(document, parameter)
  const node = content?.node ?? own(parameter, 'schema')
  return {
    binding: {
      name,
      in: place,
      style,
      explode,
      ...(own(parameter, 'allowReserved') === true && place === 'query' ? { allowReserved: true } : {}),
      ...(content === undefined ? {} : { contentType: content.type }),
    },
    node: withAnnotations(node, parameter),
    required: place === 'path' || own(parameter, 'required') === true,
    description: own(parameter, 'description'),
  }
}

/** A parameter described by `content` holds exactly one media type (OpenAPI 3.1 §4.8.12.2). */
function contentOf(document: OpenDocument, parameter: Dict): { type: string; node: unknown } | undefined {
  const content = own(parameter, 'content')
  if (!isObject(content)) return undefined
  for (const key of Object.keys(content)) {
    const type = essence(key)
    const media = document.follow(content[key])
    if (type !== undefined && isObject(media)) return { type, node: own(media, 'schema') }
  }
  return undefined
}

/** Adds examples and deprecation of the parameter to its schema. */
function withAnnotations(node: unknown, parameter: Dict): unknown {
  const extra: Record<string, unknown> = {}
  for (const key of ['example', 'examples', 'deprecated']) {
    const value = own(parameter, key)
    if (value !== undefined && list(value).length === 0 && !(isObject(node) && Object.hasOwn(node, key))) {
      put(extra, key, value)
    }
  }
  if (Object.keys(extra).length === 0) return node
  return isObject(node) && !Object.hasOwn(node, '$ref') ? { ...node, ...extra } : node
}
