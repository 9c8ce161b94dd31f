/** The text of an API key, `tgk_<8 public>_<32 secret>`: making, reading, digesting and comparing it. */
import { hash, randomInt } from 'node:crypto'
import type { KeyDigest } from '../model/api-key.ts'

/** Length of the part people may see: `tgk_` and 8 characters. */
const PREFIX_CHARS = 12
export const SECRET_CHARS = 32
const KEY_CHARS = PREFIX_CHARS + 1 + SECRET_CHARS
const SHAPE = /^tgk_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The public prefix of a key, or undefined when the text has not the shape of one. */
export function prefixOf(key: string): string | undefined {
  return key.length === KEY_CHARS && SHAPE.test(key) ? key.slice(0, PREFIX_CHARS) : undefined
}

/** SHA-256 of the whole key, hex. A slow hash is for passwords: 32 random characters (190 bits) cannot be guessed. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'hex')
}

/** Compares texts of one length to the last character, also after a difference, so that the time taken reveals nothing about a secret. */
export function sameText(shown: string, known: string): boolean {
  if (shown.length !== known.length) return false
  let difference = 0
  for (let at = 0; at < known.length; at++) difference |= shown.charCodeAt(at) ^ known.charCodeAt(at)
  return difference === 0
}

/** A new key and what may be stored of it. The key itself is shown once and kept nowhere. */
export function generateApiKey(): { readonly key: string; readonly digest: KeyDigest } {
  const prefix = `tgk_${randomText(8)}`
  const key = `${prefix}_${randomText(SECRET_CHARS)}`
  return { key, digest: { prefix, hash: digestOf(key) } }
}

function randomText(length: number): string {
  let text = ''
  for (let at = 0; at < length; at++) text += ALPHABET[randomInt(ALPHABET.length)]
  return text
}
