/** Takes a compact JWS apart and checks its header. */
import { decodeProtectedHeader } from 'jose'
import { type Refusal, refuse } from '../model/refusal.ts'
import { type Algorithm, isAlgorithm } from './algorithms.ts'

export interface TokenParts {
  readonly algorithm: Algorithm
  readonly kid: string | undefined
  /** What the signature covers: header and payload as sent. */
  readonly signed: Uint8Array
  readonly payload: Uint8Array
  readonly signature: Uint8Array
}

/** As long as all headers of a request may be. */
const MAX_TOKEN_CHARS = 16 * 1024
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/
/** RFC 9068 §2.1 and the common `JWT`; logout, DPoP and event tokens of the same provider are not access tokens (RFC 8725 §3.11). */
const ACCESS_TOKEN_TYPES = new Set(['jwt', 'at+jwt', 'application/at+jwt'])

const MALFORMED = refuse('token_malformed')

interface Header {
  readonly algorithm: Algorithm
  readonly kid: string | undefined
}

/** All tokens of one key have the same header: the few in use are read once. Only good ones of common length are kept. */
const HEADERS_CACHED = 64
const HEADER_CHARS = 256
const headers = new Map<string, Header>()

/**
 * RFC 7515 §5.2, steps 1 to 7. Header fields that bring a key along (`jwk`, `jku`, `x5c`, `x5u`) are not looked at:
 * keys come from the provider alone. Any `crit` is refused, because no extension is understood.
 */
export function takeApart(token: string): TokenParts | Refusal {
  if (token.length > MAX_TOKEN_CHARS || !COMPACT_JWS.test(token)) return MALFORMED
  const start = token.indexOf('.')
  const end = token.lastIndexOf('.')
  const header = headers.get(token.slice(0, start)) ?? readHeader(token, start)
  if ('kind' in header) return header
  const signatureText = token.slice(end + 1)
  const signature = Buffer.from(signatureText, 'base64url')
  if (!isCanonical(signatureText)) return MALFORMED
  return {
    algorithm: header.algorithm,
    kid: header.kid,
    signed: Buffer.from(token.slice(0, end), 'latin1'),
    payload: Buffer.from(token.slice(start + 1, end), 'base64url'),
    signature,
  }
}

/** RFC 4648 §5 digits. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** By the number of characters beyond whole groups of four: unused bits of the last one. A single character is not a byte. */
const UNUSED_BITS = [0, -1, 0b1111, 0b11] as const

/** Unused bits that are set would let one signature be spelled in several ways (RFC 4648 §3.5). @param text of base64url digits only */
function isCanonical(text: string): boolean {
  const unused = UNUSED_BITS[text.length % 4]!
  return unused === 0 || (unused > 0 && (DIGITS.indexOf(text.at(-1)!) & unused) === 0)
}

function readHeader(token: string, start: number): Header | Refusal {
  let fields: Readonly<Record<string, unknown>>
  try {
    fields = decodeProtectedHeader(token) as Readonly<Record<string, unknown>>
  } catch {
    return MALFORMED
  }
  const { alg, kid, typ } = fields
  if (typeof alg !== 'string') return MALFORMED
  if (!isAlgorithm(alg)) return refuse('token_algorithm')
  if ('crit' in fields || 'b64' in fields) return MALFORMED
  if (kid !== undefined && typeof kid !== 'string') return MALFORMED
  if (typ !== undefined && !(typeof typ === 'string' && ACCESS_TOKEN_TYPES.has(typ.toLowerCase())))
    return MALFORMED
  const header = { algorithm: alg, kid }
  if (start <= HEADER_CHARS) {
    // Any client can send headers, so a full table is cleared instead of growing.
    if (headers.size >= HEADERS_CACHED) headers.clear()
    headers.set(Buffer.from(token.slice(0, start), 'latin1').toString('latin1'), header)
  }
  return header
}
