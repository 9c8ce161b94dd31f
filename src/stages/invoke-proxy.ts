/** Sends a proxied call on, once everything before has let it through. How bytes travel is the transport's. */
import { refuse } from '../pipeline/refusal.ts'
import type { Stage } from '../pipeline/stage.ts'

export function invokeProxy(): Stage {
  return {
    id: 'invoke-proxy',
    phase: 'invoke',
    async run(exchange) {
      if (exchange.operation.action !== 'proxy') return undefined
      if (exchange.cancellation.cancelled) return refuse('cancelled')
      const startedAt = performance.now()
      const outcome = await exchange.forward!(exchange)
      exchange.backendMs = performance.now() - startedAt
      return outcome
    },
  }
}
