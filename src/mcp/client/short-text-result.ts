/** Recognizes in its bytes a simple response that contains one short text, and makes its result. `read-response.ts` reads other responses. */
import type { Dict, RequestId, RpcResult } from '../protocol.ts'

const MAX_BYTES = 8_192

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20
/** By the character behind a backslash (RFC 8259 §7); 0: none, or `\u`. */
const UNESCAPED = new Uint8Array(256)
for (const [letter, character] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'])
  UNESCAPED[letter!.charCodeAt(0)] = character!.charCodeAt(0)

const JSONRPC_NAME = Buffer.from('"jsonrpc"')
const ID_NAME = Buffer.from('"id"')
const RESULT_NAME = Buffer.from('"result"')
const CONTENT_NAME = Buffer.from('"content"')
const IS_ERROR_NAME = Buffer.from('"isError"')
const RESULT_TYPE_NAME = Buffer.from('"resultType"')
const TYPE_NAME = Buffer.from('"type"')
const TEXT_NAME = Buffer.from('"text"')
const VERSION = Buffer.from('"2.0"')
const FALSE = Buffer.from('false')
const COMPLETE = Buffer.from('"complete"')

/** Bit of each member, so that none is taken twice. */
const JSONRPC = 1
const ID = 2
const RESULT = 4
const CONTENT = 8
const TYPE = 16
const TEXT = 32
const NEEDED = JSONRPC | ID | RESULT | CONTENT | TYPE | TEXT
const IS_ERROR = 64
const RESULT_TYPE = 128

/** The result of a tool that is one text and nothing else. */
export class ShortTextResult implements RpcResult {
  readonly kind = 'result'
  /** UTF-8, valid or not, without a byte order mark at its beginning; at most 8 KiB. */
  readonly text: Uint8Array
  #result: Dict | undefined

  constructor(text: Uint8Array) {
    this.text = text
  }

  get result(): Dict {
    const { buffer, byteOffset, byteLength } = this.text
    this.#result ??= {
      content: [{ type: 'text', text: Buffer.from(buffer, byteOffset, byteLength).toString('utf8') }],
      isError: false,
    }
    return this.#result
  }
}

/** The response that is being looked at: one at a time, because none is waited for. */
let bytes: Uint8Array
let at = 0
let seen = 0
let idText = ''
let text: Uint8Array

/**
 * @param id of the request
 * @returns undefined when it is another response, or may be one
 */
export function shortTextResult(body: Uint8Array, id: RequestId): ShortTextResult | undefined {
  if (body.byteLength > MAX_BYTES) return undefined
  bytes = body
  at = 0
  seen = 0
  idText = typeof id === 'number' ? String(id) : JSON.stringify(id)
  if (!readObject(messageMember)) return undefined
  skipSpace()
  return at === body.byteLength && (seen & NEEDED) === NEEDED ? new ShortTextResult(text) : undefined
}

function messageMember(): boolean {
  if (isNext(RESULT_NAME)) return begins(RESULT) && readObject(resultMember)
  if (isNext(JSONRPC_NAME)) return begins(JSONRPC) && isNext(VERSION)
  return isNext(ID_NAME) && begins(ID) && isId()
}

function resultMember(): boolean {
  if (isNext(CONTENT_NAME)) return begins(CONTENT) && readContent()
  if (isNext(RESULT_TYPE_NAME)) return begins(RESULT_TYPE) && isNext(COMPLETE)
  return isNext(IS_ERROR_NAME) && begins(IS_ERROR) && isNext(FALSE)
}

function readContent(): boolean {
  if (bytes[at++] !== OPEN_ARRAY) return false
  if (!readObject(partMember)) return false
  skipSpace()
  return bytes[at++] === CLOSE_ARRAY
}

function partMember(): boolean {
  if (!isNext(TYPE_NAME)) return isNext(TEXT_NAME) && begins(TEXT) && readText()
  return begins(TYPE) && isNext(TEXT_NAME)
}

/** Not of an empty object, which has none of the members. */
function readObject(readMember: () => boolean): boolean {
  skipSpace()
  if (bytes[at++] !== OPEN_OBJECT) return false
  for (;;) {
    skipSpace()
    if (!readMember()) return false
    skipSpace()
    const next = bytes[at++]
    if (next === CLOSE_OBJECT) return true
    if (next !== COMMA) return false
  }
}

/** Behind the name of a member: that it is the first of that name, and the value follows. */
function begins(member: number): boolean {
  if ((seen & member) !== 0) return false
  seen |= member
  skipSpace()
  if (bytes[at++] !== COLON) return false
  skipSpace()
  return true
}

function skipSpace(): void {
  for (let byte = bytes[at]; byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09; )
    byte = bytes[++at]
}

function isNext(word: Uint8Array): boolean {
  for (let index = 0; index < word.length; index++) if (bytes[at + index] !== word[index]) return false
  at += word.length
  return true
}

/** Another way of writing the same id is left to the reader of JSON. */
function isId(): boolean {
  for (let index = 0; index < idText.length; index++)
    if (bytes[at + index] !== idText.charCodeAt(index)) return false
  at += idText.length
  return true
}

function readText(): boolean {
  if (bytes[at++] !== QUOTE) return false
  const from = at
  let escapes = 0
  for (; bytes[at] !== QUOTE; at++) {
    const byte = bytes[at]
    if (byte === undefined || byte < SPACE) return false
    if (byte !== BACKSLASH) continue
    // half a surrogate pair has no UTF-8
    if (UNESCAPED[bytes[++at]!] === 0 || at >= bytes.length) return false
    escapes++
  }
  const length = at++ - from - escapes
  text = escapes === 0 ? bytes.subarray(from, from + length) : unescapeText(from, length)
  return !(text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf)
}

function unescapeText(from: number, length: number): Uint8Array {
  const into = Buffer.allocUnsafe(length)
  for (let index = 0, source = from; index < length; index++, source++) {
    const byte = bytes[source]!
    into[index] = byte === BACKSLASH ? UNESCAPED[bytes[++source]!]! : byte
  }
  return into
}
