/** Writes the head of an ordinary outgoing HTTP/1.1 request (RFC 9112 §3). What is not ordinary it leaves to the library; it sends nothing. */

import { codeAt } from '../../../model/code-at.ts'
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

/**
 * @param bodyBytes of the body as it will be sent; undefined without one
 * @returns the head with its empty line, Latin-1 only; undefined when the request is not ordinary or could be split
 */
export function requestHead(
  { method, path, headers }: WholeRequest,
  host: string,
  bodyBytes: number | undefined,
): string | undefined {
  if (!METHODS.has(method)) return undefined
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]!
    const value = headers[at + 1]!
    if (!(verdicts.get(name) ?? judge(name)) || !isFieldValue(value)) return undefined
    head += `${name}: ${value}\r\n`
  }
  if (bodyBytes !== undefined) return `${head}content-length: ${bodyBytes}\r\n\r\n`
  // A method that usually has a body says that it has none (RFC 9110 §8.6).
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
    ? `${head}content-length: 0\r\n\r\n`
    : `${head}\r\n`
}

function judge(name: string): boolean {
  const ordinary = TOKEN.test(name) && !SPECIAL.has(name.toLowerCase())
  if (verdicts.size >= VERDICTS_CACHED) verdicts.clear()
  verdicts.set(name, ordinary)
  return ordinary
}

/** RFC 9110 §5.5: visible characters, space, tab, and obs-text. */
function isFieldValue(text: string): boolean {
  for (let at = 0, { length } = text; at < length; at++) {
    const code = codeAt(text, at)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff) return false
  }
  return true
}
