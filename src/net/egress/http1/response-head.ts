/** Reads the head of an HTTP/1 response (RFC 9112 §4 and §5) and says how its body is delimited (§6.3). */

import type { EgressHeaders } from '../egress.ts'
import { Http1Error } from './response-handler.ts'

export type Framing = 'none' | 'length' | 'chunked' | 'until-close'

/**
 * Names in lower case; the values as received, in Latin-1, without the white space around them. Both are cut out of the head when they are
 * read: of most responses only the type of the content is.
 */
export class ResponseHead implements EgressHeaders {
  readonly status: number
  /** Bytes of the body by Content-Length; -1 without one. */
  readonly contentLength: number
  readonly chunked: boolean
  /** The peer will keep the connection for a next request. */
  readonly keepAlive: boolean
  /** What the peer said in `Keep-Alive: timeout=`, ms; undefined when it said nothing. */
  readonly keepAliveMs: number | undefined
  readonly #text: string
  /** Places of each field: begin and end of its name, begin and end of its value. */
  readonly #places: readonly number[]
  #raw: readonly string[] | undefined

  constructor(status: number, text: string, places: readonly number[], framing: HeadFraming) {
    this.status = status
    this.#text = text
    this.#places = places
    this.contentLength = framing.contentLength
    this.chunked = framing.chunked
    this.keepAlive = framing.keepAlive && !framing.closing
    this.keepAliveMs = framing.keepAliveMs
  }

