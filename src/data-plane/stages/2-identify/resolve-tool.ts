/** Looks up the tool of a call among those of its tenant. It refuses no call: `refuse-unknown-tool` does, once the call is counted. */
import type { Stage } from '../../pipeline/stage.ts'

export function resolveTool(): Stage {
  return {
    id: 'resolve-tool',
    phase: 'identify',
    run(exchange) {
      const { operation } = exchange
      if (operation.action === 'tools.call')
        exchange.tool = exchange.snapshot.toolsOf(exchange.tenant).get(operation.tool)
      return undefined
    },
  }
}
