/** Path normalization in plain JavaScript, by the rules of assembly/path.ts. It uses other methods on purpose, as their oracle. */
import {
  MAX_PATH_BYTES,
  PATH_BACKSLASH,
  PATH_BAD_CHARACTER,
  PATH_BAD_ESCAPE,
  PATH_CONTROL,
  PATH_ENCODED_SLASH,
  PATH_INVALID_UTF8,
  PATH_NOT_ABSOLUTE,
  PATH_NOT_ASCII,
  PATH_NUL,
  PATH_TOO_LONG,
} from '../../../src/data-plane/kernel/abi.ts'

/** Why a path was refused, and the index of the character that did it. */
export interface PathRefusal {
  readonly status: number
  readonly at: number
}

/** Canonical as it stands: path characters only (RFC 3986 §3.3), no empty and no dot segment. */
const CLEAN = /^\/(?:(?!\.{0,2}(?:\/|$))[\w\-.~!$&'()*+,;=:@]+(?:\/|$))*$/
const PLAIN = /[\w\-.~!$&'()*+,;=:@/]/
const ESCAPE = /%[0-9A-Fa-f]{2}/y
const UNRESERVED = /[A-Za-z0-9\-._~]/

/** @returns the canonical path, or why there is none. */
export function normalizePath(path: string): string | PathRefusal {
  if (path.length > MAX_PATH_BYTES) return { status: PATH_TOO_LONG, at: MAX_PATH_BYTES }
  if (path.charCodeAt(0) !== 0x2f) return { status: PATH_NOT_ABSOLUTE, at: 0 }
  if (CLEAN.test(path)) return path
  let text = ''
  for (let at = 0; at < path.length; ) {
    const piece = pieceAt(path, at)
    if (typeof piece === 'number') return { status: piece, at }
    text += piece.text
    at += piece.size
  }
  return withoutDotSegments(text)
}

/** Canonical spelling of what stands at an index, and how many characters it takes; or a status. */
function pieceAt(path: string, at: number): { text: string; size: number } | number {
  const character = path.charAt(at)
  if (PLAIN.test(character)) return { text: character, size: 1 }
  if (character !== '%') {
    const code = character.charCodeAt(0)
    if (code > 0x7f) return PATH_NOT_ASCII
    if (' ?#'.includes(character)) return PATH_BAD_CHARACTER
    return spelled(character, 1)
  }
  ESCAPE.lastIndex = at
  if (!ESCAPE.test(path)) return PATH_BAD_ESCAPE
  const lead = Number.parseInt(path.slice(at + 1, at + 3), 16)
  if (lead < 0x80) return spelled(String.fromCharCode(lead), 3)
  const size = 3 * (lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4)
  const sequence = path.slice(at, at + size)
  try {
    const decoded = decodeURIComponent(sequence)
    if (decoded.charCodeAt(0) < 0xa0) return PATH_CONTROL
    return { text: sequence.toUpperCase(), size }
  } catch {
    return PATH_INVALID_UTF8
  }
}

function spelled(character: string, size: number): { text: string; size: number } | number {
  const code = character.charCodeAt(0)
  if (code === 0) return PATH_NUL
  if (code < 0x20 || code === 0x7f) return PATH_CONTROL
  if (character === '/') return PATH_ENCODED_SLASH
  if (character === '\\') return PATH_BACKSLASH
  if (UNRESERVED.test(character)) return { text: character, size }
  return { text: `%${code.toString(16).toUpperCase().padStart(2, '0')}`, size }
}

function withoutDotSegments(text: string): string {
  const segments = text.slice(1).split('/')
  const kept: string[] = []
  for (const segment of segments) {
    if (segment === '..') kept.pop()
    else if (segment !== '.' && segment !== '') kept.push(segment)
  }
  const last = segments.at(-1)!
  const open = last === '' || last === '.' || last === '..'
  return `/${kept.join('/')}${open && kept.length > 0 ? '/' : ''}`
}
