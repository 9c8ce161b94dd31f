/** The client of a stateless request (MCP 2026-07-28): the result carries questions, the repeated call their results. */
import { withDoubles } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import type { ClientAnswers, ClientSide, Inquiry, InquiryOutcome } from '../../pipeline/inquiry.ts'
import { verdictOn } from './elicitation-results.ts'
import type { Carried, InquiryStates } from './inquiry-states.ts'
import type { RpcRequest } from './message.ts'

/** Response to a pending call. A state that was not issued for this call, or is too old, is an error; the questions are not put again. */
export type PendingInput =
  | { readonly inputRequests: object; readonly requestState: string }
  | 'state_rejected'

const NOTHING: Carried = { asked: [], answers: {} }
/** Between asker and name; names do not contain it. */
const APART = ':'

export class ModernClient implements ClientSide {
  readonly respondsDuringCall = false
  readonly #declared: object
  #capabilities: ReadonlySet<string> | undefined
  readonly #states: InquiryStates
  readonly #request: RpcRequest
  /**
   * Results of earlier rounds and of this request, also of questions that a later stage will put again; undefined before the first
   * inquiry.
   */
  #answers: Map<string, unknown> | undefined
  #pending: PendingInput | undefined

  constructor(states: InquiryStates, request: RpcRequest, declared: object) {
    this.#states = states
    this.#request = request
    this.#declared = declared
  }

  /** Made when it is read: most calls ask nothing. */
  get capabilities(): ReadonlySet<string> {
    this.#capabilities ??= capabilitiesOf(this.#declared)
    return this.#capabilities
  }

  /**
   * A result counts for the part that asked. One sent unasked counts for the policy, but not where the question must have been put for
   * this very call (`bound`).
   */
  ask(inquiry: Inquiry): InquiryOutcome {
    const carried = this.#carried(inquiry)
    if (carried === undefined) {
      this.#pending = 'state_rejected'
      return 'pending'
    }
    const given = this.#request.params.inputResponses
    const responses = isObject(given) ? (withDoubles(given) as ClientAnswers) : {}
    this.#answers ??= new Map([
      ...Object.entries(carried.answers),
      ...carried.asked.flatMap(key => {
        const response = own(responses, nameOf(key))
        return response === undefined ? [] : [[key, response] as const]
      }),
    ])
    const answers: Record<string, unknown> = {}
    const open: Record<string, object> = {}
    for (const [name, question] of Object.entries(inquiry.questions)) {
      const key = keyOf(inquiry, name)
      const response =
        (counts(inquiry, name, carried.asked) ? own(responses, name) : undefined) ??
        (inquiry.bound ? undefined : own(carried.answers, key))
      const verdict = verdictOn(question, response)
      // a confirmation with any other result is declined
      if (verdict === 'declined' || (inquiry.bound && verdict === 'unusable' && response !== undefined))
        return 'declined'
      if (verdict === 'accepted') answers[name] = response
      else open[name] = question
      // a confirmation is valid for one call only, so it is not carried
      if (inquiry.bound || verdict !== 'accepted') this.#answers.delete(key)
      else this.#answers.set(key, response)
    }
    const asked = Object.keys(open).map(name => keyOf(inquiry, name))
    if (asked.length === 0) return answers
    const requestState = this.#states.issue(inquiry, { asked, answers: Object.fromEntries(this.#answers) })
    if (requestState === undefined) return 'declined'
    this.#pending = { inputRequests: open, requestState }
    return 'pending'
  }

  pendingInput(): PendingInput | undefined {
    return this.#pending
  }

  #carried(inquiry: Inquiry): Carried | undefined {
    const { requestState } = this.#request.params
    if (requestState === undefined) return NOTHING
    return typeof requestState === 'string' ? this.#states.open(requestState, inquiry) : undefined
  }
}

/** In a state, so that a result for one part is not taken for that of another which asks under the same name. */
function keyOf({ asker }: Inquiry, name: string): string {
  return asker === undefined ? name : asker + APART + name
}

function nameOf(key: string): string {
  return key.slice(key.indexOf(APART) + 1)
}

/** @param asked keys of the questions that the request responds to */
function counts(inquiry: Inquiry, name: string, asked: readonly string[]): boolean {
  if (asked.includes(keyOf(inquiry, name))) return true
  return !inquiry.bound && inquiry.asker === undefined && !asked.some(key => nameOf(key) === name)
}

function own(answers: ClientAnswers, name: string): unknown {
  return Object.hasOwn(answers, name) ? answers[name] : undefined
}

function capabilitiesOf(declared: { readonly elicitation?: unknown }): ReadonlySet<string> {
  const { elicitation } = declared
  const modes = isObject(elicitation) && isObject(elicitation.url) ? ['elicitation.url'] : []
  return new Set([...Object.keys(declared), ...modes])
}
