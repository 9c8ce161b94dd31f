/** Looks up the tool of a call among those of its tenant that its address offers. It refuses no call: `refuse-unknown-tool` does, once the call is counted. */
import { isOffered } from '../../pipeline/selection.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function resolveTool(): Stage {
  return {
    id: 'resolve-tool',
    phase: 'identify',
    run(exchange) {
      const { operation } = exchange
      if (operation.action !== 'tools.call') return undefined
      const found = exchange.snapshot.toolsOf(exchange.tenant).get(operation.tool)
      const { selection } = operation
      if (found !== undefined && (selection === undefined || isOffered(found.tool, selection)))
        exchange.tool = found
      return undefined
    },
  }
}
