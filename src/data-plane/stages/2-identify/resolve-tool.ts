/** Looks up the tool of a call among those of its tenant. It checks neither arguments nor permissions. */
import { refuse } from '../../../shared/call/refusal.ts'
import type { Stage } from '../../pipeline/stage.ts'

const SHOWN_NAME_CHARACTERS = 64

export function resolveTool(): Stage {
  return {
    id: 'resolve-tool',
    phase: 'identify',
    run(exchange) {
      const { operation } = exchange
      if (operation.action !== 'tools.call') return undefined
      const found = exchange.snapshot.toolsOf(exchange.tenant).get(operation.tool)
      if (found === undefined) {
        return refuse('tool_not_found', {
          message: `Tool not found: ${operation.tool.slice(0, SHOWN_NAME_CHARACTERS)}`,
        })
      }
      exchange.tool = found
      return undefined
    },
  }
}
