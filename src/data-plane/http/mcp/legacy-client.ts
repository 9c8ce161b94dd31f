/** The client of a legacy session: questions are requests on a stream it reads, answers are posted (MCP 2025-06-18, elicitation). */
import { randomBytes } from 'node:crypto'
import type { Cancellation } from '../../../shared/call/cancellation.ts'
import type { ClientSide, Inquiry, InquiryOutcome, Question } from '../../pipeline/inquiry.ts'
import type { Session } from '../../sessions/session-store.ts'
import { verdictOn } from './elicitation-results.ts'
import type { InFlight } from './in-flight.ts'

/** Nobody answered: as good as a no. */
const RESPONSE_WITHIN_MS = 2 * 60_000
/** A session remembers no other capability. */
const CAPABILITIES: ReadonlySet<string> = new Set(['elicitation'])

export class LegacyClient implements ClientSide {
  readonly capabilities = CAPABILITIES
  readonly #inFlight: InFlight
  readonly #session: Session
  readonly #send: (json: string) => void
  readonly #cancellation: Cancellation

  /**
   * @param send puts a message on a stream the client reads
   * @param cancellation of the call: nobody waits for the answer to a question of a call that was taken back
   */
  constructor(
    inFlight: InFlight,
    session: Session,
    send: (json: string) => void,
    cancellation: Cancellation,
  ) {
    this.#inFlight = inFlight
    this.#session = session
    this.#send = send
    this.#cancellation = cancellation
  }

  /** The call itself waits, so whatever is answered belongs to it. */
  async ask({ questions }: Inquiry): Promise<InquiryOutcome> {
    const asked = Object.entries(questions)
    const answers = await Promise.all(asked.map(([, question]) => this.#put(question)))
    const good = asked.every(([, question], at) => verdictOn(question, answers[at]) === 'accepted')
    return good ? Object.fromEntries(asked.map(([name], at) => [name, answers[at]])) : 'declined'
  }

  /** @returns undefined when the client answered with an error or not in time, or took the call back */
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
