/** How the question of a confirmation reaches the client's user: elicitation in the legacy era, input_required in the modern one. */
import { randomBytes } from 'node:crypto'
import type { Confirmation, ConfirmationAnswer } from '../../pipeline/exchange.ts'
import { ownerOf } from '../../sessions/owner.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { ConfirmationStates } from './confirmation-states.ts'
import type { InFlight } from './in-flight.ts'
import type { RpcRequest } from './message.ts'

/** Nobody answered: as good as a no. */
const ANSWER_WITHIN_MS = 2 * 60_000

const SCHEMA = {
  type: 'object',
  properties: {
    confirm: {
      type: 'boolean',
      title: 'Confirm',
      description: 'Allow this call with exactly these arguments.',
    },
  },
  required: ['confirm'],
} as const

/** What the user is shown: the policy's words, and the exact call. */
function question({ message, tool, arguments: args }: Confirmation): {
  readonly message: string
  readonly requestedSchema: typeof SCHEMA
} {
  return { message: `${message}\n${tool} ${JSON.stringify(args).slice(0, 2000)}`, requestedSchema: SCHEMA }
}

function isAccepted(result: unknown): boolean {
  const { action, content } = (result ?? {}) as { action?: unknown; content?: { confirm?: unknown } }
  return action === 'accept' && content?.confirm === true
}

/** MCP 2025-06-18, elicitation/create. @param send puts a message on a stream the client reads */
export function elicit(
  inFlight: InFlight,
  session: Session,
  confirmation: Confirmation,
  send: (json: string) => void,
): Promise<ConfirmationAnswer> {
  const id = `confirm-${randomBytes(9).toString('base64url')}`
  return new Promise(resolve => {
    const settle = (answer: ConfirmationAnswer): void => {
      clearTimeout(timer)
      stop()
      resolve(answer)
    }
    const timer = setTimeout(() => settle('declined'), ANSWER_WITHIN_MS).unref()
    const stop = inFlight.ask(session.id, id, message =>
      settle(isAccepted((message as { result?: unknown }).result) ? 'accepted' : 'declined'),
    )
    send(JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params: question(confirmation) }))
  })
}

const INPUT_NAME = 'confirm'

/** What to answer to a call that waits for its user; a state that is not ours, not of this call or too old is an error, never asked anew. */
export type PendingInput =
  | { readonly inputRequests: object; readonly requestState: string }
  | 'state_rejected'

/** MCP 2026-07-28, multi round-trip requests: the first call gets the question, the repeated one carries answer and state. */
export class ModernConfirmation {
  readonly #states: ConfirmationStates
  readonly #request: RpcRequest
  #asked: Confirmation | undefined
  #stateRejected = false

  constructor(states: ConfirmationStates, request: RpcRequest) {
    this.#states = states
    this.#request = request
  }

  answer(confirmation: Confirmation): ConfirmationAnswer {
    const { requestState, inputResponses } = this.#request.params
    if (
      typeof requestState === 'string' &&
      this.#states.accepts(requestState, ownerOf(confirmation.principal), confirmation)
    ) {
      const response = (inputResponses as Record<string, unknown> | undefined)?.[INPUT_NAME]
      return isAccepted(response) ? 'accepted' : 'declined'
    }
    this.#stateRejected = requestState !== undefined
    this.#asked = confirmation
    return 'pending'
  }

  pendingInput(): PendingInput | undefined {
    if (this.#asked === undefined) return undefined
    if (this.#stateRejected) return 'state_rejected'
    return {
      inputRequests: { [INPUT_NAME]: { method: 'elicitation/create', params: question(this.#asked) } },
      requestState: this.#states.issue(ownerOf(this.#asked.principal), this.#asked),
    }
  }
}
