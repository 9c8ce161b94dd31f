/** Sends a proxied call on, once everything before has let it through. How bytes travel is the transport's. */

import { refuse } from '../../../shared/call/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Final } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function invokeProxy(): Stage {
  return {
    id: 'invoke-proxy',
    phase: 'invoke',
    // not async itself: listings pass here too, and a promise would take each of them to another turn
    run(exchange) {
      if (exchange.operation.action !== 'proxy') return undefined
      return exchange.cancellation.cancelled ? refuse('cancelled') : forwarded(exchange)
    },
  }
}

async function forwarded(exchange: Exchange): Promise<Final> {
  const startedAt = performance.now()
  const outcome = await exchange.transport.forward!(exchange)
  exchange.backendMs = performance.now() - startedAt
  return outcome
}
