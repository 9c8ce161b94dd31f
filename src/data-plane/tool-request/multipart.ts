/** Builds a multipart body and its boundary from the fields of a form. */
import { createHash } from 'node:crypto'
import { isObject } from '../../base/json/is-object.ts'
import type { BodyBinding } from '../../model/tool.ts'
import { wireText } from './encode.ts'

type Encoding = NonNullable<BodyBinding['encoding']>

interface Part {
  readonly head: string
  readonly content: Buffer
}

/** The body and the boundary that separates its parts; the same fields make the same bytes. */
export function* multipartBody(
  fields: readonly (readonly [string, unknown])[],
  encoding: Encoding,
): Generator<void, { readonly body: Uint8Array; readonly boundary: string }> {
  const parts: Part[] = []
  for (const [name, value] of fields) {
    if (value === undefined || value === null) continue
    const rule = Object.hasOwn(encoding, name) ? encoding[name]! : {}
    // An array is one part for each item (OpenAPI 3.1 §4.8.14.5).
    for (const item of Array.isArray(value) ? value : [value]) {
      parts.push(partOf(name, item, rule))
      yield
    }
  }
  const boundary = yield* boundaryFor(parts)
  const chunks: Buffer[] = []
  for (const part of parts) {
    chunks.push(Buffer.from(`--${boundary}\r\n${part.head}\r\n\r\n`), part.content, Buffer.from('\r\n'))
    yield
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`))
  return { body: Buffer.concat(chunks), boundary }
}

function partOf(name: string, value: unknown, rule: Encoding[string]): Part {
  const field = quote(name)
  if (rule.binary === true && typeof value === 'string') {
    return {
      head: head(
        `form-data; name="${field}"; filename="${field}"`,
        rule.contentType ?? 'application/octet-stream',
      ),
      content: Buffer.from(value, 'base64'),
    }
  }
  const structured = isObject(value) || Array.isArray(value)
  const type = rule.contentType ?? (structured ? 'application/json' : 'text/plain')
  const text = wireText(value)
  return { head: head(`form-data; name="${field}"`, withCharset(type, text)), content: Buffer.from(text) }
}

/** Without it, a text type other than `text/plain` is ASCII to some readers (RFC 2046 §4.1.2); `text/plain` is UTF-8 (RFC 7578 §5.1.2). */
function withCharset(type: string, text: string): string {
  return /^text\/(?!plain$)/.test(type) && !/^[\x00-\x7f]*$/.test(text) ? `${type}; charset=utf-8` : type
}

function head(disposition: string, contentType: string): string {
  const typed = contentType === 'text/plain' ? '' : `\r\nContent-Type: ${contentType}`
  return `Content-Disposition: ${disposition}${typed}`
}

/** The escapes browsers use (WHATWG HTML, "multipart/form-data encoding algorithm"). */
function quote(name: string): string {
  return name.replace(/["\r\n]/g, character =>
    character === '"' ? '%22' : character === '\r' ? '%0D' : '%0A',
  )
}

/** Made from the content, and made again while the content happens to hold it. */
function* boundaryFor(parts: readonly Part[]): Generator<void, string> {
  const hash = createHash('sha256')
  for (const part of parts) {
    hash.update(part.head).update(part.content)
    yield
  }
  let seed = hash.digest('hex').slice(0, 32)
  while (yield* holds(parts, seed)) seed = createHash('sha256').update(seed).digest('hex').slice(0, 32)
  return `----toolgate${seed}`
}

function* holds(parts: readonly Part[], text: string): Generator<void, boolean> {
  for (const part of parts) {
    if (part.content.includes(text)) return true
    yield
  }
  return false
}
