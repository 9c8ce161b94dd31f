/** Adds the headers for request id and trace propagation to a backend request, with a new span id. */

import { newSpanId } from '../../../base/random-ids.ts'
import { joinedHeaders } from '../../../net/joined-headers.ts'
import type { Exchange } from '../../pipeline/exchange.ts'

export function backendHeaders(own: readonly string[], exchange: Exchange): readonly string[] {
  return joinedHeaders(own, headersOfCall(exchange))
}

/** The added ones alone. */
export function headersOfCall(exchange: Exchange): readonly string[] {
  const ofCall = [
    'x-request-id',
    exchange.requestId,
    'traceparent',
    traceparent(exchange),
    // the client would add it to a copy of the list
    'accept-encoding',
    'identity',
  ]
  const propagated = exchange.propagation?.traceHeaders ?? NONE
  return propagated.length === 0 ? ofCall : joinedHeaders(ofCall, propagated)
}

const NONE: readonly string[] = []

/** W3C Trace Context §3.2: a new parent id for the call we make; the caller's word on recording stands. */
function traceparent(exchange: Exchange): string {
  exchange.backendSpanId = newSpanId()
  return `00-${exchange.traceId}-${exchange.backendSpanId}-${exchange.traceFlags}`
}
