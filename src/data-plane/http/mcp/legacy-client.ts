/** The client of a session (up to MCP 2025-11-25): its capabilities, and questions to it during a call. `elicitation-results.ts` judges its responses. */

import { randomBytes } from 'node:crypto'
import type { Cancellation } from '../../../base/cancellation.ts'
import { hasFeature, type ProtocolVersion } from '../../../mcp/versions.ts'
import type { ClientSide, Inquiry, InquiryOutcome, Question } from '../../pipeline/inquiry.ts'
import type { Session } from '../../sessions/session-store.ts'
import { verdictOn } from './elicitation-results.ts'
import type { InFlight } from './in-flight.ts'

/** Afterwards the question counts as declined. */
const RESPONSE_WITHIN_MS = 2 * 60_000
/** Elicitation came with this version; the others are as old as MCP. */

const NAMES = ['elicitation', 'sampling', 'roots']
/** All there can be, by bits in the order of the names. */
const CAPABILITIES: readonly ReadonlySet<string>[] = Array.from(
  { length: 8 },
  (_, bits) => new Set(NAMES.filter((_name, at) => (bits & (1 << at)) !== 0)),
)

/** What the client declared, of what may be asked. */
export function capabilitiesOf(session: Session, version: ProtocolVersion): ReadonlySet<string> {
  const { elicitation, sampling = false, roots = false } = session
  const mayElicit = elicitation && hasFeature(version, 'elicitation')
  return CAPABILITIES[(mayElicit ? 1 : 0) | (sampling ? 2 : 0) | (roots ? 4 : 0)]!
}

export class LegacyClient implements ClientSide {
  readonly capabilities: ReadonlySet<string>
  readonly respondsDuringCall = true
  readonly #inFlight: InFlight
  readonly #session: Session
  readonly #send: (json: string) => void
  readonly #cancellation: Cancellation

  /**
   * @param send puts a message on a stream the client reads
   * @param cancellation of the call; it also ends the question
   */
  constructor(
    inFlight: InFlight,
    session: Session,
    capabilities: ReadonlySet<string>,
    send: (json: string) => void,
    cancellation: Cancellation,
  ) {
    this.#inFlight = inFlight
    this.#session = session
    this.capabilities = capabilities
    this.#send = send
    this.#cancellation = cancellation
  }

  /** The call itself waits, so the response belongs to it. */
  async ask({ questions }: Inquiry): Promise<InquiryOutcome> {
    const asked = Object.entries(questions)
    const answers = await Promise.all(asked.map(([, question]) => this.#put(question)))
    const good = asked.every(([, question], at) => verdictOn(question, answers[at]) === 'accepted')
    return good ? Object.fromEntries(asked.map(([name], at) => [name, answers[at]])) : 'declined'
  }

  /** @returns undefined when the client sent an error, did not respond in time, or cancelled the call */
  #put(question: Question): Promise<unknown> {
    if (this.#cancellation.cancelled) return Promise.resolve(undefined)
    const id = `ask-${randomBytes(9).toString('base64url')}`
    return new Promise(resolve => {
      const settle = (response: unknown): void => {
        clearTimeout(timer)
        stop()
        stay()
        resolve(response)
      }
      const timer = setTimeout(() => settle(undefined), RESPONSE_WITHIN_MS).unref()
      const stop = this.#inFlight.ask(this.#session.id, id, message =>
        settle((message as { result?: unknown }).result),
      )
      const stay = this.#cancellation.onCancel(() => settle(undefined))
      this.#send(JSON.stringify({ jsonrpc: '2.0', id, ...question }))
    })
  }
}
