/** Turns a backend response into a tool result, or finds that its text is the whole result. */

import { isPlainUtf8 } from '../../../base/json/escapes.ts'
import { EXACT_COST_FACTOR, lookingForExact, readJson } from '../../../base/json/exact-number.ts'
import { readLongJson } from '../../../base/json/read-long-json.ts'
import { parseCost } from '../../../base/parse-cost.ts'
import type { Content, ToolResult } from '../../../model/tool.ts'
import type { EgressResponse } from '../../../net/egress/egress.ts'
import { MAX_TEXT_BYTES } from '../../pipeline/text-reply.ts'
import { boundaryOf, type ResponsePart, splitParts } from './multipart-response.ts'
import { responseNotes } from './response-notes.ts'

/** Nanoseconds of the bound; the values are written once more in the response. */
const MAX_PARSE_NS = 6_000_000
/** For structured content: parsing a longer text takes too long even if it is a single value. */
const MAX_STRUCTURED_BYTES = 2 * 1024 * 1024
/**
 * Piece bytes of a body, decoded or encoded at once; a multiple of three, so that pieces of base64 follow each other without padding. V8 does not
 * copy strings above 128 KiB when it collects garbage, and all pieces are held until they are joined.
 */
const PIECE_BYTES = 132 * 1024
const TOO_COSTLY = Symbol('too many values')
const TOO_COSTLY_TEXT: Content = {
  type: 'text',
  text: 'This tool declares structured content, but the response is too long or has too many values to be returned as structured content. Request fewer items. The response follows as text.',
}

type Decoder = InstanceType<typeof TextDecoder>

const UTF8 = new TextDecoder('utf-8')
/** For what is not the beginning of a text. */
const UTF8_WITHIN = new TextDecoder('utf-8', { ignoreBOM: true })
/** By what `charset` says (RFC 9110 §8.3.2); at most the labels of the Encoding standard. */
const decoders = new Map<string, Decoder>()

/** UTF-8 without a charset, and for an unknown one. */
function decoderOf(contentType: string): Decoder {
  const label = /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i.exec(contentType)?.[1]?.toLowerCase()
  if (label === undefined) return UTF8
  const known = decoders.get(label)
  if (known !== undefined) return known
  try {
    const named = new TextDecoder(label)
    const decoder = named.encoding === UTF8.encoding ? UTF8 : named
    decoders.set(label, decoder)
    return decoder
  } catch {
    return UTF8
  }
}

/**
 * 2xx becomes content, with `isError` if structured content is declared and too costly. Any other status becomes a result with `isError`: the
 * status, with the text of the body, the title of an HTML page, or size and type of other content. It may be interrupted within a large body.
 * @param structured the tool declares an outputSchema: JSON also goes into `structuredContent`.
 */
export function* makingResult(response: EgressResponse, structured: boolean): Generator<void, ToolResult> {
  const ok = response.status >= 200 && response.status < 300
  const contentType = response.headers.get('content-type')
  const type =
    contentType === 'application/json' ? contentType : contentType.split(';')[0]!.trim().toLowerCase()
  const decoder = type === contentType ? UTF8 : decoderOf(contentType)
  const parts = ok ? partsOf(type, contentType, response.body) : undefined
  const inSteps = response.body.byteLength > PIECE_BYTES || (decoder !== UTF8 && isText(type))
  const large =
    inSteps && parts === undefined && (ok || isText(type))
      ? yield* inPieces(type, response.body, decoder)
      : undefined
  if (!ok) {
    const body = isText(type)
      ? (large ?? UTF8.decode(response.body))
      : `(${response.body.byteLength} bytes of ${type || 'unknown type'})`
    // a large body is not searched for blanks
    const text =
      isText(type) && isHtmlPage(type, body)
        ? htmlSentence(response.status, titleOf(body))
        : body.length < PIECE_BYTES && body.trim() === ''
          ? `The backend responded with status ${response.status}.`
          : `The backend responded with status ${response.status}: ${body}`
    return noteStatus(response, { content: [{ type: 'text', text }], isError: true })
  }
  if (response.body.byteLength === 0)
    return noteStatus(response, {
      content: [{ type: 'text', text: `Done (status ${response.status}, no content).` }],
      isError: false,
    })
  const content = parts === undefined ? [contentOf(type, response.body, large)] : yield* contentOfParts(parts)
  if (!structured || !isJson(type)) return noteStatus(response, { content, isError: false })
  yield
  const value = yield* structuredOf(response.body, content[0] as { readonly text: string })
  yield
  // a result without the content that its outputSchema announces would be invalid (MCP, tools, "Structured Content")
  if (value === TOO_COSTLY)
    return noteStatus(response, { content: [TOO_COSTLY_TEXT, ...content], isError: true })
  return noteStatus(
    response,
    value === undefined ? { content, isError: false } : { content, isError: false, structuredContent: value },
  )
}

