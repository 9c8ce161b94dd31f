/** Writes the head of an ordinary HTTP/1.1 request, and leaves other requests to its caller. */

import { HeadText } from '../../head-text.ts'
import type { WholeRequest } from './response-handler.ts'

/** Framing and routing: a caller who names one wants something special. */
const SPECIAL = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'proxy-connection',
])

/** Whether a header name, as spelled, is an ordinary one: a gateway sends the same few dozen. Bounded, emptied when full. */
const verdicts = new Map<string, boolean>()
const VERDICTS_CACHED = 512
const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]{1,256}$/
/** Methods whose responses have regular framing (RFC 9110 §9.3); CONNECT is not. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const HEAD = new HeadText()

/**
 * RFC 9112 §3 and §5.
 * @param bodyBytes of the body as it will be sent; undefined without one
 * @returns the head with its empty line, in Latin-1, valid until the next one is written; undefined when the request is not ordinary or could
 * be split
 */
export function requestHead(
  { method, path, headers, headersOfCall }: WholeRequest,
  host: string,
  bodyBytes: number | undefined,
): Uint8Array | undefined {
  if (!METHODS.has(method)) return undefined
  HEAD.begin(method)
  HEAD.add(' ')
  HEAD.add(path)
  HEAD.add(' HTTP/1.1')
  if (HEAD.addField('host', host) === undefined) return undefined
  HEAD.addField('connection', 'keep-alive')
  if (!addFields(headers) || !addFields(headersOfCall)) return undefined
  if (bodyBytes !== undefined) HEAD.addField('content-length', String(bodyBytes))
  // A method that usually has a body says that it has none (RFC 9110 §8.6).
  else if (method === 'POST' || method === 'PUT' || method === 'PATCH') HEAD.addField('content-length', '0')
  HEAD.add('\r\n\r\n')
  return HEAD.view()
}

/** @returns false when one of them is not ordinary */
function addFields(headers: readonly string[]): boolean {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]!
    // all names of this buffer have been judged
    if (!HEAD.repeats(name) && !(verdicts.get(name) ?? judge(name))) return false
    if (HEAD.addField(name, headers[at + 1]!) === undefined) return false
  }
  return true
}

function judge(name: string): boolean {
  const ordinary = TOKEN.test(name) && !SPECIAL.has(name.toLowerCase())
  if (verdicts.size >= VERDICTS_CACHED) verdicts.clear()
  verdicts.set(name, ordinary)
  return ordinary
}
