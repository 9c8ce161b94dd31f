/** Issues and opens the signed request states that a client carries from a question to the repeated call (MCP 2026-07-28). */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '../../../link/document.ts'
import type { ClientAnswers, Inquiry } from '../../pipeline/inquiry.ts'
import type { KeyRing } from '../../sessions/key-ring.ts'
import { ownerOf } from '../../sessions/owner.ts'

/** Time for a person to read; afterwards the question is put again. */
const VALID_MS = 10 * 60_000
/** Limit of the results carried; base64 adds a third. */
const MAX_CARRIED_BYTES = 64 * 1024

/** Content of a state beside its signature; readable by the client. */
export interface Carried {
  /** Names of the questions that were asked of this call; those of an MCP server begin with `server:`. */
  readonly asked: readonly string[]
  /** Results of earlier rounds. */
  readonly answers: ClientAnswers
}

/** The call a state is good for. */
type AskedCall = Pick<Inquiry, 'tool' | 'arguments' | 'principal'>

/** `<key id>.<expiry ms>.<carried>.<HMAC>` over caller, tool, the exact arguments and what is carried: good for this call by this caller and no other. */
export class InquiryStates {
  readonly #keys: KeyRing
  readonly #now: () => number

  constructor(keys: KeyRing, now: () => number) {
    this.#keys = keys
    this.#now = now
  }

  /** undefined when there is more to carry than a state holds. */
  issue(call: AskedCall, carried: Carried): string | undefined {
    const json = Buffer.from(JSON.stringify(carried))
    if (json.byteLength > MAX_CARRIED_BYTES) return undefined
    const key = this.#keys.current()
    const expiresAtMs = this.#now() + VALID_MS
    const text = json.toString('base64url')
    return `${key.id}.${expiresAtMs}.${text}.${sign(key.secret, expiresAtMs, call, text)}`
  }

  /** undefined when the state is not ours, not of this call, or too old. */
  open(state: string, call: AskedCall): Carried | undefined {
    if (state.length > 2 * MAX_CARRIED_BYTES) return undefined
    const match = /^(\d{1,3})\.(\d{1,16})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/.exec(state)
    if (match === null) return undefined
    const key = this.#keys.find(Number(match[1]))
    const expiresAtMs = Number(match[2])
    if (key === undefined || expiresAtMs < this.#now()) return undefined
    const expected = Buffer.from(sign(key.secret, expiresAtMs, call, match[3]!))
    if (!timingSafeEqual(expected, Buffer.from(match[4]!))) return undefined
    return JSON.parse(Buffer.from(match[3]!, 'base64url').toString()) as Carried
  }
}

function sign(
  secret: Uint8Array,
  expiresAtMs: number,
  { principal, tool, arguments: args }: AskedCall,
  carried: string,
): string {
  const digest = createHash('sha256').update(canonicalJson(args)).digest('base64url')
  return createHmac('sha256', secret)
    .update(JSON.stringify(['ask', expiresAtMs, ownerOf(principal), tool, digest, carried]))
    .digest('base64url')
}
