/** Validates the arguments of a call with the validator of its tool, and refuses a call that does not pass. */

import { passOn } from '../../../base/and-then.ts'
import type { ArgumentFault, CheckOutcome } from '../../../base/json-schema/argument-fault.ts'
import { refuse } from '../../../model/refusal.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'

const SHOWN_FAULTS = 10
const OVERLOADED = refuse('overloaded', {
  message: 'Too many checks of large arguments are pending. Try again.',
  retryAfterSecs: 1,
})

export function validateArguments(): Stage {
  return {
    id: 'validate-arguments',
    phase: 'decide',
    run(exchange) {
      const { operation, tool } = exchange
      if (!isCall(operation) || operation.completion !== undefined) return undefined
      return passOn(outcomeOf, operation.tool, tool!.validate(operation.arguments))
    },
  }
}

function outcomeOf(tool: string, checked: CheckOutcome): Outcome {
  if (checked === 'overloaded') return OVERLOADED
  if (checked === 'too_expensive') return refuse('arguments_too_expensive')
  if (checked.length === 0) return undefined
  return refuse('invalid_arguments', { message: messageOf(tool, checked) })
}

function messageOf(tool: string, faults: readonly ArgumentFault[]): string {
  const shown = faults
    .slice(0, SHOWN_FAULTS)
    .map(fault => `${fault.path === '' ? 'arguments' : fault.path} ${fault.message}`)
  const more = faults.length > SHOWN_FAULTS ? `; and ${faults.length - SHOWN_FAULTS} more` : ''
  return `Invalid arguments for ${tool}: ${shown.join('; ')}${more}.`
}
