/** Refuses a call whose tool its tenant does not have. It counts nothing: `take-quota` has. */
import { refuse } from '../../../shared/call/refusal.ts'
import type { Stage } from '../../pipeline/stage.ts'

const SHOWN_NAME_CHARACTERS = 64

export function refuseUnknownTool(): Stage {
  return {
    id: 'refuse-unknown-tool',
    phase: 'limit',
    run({ operation, tool }) {
      if (operation.action !== 'tools.call' || tool !== undefined) return undefined
      return refuse('tool_not_found', {
        message: `Tool not found: ${operation.tool.slice(0, SHOWN_NAME_CHARACTERS)}`,
      })
    },
  }
}
