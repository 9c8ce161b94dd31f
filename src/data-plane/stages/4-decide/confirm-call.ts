/** Carries out the obligation `confirm`: asks the user of the client to confirm a call, or refuses the call. The transport sends the question. */

import { andThen } from '../../../base/and-then.ts'
import { writeJson } from '../../../base/json/exact-number.ts'
import { refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { type InquiryOutcome, lackingCapabilities, type Questions } from '../../pipeline/inquiry.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { obligationsOf } from '../shared/obligations.ts'
import { unsupported } from './ask-client.ts'

/** Name of the one question; the policy's own questions cannot have it. */
const NAME = 'confirm'
/** Longer arguments are cut in what the user reads; the binding covers all of them. */
const SHOWN_CHARACTERS = 2000

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

export function confirmCall(): Stage {
  return {
    id: 'confirm-call',
    phase: 'decide',
    run(exchange): Outcome | Promise<Outcome> {
      const { operation, decision } = exchange
      const { client } = exchange.transport
      if (!isCall(operation) || operation.completion !== undefined) return undefined
      if (decision?.obligations === undefined) return undefined
      const obligations = obligationsOf(decision)
      if (typeof obligations === 'string' || obligations.confirm === undefined) return undefined
      const questions = { [NAME]: question(obligations.confirm, exchange, operation.arguments) }
      const lacking = lackingCapabilities(client, questions)
      if (client === undefined || lacking.length > 0) return unsupported(lacking)
      const response = client.ask({
        tool: operation.tool,
        arguments: operation.arguments,
        principal: exchange.principal!,
        questions,
        bound: true,
      })
      return andThen(response, outcomeOf)
    },
  }
}

/** What the user is shown: the policy's words, and the exact call. */
function question(
  words: string,
  { tool }: Exchange,
  args: { readonly [name: string]: unknown },
): Questions[string] {
  const { name } = tool!.tool
  const message = words === '' ? `Allow the call to ${name}?` : words
  const shown = writeJson(args).slice(0, SHOWN_CHARACTERS)
  return {
    method: 'elicitation/create',
    params: { message: `${message}\n${name} ${shown}`, requestedSchema: SCHEMA },
  }
}

function outcomeOf(outcome: InquiryOutcome): Outcome {
  if (outcome === 'pending') return refuse('confirmation_pending')
  const response = typeof outcome === 'string' ? undefined : outcome[NAME]
  const { action, content } = (response ?? {}) as { action?: unknown; content?: { confirm?: unknown } }
  return action === 'accept' && content?.confirm === true ? undefined : refuse('confirmation_declined')
}
