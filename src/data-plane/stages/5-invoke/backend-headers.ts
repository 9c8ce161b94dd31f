/** Adds the headers for request id and trace propagation to a backend request, with a new span id. It adds no credential. */
import { joinedHeaders } from '../../../shared/call/joined-headers.ts'
import { newSpanId } from '../../../shared/call/random-ids.ts'
import type { Exchange } from '../../pipeline/exchange.ts'

export function backendHeaders(own: readonly string[], exchange: Exchange): readonly string[] {
  const ofCall = ['x-request-id', exchange.requestId, 'traceparent', traceparent(exchange)]
  return joinedHeaders(own, ofCall, exchange.propagation?.traceHeaders)
}

/** W3C Trace Context §3.2: a new parent id for the call we make; the caller's word on recording stands. */
function traceparent(exchange: Exchange): string {
  exchange.backendSpanId = newSpanId()
  return `00-${exchange.traceId}-${exchange.backendSpanId}-${exchange.traceFlags}`
}
