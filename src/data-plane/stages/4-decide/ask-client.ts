/**
 * Asks the client the questions of the policy (obligation `ask`), and refuses a client that lacks capabilities for them. `authorize.ts`
 * decides again with the results.
 */
import { continueWith, type MaybePending } from '../../../base/and-then.ts'
import { refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import {
  type InquiryOutcome,
  lackingCapabilities,
  MAX_ROUNDS,
  type Questions,
} from '../../pipeline/inquiry.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { obligationsOf } from '../shared/obligations.ts'

/** @param authorize the stage that decides; it reads the results from the exchange */
export function askClient(authorize: Stage): Stage {
  function round(exchange: Exchange, roundsLeft: number): MaybePending<Outcome> {
    const questions = openQuestions(exchange)
    if (questions === undefined) return undefined
    if (roundsLeft === 0)
      return refuse('policy_denied', {
        message: `The policy asked this client for input ${MAX_ROUNDS} times and did not reach a decision.`,
      })
    const lacking = lackingCapabilities(exchange.transport.client, questions)
    if (exchange.transport.client === undefined || lacking.length > 0) return unsupported(lacking)
    const { operation } = exchange
    if (!isCall(operation)) return undefined
    const asked = exchange.transport.client.ask({
      tool: operation.tool,
      arguments: operation.arguments,
      principal: exchange.principal!,
      questions,
      bound: false,
    })
    const decideAgain = (outcome: InquiryOutcome): MaybePending<Outcome> => {
      if (typeof outcome === 'string')
        return refuse(outcome === 'declined' ? 'confirmation_declined' : 'confirmation_pending')
      exchange.answers = { ...exchange.answers, ...outcome }
      const decided = authorize.run(exchange)
      return continueWith(decided, value => value ?? round(exchange, roundsLeft - 1))
    }
    return continueWith(asked, decideAgain)
  }
  return {
    id: 'ask-client',
    phase: 'decide',
    run(exchange) {
      const { operation, decision } = exchange
      if (!isCall(operation) || operation.completion !== undefined) return undefined
      if (decision?.obligations === undefined) return undefined
      return round(exchange, MAX_ROUNDS)
    },
  }
}

/** Questions of the decision that have no result yet. */
function openQuestions({ decision, answers }: Exchange): Questions | undefined {
  const obligations = decision === undefined ? undefined : obligationsOf(decision)
  if (obligations === undefined || typeof obligations === 'string' || obligations.ask === undefined)
    return undefined
  const open = Object.entries(obligations.ask).filter(
    ([name]) => answers === undefined || !Object.hasOwn(answers, name),
  )
  return open.length === 0 ? undefined : Object.fromEntries(open)
}

/** The client learns which capabilities it would have to declare. */
export function unsupported(lacking: readonly string[]): Outcome {
  return refuse('confirmation_unsupported', {
    message: `The policy requires input from the client before this call, and the client has not declared these capabilities: ${lacking.join(', ')}.`,
    requiredCapabilities: lacking,
  })
}