/**
 * The text that is the whole result of a response: of 2xx without anything to add. undefined: `makingResult` reads it.
 * @param long also of a long body, because nothing reads it before it is sent
 */
export function plainText({ status, headers, body }: EgressResponse, long: boolean): Uint8Array | undefined {
  if (status < 200 || status >= 300 || body.byteLength === 0) return undefined
  if (!long && body.byteLength > MAX_TEXT_BYTES) return undefined
  const type = headers.get('content-type')
  if (type !== 'application/json' && !PLAIN_TYPE.test(type)) return undefined
  if (responseNotes(status, headers) !== undefined) return undefined
  return long && !isPlainUtf8(body) ? undefined : body
}

/** Types of texts in UTF-8 alone; others go the longer way. */
const PLAIN_TYPE = /^(?:application\/json|text\/plain)(?:; ?charset=utf-8)?$/i

/** With what the header fields of the response say. */
function noteStatus({ status, headers }: EgressResponse, result: ToolResult): ToolResult {
  const notes = responseNotes(status, headers)
  if (notes === undefined) return result
  const sentences = notes.sentences.map((text): Content => ({ type: 'text', text }))
  return { ...result, content: [...result.content, ...sentences], _meta: notes.meta }
}

function htmlSentence(status: number, title: string): string {
  const titled = title === '' ? 'an HTML page without a title' : `an HTML page titled "${title}"`
  return `The backend responded with status ${status} and ${titled}.`
}

function isJson(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json')
}

function isText(type: string): boolean {
  return (
    type === '' ||
    type.startsWith('text/') ||
    isJson(type) ||
    type.endsWith('+xml') ||
    TEXT_APPLICATIONS.has(type)
  )
}

const TEXT_APPLICATIONS = new Set([
  'application/xml',
  'application/x-ndjson',
  'application/jsonl',
  'application/yaml',
  'application/x-yaml',
  'application/javascript',
  'application/x-www-form-urlencoded',
  'application/graphql',
])

/** @param large the text or base64 of a body that was read in pieces */
function contentOf(type: string, body: Uint8Array, large: string | undefined): Content {
  if (isText(type)) return { type: 'text', text: large ?? UTF8.decode(body) }
  const data = large ?? base64(body)
  if (type.startsWith('image/')) return { type: 'image', data, mimeType: type }
  if (type.startsWith('audio/')) return { type: 'audio', data, mimeType: type }
  return { type: 'resource', resource: { uri: 'toolgate:answer', mimeType: type, blob: data } }
}

/** The types whose parts stand beside each other; those of `multipart/alternative` say the same thing again. */
function partsOf(type: string, contentType: string, body: Uint8Array): readonly ResponsePart[] | undefined {
  if (type !== 'multipart/mixed' && type !== 'multipart/related') return undefined
  const boundary = boundaryOf(contentType)
  const parts = boundary === undefined ? undefined : splitParts(body, boundary)
  return parts?.length === 0 ? undefined : parts
}

function* contentOfParts(parts: readonly ResponsePart[]): Generator<void, Content[]> {
  const content: Content[] = []
  for (const part of parts) {
    const { type, body } = part
    content.push(
      contentOfPart(part, body.byteLength > PIECE_BYTES ? yield* inPieces(type, body, UTF8) : undefined),
    )
  }
  return content
}

