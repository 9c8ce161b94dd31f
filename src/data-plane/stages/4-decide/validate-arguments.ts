/** Checks the arguments against the tool's input schema before anything is called. It changes no argument. */

import { refuse } from '../../../shared/call/refusal.ts'
import type { ArgumentFault } from '../../../shared/json-schema/argument-fault.ts'
import type { Stage } from '../../pipeline/stage.ts'

const SHOWN_FAULTS = 10

export function validateArguments(): Stage {
  return {
    id: 'validate-arguments',
    phase: 'decide',
    run(exchange) {
      const { operation, tool } = exchange
      if (operation.action !== 'tools.call') return undefined
      const faults = tool!.validate(operation.arguments)
      return faults.length === 0
        ? undefined
        : refuse('invalid_arguments', { message: messageOf(operation.tool, faults) })
    },
  }
}

function messageOf(tool: string, faults: readonly ArgumentFault[]): string {
  const shown = faults
    .slice(0, SHOWN_FAULTS)
    .map(fault => `${fault.path === '' ? 'arguments' : fault.path} ${fault.message}`)
  const more = faults.length > SHOWN_FAULTS ? `; and ${faults.length - SHOWN_FAULTS} more` : ''
  return `Invalid arguments for ${tool}: ${shown.join('; ')}${more}.`
}
