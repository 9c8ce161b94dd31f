/** Has the transport forward a proxied call, times it, and refuses a cancelled one. */

import { refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Final } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function invokeProxy(): Stage {
  return {
    id: 'invoke-proxy',
    phase: 'invoke',
    // not async: listings pass here too, and must not wait for another turn of the event loop
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