/** A part that says which URI it is a copy of is a resource; it may be a text one. */
function contentOfPart({ type, location, body }: ResponsePart, large: string | undefined): Content {
  if (location === '') return contentOf(type, body, large)
  const resource = { uri: location, mimeType: type }
  return isText(type)
    ? { type: 'resource', resource: { ...resource, text: large ?? UTF8.decode(body) } }
    : { type: 'resource', resource: { ...resource, blob: large ?? base64(body) } }
}

/** The text or base64 of a large body, or one in another charset; a small one needs no generator. */
function inPieces(type: string, body: Uint8Array, decoder: Decoder): Generator<void, string> {
  return isText(type) ? decodedInPieces(body, decoder) : base64InPieces(body)
}

function* decodedInPieces(body: Uint8Array, decoder: Decoder): Generator<void, string> {
  // a decoder that stands between two pieces belongs to one text; and Node 20 reads windows-1252 as ISO 8859-1 where it does not stream
  const streaming = decoder === UTF8 ? undefined : new TextDecoder(decoder.encoding)
  const pieces: string[] = []
  for (let from = 0; from < body.byteLength; yield) {
    const to = streaming === undefined ? endOfCharacters(body, from + PIECE_BYTES) : from + PIECE_BYTES
    const piece = body.subarray(from, to)
    pieces.push(streaming?.decode(piece, { stream: true }) ?? (from === 0 ? UTF8 : UTF8_WITHIN).decode(piece))
    from = to
  }
  if (streaming !== undefined) pieces.push(streaming.decode())
  // joined as a step of this work: the first reader of a sum of texts would join them in its turn
  return pieces.join('')
}

/** Before the character that the end would divide: a sequence of UTF-8 has at most three bytes after the first. */
function endOfCharacters(body: Uint8Array, end: number): number {
  if (end >= body.byteLength) return body.byteLength
  for (let at = end; at > end - 4; at--) if ((body[at]! & 0xc0) !== 0x80) return at
  return end
}

function base64(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64')
}

function* base64InPieces(body: Uint8Array): Generator<void, string> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const pieces: string[] = []
  for (let from = 0; from < bytes.length; from += PIECE_BYTES, yield)
    pieces.push(bytes.toString('base64', from, Math.min(bytes.length, from + PIECE_BYTES)))
  return pieces.join('')
}

/** Bytes; a longer body is read in steps. */
const MAX_READ_AT_ONCE = 32 * 1024

/** @param content holds the text of the body. */
function* structuredOf(body: Uint8Array, { text }: { readonly text: string }): Generator<void, unknown> {
  if (body.byteLength > MAX_STRUCTURED_BYTES) return TOO_COSTLY
  const costNs = parseCost(body, MAX_PARSE_NS)
  if (costNs > MAX_PARSE_NS) return TOO_COSTLY
  if (costNs * EXACT_COST_FACTOR > MAX_PARSE_NS && (yield* lookingForExact(text))) return TOO_COSTLY
  try {
    if (body.byteLength <= MAX_READ_AT_ONCE) return readJson(text)
    const { value } = yield* readLongJson(text)
    return value
  } catch {
    return undefined
  }
}

const MAX_TITLE_CHARS = 200
/** Titles are in the head of a page. */
const MAX_SEARCHED_CHARS = 16_384

function isHtmlPage(type: string, text: string): boolean {
  return (
    type === 'text/html' ||
    type === 'application/xhtml+xml' ||
    /^\s{0,1000}<(?:!doctype html|html)\b/i.test(text)
  )
}

/** The title of a page, or its first heading; '' without either. */
function titleOf(page: string): string {
  const start = page.slice(0, MAX_SEARCHED_CHARS)
  for (const name of ['title', 'h1']) {
    const opened = new RegExp(`<${name}\\b[^>]{0,200}>`, 'i').exec(start)
    if (opened === null) continue
    const text = start.slice(opened.index + opened[0].length)
    const end = text.search(new RegExp(`</${name}\\b`, 'i'))
    const title = (end < 0 ? '' : text.slice(0, end))
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' ')
      .trim()
    if (title !== '') return title.slice(0, MAX_TITLE_CHARS)
  }
  return ''
}
