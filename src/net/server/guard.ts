/** Checks a request head before a handler gets it, and chooses the status of a refusal. */

import type { ListenerLimits, ListenerRefusal } from './listener.ts'

/**
 * The methods that are accepted, and whether a body may follow; DELETE, GET, HEAD and OPTIONS with one are refused (RFC 9110
 * §9.3: no generally defined meaning).
 */
const METHODS: ReadonlyMap<string, boolean> = new Map([
  ['POST', true],
  ['GET', false],
  ['PUT', true],
  ['PATCH', true],
  ['DELETE', false],
  ['HEAD', false],
  ['OPTIONS', false],
])

/** Ten digits and more would be a body over 1 GB, which no route takes and the native parser cannot count. */
const LENGTH = /^\d{1,9}$/
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

// One flag per character code. A loop over codes costs a third of a regular expression on strings this short.
/** RFC 9110 §5.6.2 `token`, lower case. */
const TOKEN = flags("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")
/**
 * A request target is visible ASCII without a fragment (RFC 9112 §3.2.1); what else arrives was never a URL.
 */
const TARGET = flags(
  Array.from({ length: 94 }, (_, at) => String.fromCharCode(0x21 + at)).filter(one => one !== '#'),
)

/** The head, names of headers in lower case. */
export interface RequestHead {
  readonly method: string
  readonly path: string
  readonly query: string
  /** Flat: name, value, name, value … */
  readonly rawHeaders: readonly string[]
}

/**
 * Refusals that get a response: a head that is sound but too big (414, 431), and an invalid Host (400, RFC 9112 §3.2).
 * For all others that `checkHead` returns, the connection is closed without a response.
 */
export function statusOfRefusal(refusal: ListenerRefusal): number | undefined {
  if (refusal === 'url_too_long') return 414
  if (refusal === 'host') return 400
  return refusal === 'headers_too_large' ? 431 : undefined
}

/**
 * Against request smuggling: a head that two parties could read differently is refused, not repaired (RFC 9112 §3.2, §6.1, §6.3).
 * @returns the declared length of the body (0 when there is none, -1 when it is chunked), or why the request is refused.
 * Size is judged last, so that a head refused for its size is known to be framed soundly.
 */
export function checkHead(
  head: RequestHead,
  limits: ListenerLimits,
  allowChunked: boolean,
): number | ListenerRefusal {
  const { rawHeaders, path, query } = head
  let host: string | undefined
  let length: string | undefined
  let encoding: string | undefined
  let bytes = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    const value = rawHeaders[at + 1]!
    bytes += name.length + value.length
    if (name.length === 4 && name === 'host') {
      if (host !== undefined) return 'host'
      host = value
    } else if (name.length === 14 && name === 'content-length') {
      if (length !== undefined) return 'content_length'
      length = value
    } else if (name.length === 17 && name === 'transfer-encoding') {
      if (encoding !== undefined) return 'transfer_encoding'
      encoding = value
    } else if (name === '' || !consistsOf(TOKEN, name)) return 'header_name'
  }
  if (host === undefined || !isHost(host)) return 'host'
  if (length !== undefined && !LENGTH.test(length)) return 'content_length'
  if (encoding !== undefined && !(allowChunked && encoding === 'chunked' && length === undefined)) {
    return 'transfer_encoding'
  }
  const mayCarryBody = METHODS.get(head.method)
  if (mayCarryBody === undefined) return 'method'
  const contentLength = encoding !== undefined ? -1 : length === undefined ? 0 : Number(length)
  if (contentLength !== 0 && !mayCarryBody) return 'unexpected_body'
  if (path.charCodeAt(0) !== SLASH || !consistsOf(TARGET, path) || !consistsOf(TARGET, query)) return 'url'
  if (path.length + query.length > limits.maxUrlBytes) return 'url_too_long'
  if (bytes > limits.maxHeaderBytes || rawHeaders.length > limits.maxHeaders * 2) return 'headers_too_large'
  return contentLength
}

const SLASH = 0x2f

function flags(characters: Iterable<string>): Uint8Array {
  const table = new Uint8Array(128)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

function consistsOf(table: Uint8Array, text: string): boolean {
  for (let at = 0, { length } = text; at < length; at++) if (table[text.charCodeAt(at)] !== 1) return false
  return true
}

let lastHost = ''

/** Nearly every request names the same host, so the last sound one is cached. */
function isHost(host: string): boolean {
  if (host === lastHost) return host !== ''
  if (!HOST.test(host)) return false
  lastHost = host
  return true
}
