/** Has a call confirmed by the client's user where the policy says so (obligation `confirm`). How the question travels is not its business. */
import type { ConfirmationAnswer, Exchange } from '../pipeline/exchange.ts'
import { refuse } from '../pipeline/refusal.ts'
import type { Outcome, Stage } from '../pipeline/stage.ts'

export function confirmCall(): Stage {
  return {
    id: 'confirm-call',
    phase: 'decide',
    run(exchange): Outcome | Promise<Outcome> {
      const { operation, decision } = exchange
      const obligation = decision?.obligations?.confirm
      if (operation.action !== 'tools.call' || obligation === undefined || obligation === false)
        return undefined
      if (exchange.confirm === undefined) return refuse('confirmation_unsupported')
      const answer = exchange.confirm({
        tool: operation.tool,
        arguments: operation.arguments,
        message: messageOf(obligation, exchange),
        principal: exchange.principal!,
      })
      return answer instanceof Promise ? answer.then(outcomeOf) : outcomeOf(answer)
    },
  }
}

function outcomeOf(answer: ConfirmationAnswer): Outcome {
  if (answer === 'accepted') return undefined
  return refuse(answer === 'declined' ? 'confirmation_declined' : 'confirmation_pending')
}

function messageOf(obligation: unknown, exchange: Exchange): string {
  if (
    typeof obligation === 'object' &&
    obligation !== null &&
    'message' in obligation &&
    typeof obligation.message === 'string'
  ) {
    return obligation.message
  }
  return `Allow the call of ${exchange.tool!.tool.name}?`
}
