/** Shortens the result of a tool call whose operation requests token optimization. It leaves the outcome itself unchanged. */
import type { Stage } from '../../pipeline/stage.ts'
import { optimize } from '../shared/token-optimization.ts'

export function optimizeResult(): Stage {
  return {
    id: 'optimize-result',
    phase: 'settle',
    run(exchange) {
      const { operation, final } = exchange
      if (operation.action !== 'tools.call' || final?.kind !== 'reply') return undefined
      const { optimization = 'none' } = operation
      if (optimization !== 'none') exchange.optimized = optimize(final.result, optimization)
      return undefined
    },
  }
}
