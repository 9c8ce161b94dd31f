/**
 * The head of a response, checked and rendered: no header may carry a line break or affect framing. It
 * sends nothing.
 */
import { STATUS_CODES } from 'node:http'
import { codeAt } from '../../model/code-at.ts'
import type { HeaderList } from './listener.ts'

/** What the listener alone decides; a handler that names one would frame the response a second time. */
const OURS = new Set(['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'date'])
const NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/

/**
 * Names that were found valid; responses use a few dozen, and the bound keeps a proxied backend from
 * filling it.
 */
const knownNames = new Set<string>()
const MAX_KNOWN_NAMES = 512

/** `200 OK`, by status. */
const statusLines: readonly string[] = Array.from(
  { length: 600 },
  (_, status) => `${status} ${STATUS_CODES[status] ?? 'Unknown'}`,
)

/** Statuses without body and Content-Length (RFC 9110 §6.4.1, §8.6). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

/**
 * True when a value goes beyond ASCII.
 * @throws Error naming the header that must not be sent.
 */
export function checkHeaders(headers: HeaderList): boolean {
  let isBeyondAscii = false
  for (let at = 0; at < headers.length; at += 2) {
    if (checkHeader(headers[at]!, headers[at + 1])) isBeyondAscii = true
  }
  return isBeyondAscii
}

/**
 * `200 OK\r\nname: value\r\nname: value`, without a last line break; as bytes when a value goes beyond ASCII,
 * because strings cross into uWS as UTF-8 and header values are ISO 8859-1. One string handed over at once
 * costs 0.05 µs where six header calls cost 0.6.
 * @param ownLines lines of the listener itself, each beginning with a line break.
 * @throws Error naming the header that must not be sent.
 */
export function renderHead(status: number, headers: HeaderList, ownLines = ''): string | Uint8Array {
  let head = statusLine(status)
  let isAscii = true
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!
    const value = headers[at + 1]
    if (checkHeader(name, value)) isAscii = false
    head += `\r\n${name}: ${value}`
  }
  head += ownLines
  return isAscii ? head : Buffer.from(head, 'latin1')
}

/** @throws Error when the status is not a final one. */
export function statusLine(status: number): string {
  const line = statusLines[status]
  if (line === undefined || status < 200) throw new Error(`status ${status} cannot be sent; use 200 to 599`)
  return line
}

/** True when the value goes beyond ASCII. */
function checkHeader(name: string, value: string | undefined): boolean {
  if (!knownNames.has(name)) {
    if (OURS.has(name))
      throw new Error(`header "${name}" is set by the listener; remove it from the response`)
    if (!NAME.test(name)) throw new Error(`header name ${JSON.stringify(name)} is not a lower-case token`)
    if (knownNames.size < MAX_KNOWN_NAMES) knownNames.add(name)
  }
  if (value === undefined)
    throw new Error(`header "${name}" has no value; the list is name, value, name, value`)
  let isBeyondAscii = false
  for (let at = 0, { length } = value; at < length; at++) {
    const code = codeAt(value, at)
    if (code > 0x1f && code < 0x7f) continue
    if (code < 0x80 ? code !== TAB : code > 0xff) {
      throw new Error(
        `header "${name}" has a line break, control character or non-Latin character in its value; encode it`,
      )
    }
    if (code !== TAB) isBeyondAscii = true
  }
  return isBeyondAscii
}

const TAB = 0x09

/** Two pieces of a body as one. */
export function joined(start: string | Uint8Array, rest: Uint8Array): Uint8Array {
  return Buffer.concat([typeof start === 'string' ? Buffer.from(start) : start, rest])
}