  get raw(): readonly string[] {
    if (this.#raw !== undefined) return this.#raw
    const raw: string[] = []
    for (let at = 0; at < this.#places.length; at += PLACES)
      raw.push(this.#cut(at).toLowerCase(), this.#cut(at + 2))
    this.#raw = raw
    return raw
  }

  get(name: string): string {
    const places = this.#places
    const { length } = name
    let found: string | undefined
    for (let at = 0; at < places.length; at += PLACES) {
      if (places[at + 1]! - places[at]! !== length || !isNamed(this.#text, places[at]!, name)) continue
      const value = this.#cut(at + 2)
      found = found === undefined ? value : `${found}, ${value}`
    }
    return found ?? ''
  }

  #cut(place: number): string {
    return this.#text.slice(this.#places[place], this.#places[place + 1])
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

const PLACES = 4
const MAX_HEADERS = 256
/** Places of the head that is being read: a list that grows would be allocated three times. */
const SCRATCH: number[] = new Array<number>(PLACES * MAX_HEADERS).fill(0)
const CR = 0x0d
const LF = 0x0a
const SPACE = 0x20
const TAB = 0x09
const COLON = 0x3a
const HTTP_1 = Buffer.from('HTTP/1.', 'latin1')

/** RFC 9110 §5.6.2. */
const TOKEN_CHARS = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  TOKEN_CHARS[char.charCodeAt(0)] = 1
/** Characters that no field value may hold (RFC 9110 §5.5): controls but for the tab. */
const ENDS_VALUE = new Uint8Array(256)
ENDS_VALUE.fill(1, 0, SPACE)
ENDS_VALUE[TAB] = 0
ENDS_VALUE[0x7f] = 1

/**
 * @param bytes from `from` to `end`: status line and fields with their line ends and the empty line
 * @throws Http1Error `HPE_…`; bare LF, folded lines, space before the colon, two lengths, a length beside chunked, and
 *   transfer codings other than `chunked` are all refused: each is a way to make two readers disagree
 */
export function readHead(bytes: Buffer, from: number, end: number): ResponseHead {
  // HTTP/1.x SP 3DIGIT SP …
  for (let at = 0; at < HTTP_1.length; at++)
    if (bytes[from + at] !== HTTP_1[at]) throw bad('HPE_INVALID_VERSION')
  const minor = bytes[from + 7]! - 0x30
  if (minor !== 0 && minor !== 1) throw bad('HPE_INVALID_VERSION')
  let status = 0
  for (let at = from + 9; at < from + 12; at++) {
    const digit = bytes[at]! - 0x30
    if (!(digit >= 0 && digit <= 9)) throw bad('HPE_INVALID_STATUS')
    status = 10 * status + digit
  }
  if (bytes[from + 8] !== SPACE || status < 100) throw bad('HPE_INVALID_STATUS')
  let at = from + 12
  if (bytes[at] === SPACE) at = endOfValue(bytes, at + 1, end)
  if (bytes[at] !== CR || bytes[at + 1] !== LF) throw bad('HPE_INVALID_STATUS')
  at += 2

  let placed = 0
  const framing: HeadFraming = {
    contentLength: -1,
    chunked: false,
    keepAlive: minor === 1,
    closing: false,
    keepAliveMs: undefined,
  }
  while (at < end && bytes[at] !== CR) {
    const nameAt = at
    while (at < end && TOKEN_CHARS[bytes[at]!] === 1) at++
    const nameEnd = at
    if (at === nameAt || bytes[at] !== COLON) throw bad('HPE_INVALID_HEADER_TOKEN')
    at++
    while (bytes[at] === SPACE || bytes[at] === TAB) at++
    const valueAt = at
    at = endOfValue(bytes, at, end)
    if (bytes[at] !== CR || bytes[at + 1] !== LF) throw bad('HPE_INVALID_HEADER_TOKEN')
    let valueEnd = at
    while (valueEnd > valueAt && (bytes[valueEnd - 1] === SPACE || bytes[valueEnd - 1] === TAB)) valueEnd--
    if (placed >= PLACES * MAX_HEADERS) throw bad('HPE_HEADER_OVERFLOW')
    SCRATCH[placed++] = nameAt - from
    SCRATCH[placed++] = nameEnd - from
    SCRATCH[placed++] = valueAt - from
    SCRATCH[placed++] = valueEnd - from
    const name = framingName(bytes, nameAt, nameEnd)
    if (name !== undefined) {
      // Node's parser takes no tab after a length; nor do we, so that no two readers can differ on it
      if (name === 'content-length' && hasTab(bytes, valueEnd, at)) throw bad('HPE_INVALID_CONTENT_LENGTH')
      frame(framing, name, bytes.toString('latin1', valueAt, valueEnd))
    }
    at += 2
  }
  if (bytes[at + 1] !== LF || end !== at + 2) throw bad('HPE_LF_EXPECTED')
  if (framing.chunked && framing.contentLength >= 0) throw bad('HPE_INVALID_TRANSFER_ENCODING')
  return new ResponseHead(status, bytes.toString('latin1', from, end), SCRATCH.slice(0, placed), framing)
}

function hasTab(bytes: Buffer, from: number, end: number): boolean {
  for (let at = from; at < end; at++) if (bytes[at] === TAB) return true
  return false
}

/** Where the field value ends: at the first character that none may hold (CR, LF, another control). */
function endOfValue(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && ENDS_VALUE[bytes[at]!] === 0) at++
  return at
}

/** Names that say where the response ends and whether the connection stays open, by their lengths: most names are of another length. */
const FRAMING_NAMES: readonly (readonly string[] | undefined)[] = Array.from({ length: 18 }, (_, length) => {
  const names = ['connection', 'keep-alive', 'content-length', 'transfer-encoding'].filter(
    name => name.length === length,
  )
  return names.length === 0 ? undefined : names
})

function framingName(bytes: Buffer, from: number, end: number): string | undefined {
  const names = FRAMING_NAMES[end - from]
  if (names === undefined) return undefined
  for (const name of names) {
    let at = 0
    while (at < name.length && lowerCase(bytes[from + at]!) === name.charCodeAt(at)) at++
    if (at === name.length) return name
  }
  return undefined
}

/** @param name in lower case; the text has at least as many characters left */
function isNamed(text: string, from: number, name: string): boolean {
  for (let at = 0, { length } = name; at < length; at++)
    if (lowerCase(text.charCodeAt(from + at)) !== name.charCodeAt(at)) return false
  return true
}

function lowerCase(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code
}

/** Takes from a header what it says about the body's length and the connection. */
function frame(framing: HeadFraming, name: string, value: string): void {
  switch (name) {
    case 'content-length':
      if (
        framing.contentLength >= 0 ||
        value.length === 0 ||
        value.length > 15 ||
        !isDigits(value, 0, value.length)
      )
        throw bad('HPE_INVALID_CONTENT_LENGTH')
      framing.contentLength = Number(value)
      return
    case 'transfer-encoding':
      if (framing.chunked || value.toLowerCase() !== 'chunked') throw bad('HPE_INVALID_TRANSFER_ENCODING')
      framing.chunked = true
      return
    case 'connection':
      return connection(framing, value.toLowerCase())
    case 'keep-alive':
      framing.keepAliveMs = timeoutOf(value)
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
    const code = text.charCodeAt(at)
    if (!(code >= 0x30 && code <= 0x39)) return false
  }
  return true
}

function bad(code: string): Http1Error {
  return new Http1Error(code, 'the response is not valid HTTP/1.1')
}
