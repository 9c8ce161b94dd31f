/** Reads the head of a response (RFC 9112 §4 and §5), strictly. It knows nothing of bodies and sockets. */

import { codeAt } from '../../../model/code-at.ts'
import type { EgressHeaders } from '../egress.ts'
import { Http1Error } from './response-handler.ts'

export type Framing = 'none' | 'length' | 'chunked' | 'until-close'

/** Names in lower case; the values as received, in Latin-1, without the white space around them. */
export class ResponseHead implements EgressHeaders {
  readonly status: number
  readonly raw: readonly string[]
  /** Bytes of the body by Content-Length; -1 without one. */
  readonly contentLength: number
  readonly chunked: boolean
  /** The peer will keep the connection for a next request. */
  readonly keepAlive: boolean
  /** What the peer said in `Keep-Alive: timeout=`, ms; undefined when it said nothing. */
  readonly keepAliveMs: number | undefined

  constructor(status: number, raw: readonly string[], framing: HeadFraming) {
    this.status = status
    this.raw = raw
    this.contentLength = framing.contentLength
    this.chunked = framing.chunked
    this.keepAlive = framing.keepAlive && !framing.closing
    this.keepAliveMs = framing.keepAliveMs
  }

  get(name: string): string {
    const { raw } = this
    let found: string | undefined
    for (let at = 0; at < raw.length; at += 2)
      if (raw[at] === name) found = found === undefined ? raw[at + 1]! : `${found}, ${raw[at + 1]!}`
    return found ?? ''
  }

  /** @param method of the request: the response to HEAD never has a body (RFC 9112 §6.3) */
  framing(method: string): Framing {
    const { status } = this
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return 'none'
    if (this.chunked) return 'chunked'
    if (this.contentLength >= 0) return this.contentLength === 0 ? 'none' : 'length'
    return 'until-close'
  }
}

interface HeadFraming {
  contentLength: number
  chunked: boolean
  keepAlive: boolean
  /** `Connection: close` was seen; it overrides `keep-alive`. */
  closing: boolean
  keepAliveMs: number | undefined
}

const MAX_HEADERS = 256
const CR = 0x0d
const LF = 0x0a
const SPACE = 0x20
const TAB = 0x09
const COLON = 0x3a

/** 0: not a token character (RFC 9110 §5.6.2); 1: one; 2: an upper case letter. */
const TOKEN_CHARS = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") TOKEN_CHARS[codeAt(char, 0)] = 1
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') TOKEN_CHARS[codeAt(char, 0)] = 2

/**
 * @param text status line and fields with their line ends and the empty line, one Latin-1 character per byte
 * @throws Http1Error `HPE_…`; bare LF, folded lines, space before the colon, two lengths, a length beside chunked, and
 *   transfer codings other than `chunked` are all refused: each is a way to make two readers disagree
 */
export function readHead(text: string): ResponseHead {
  // HTTP/1.x SP 3DIGIT SP …
  const minor = codeAt(text, 7) - 0x30
  if (!text.startsWith('HTTP/1.') || (minor !== 0 && minor !== 1)) throw bad('HPE_INVALID_VERSION')
  const status = Number(text.slice(9, 12))
  if (codeAt(text, 8) !== SPACE || !(status >= 100 && status <= 999) || !isDigits(text, 9, 12))
    throw bad('HPE_INVALID_STATUS')
  let at = 12
  if (codeAt(text, at) === SPACE) at = endOfValue(text, at + 1)
  if (codeAt(text, at) !== CR || codeAt(text, at + 1) !== LF) throw bad('HPE_INVALID_STATUS')
  at += 2

  const raw: string[] = []
  const framing: HeadFraming = {
    contentLength: -1,
    chunked: false,
    keepAlive: minor === 1,
    closing: false,
    keepAliveMs: undefined,
  }
  while (codeAt(text, at) !== CR) {
    const nameAt = at
    let upper = false
    for (;;) {
      const kind = TOKEN_CHARS[codeAt(text, at)]
      if (kind === 1) at++
      else if (kind === 2) {
        upper = true
        at++
      } else break
    }
    if (at === nameAt || codeAt(text, at) !== COLON) throw bad('HPE_INVALID_HEADER_TOKEN')
    const spelled = text.slice(nameAt, at)
    const name = upper ? spelled.toLowerCase() : spelled
    at++
    while (codeAt(text, at) === SPACE || codeAt(text, at) === TAB) at++
    const valueAt = at
    at = endOfValue(text, at)
    if (codeAt(text, at) !== CR || codeAt(text, at + 1) !== LF) throw bad('HPE_INVALID_HEADER_TOKEN')
    let valueEnd = at
    while (valueEnd > valueAt && isBlank(codeAt(text, valueEnd - 1))) valueEnd--
    // Node's parser takes no tab after a length; nor do we, so that no two readers can differ on it
    if (name === 'content-length' && text.slice(valueEnd, at).includes('\t'))
      throw bad('HPE_INVALID_CONTENT_LENGTH')
    const value = text.slice(valueAt, valueEnd)
    at += 2
    if (raw.push(name, value) > 2 * MAX_HEADERS) throw bad('HPE_HEADER_OVERFLOW')
    frame(framing, name, value)
  }
  if (codeAt(text, at + 1) !== LF || text.length !== at + 2) throw bad('HPE_LF_EXPECTED')
  if (framing.chunked && framing.contentLength >= 0) throw bad('HPE_INVALID_TRANSFER_ENCODING')
  return new ResponseHead(status, raw, framing)
}

/** Where the field value ends: at the first character that none may hold (CR, LF, another control). */
function endOfValue(text: string, from: number): number {
  let at = from
  for (const { length } = text; at < length; at++) {
    const code = codeAt(text, at)
    if ((code < SPACE && code !== TAB) || code === 0x7f) break
  }
  return at
}

/** Takes from a header what it says about the body's length and the connection. */
function frame(framing: HeadFraming, name: string, value: string): void {
  // by length first: most headers are none of the four
  switch (name.length) {
    case 14:
      if (name !== 'content-length') return
      if (
        framing.contentLength >= 0 ||
        value.length === 0 ||
        value.length > 15 ||
        !isDigits(value, 0, value.length)
      )
        throw bad('HPE_INVALID_CONTENT_LENGTH')
      framing.contentLength = Number(value)
      return
    case 17:
      if (name !== 'transfer-encoding') return
      if (framing.chunked || value.toLowerCase() !== 'chunked') throw bad('HPE_INVALID_TRANSFER_ENCODING')
      framing.chunked = true
      return
    case 10:
      if (name === 'connection') connection(framing, value.toLowerCase())
      else if (name === 'keep-alive') framing.keepAliveMs = timeoutOf(value)
  }
}

function connection(framing: HeadFraming, value: string): void {
  if (value === 'keep-alive') framing.keepAlive = true
  else if (value.split(',').some(option => option.trim() === 'close')) framing.closing = true
}

function timeoutOf(value: string): number | undefined {
  const seconds = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(value)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

function isDigits(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = codeAt(text, at)
    if (!(code >= 0x30 && code <= 0x39)) return false
  }
  return true
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

function bad(code: string): Http1Error {
  return new Http1Error(code, 'the response is not valid HTTP/1.1')
}
