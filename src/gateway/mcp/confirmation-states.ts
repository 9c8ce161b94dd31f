/** Request states of confirmations in the modern era: what a client carries from the question to the repeated call. Hostile input, so signed. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Confirmation } from '../../pipeline/exchange.ts'
import type { KeyRing } from '../../sessions/key-ring.ts'
import { canonicalJson } from '../../snapshot/document.ts'

/** A person needs time to read; an answer after it has to be asked for again. */
const VALID_MS = 10 * 60_000

/** `<key id>.<expiry ms>.<HMAC>` over owner, tool and the exact arguments: good for this call by this caller and no other. */
export class ConfirmationStates {
  readonly #keys: KeyRing
  readonly #now: () => number

  constructor(keys: KeyRing, now: () => number) {
    this.#keys = keys
    this.#now = now
  }

  issue(owner: string, confirmation: Confirmation): string {
    const key = this.#keys.current()
    const expiresAtMs = this.#now() + VALID_MS
    return `${key.id}.${expiresAtMs}.${sign(key.secret, expiresAtMs, owner, confirmation)}`
  }

  accepts(state: string, owner: string, confirmation: Confirmation): boolean {
    const match = /^(\d{1,3})\.(\d{1,16})\.([A-Za-z0-9_-]{43})$/.exec(state)
    if (match === null) return false
    const key = this.#keys.find(Number(match[1]))
    const expiresAtMs = Number(match[2])
    if (key === undefined || expiresAtMs < this.#now()) return false
    const expected = Buffer.from(sign(key.secret, expiresAtMs, owner, confirmation))
    return timingSafeEqual(expected, Buffer.from(match[3]!))
  }
}

function sign(
  secret: Uint8Array,
  expiresAtMs: number,
  owner: string,
  { tool, arguments: args }: Confirmation,
): string {
  const digest = createHash('sha256').update(canonicalJson(args)).digest('base64url')
  return createHmac('sha256', secret)
    .update(JSON.stringify(['confirm', expiresAtMs, owner, tool, digest]))
    .digest('base64url')
}
