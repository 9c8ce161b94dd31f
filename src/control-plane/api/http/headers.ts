/** Chooses the request id and the trace id of a request, and sets common headers of responses. */

import { randomBytes, randomUUID } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { isRequestId } from '../../../base/request-id.ts'

/** W3C Trace Context §3.2.2 */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/

/** The ids of each request, for the log and the audit. */
const known = new WeakMap<Request, RequestIds>()

export interface RequestIds {
  readonly requestId: string
  readonly traceId: string
}

export function idsOf(context: Context): RequestIds {
  return known.get(context.req.raw)!
}

export const commonHeaders: MiddlewareHandler = async (context, next) => {
  const given = context.req.header('x-request-id') ?? ''
  const trace = TRACEPARENT.exec(context.req.header('traceparent') ?? '')?.[1]
  const ids = {
    requestId: isRequestId(given) ? given : randomUUID(),
    traceId: trace ?? randomBytes(16).toString('hex'),
  }
  known.set(context.req.raw, ids)
  context.header('x-request-id', ids.requestId)
  context.header('x-trace-id', ids.traceId)
  context.header('x-content-type-options', 'nosniff')
  await next()
}
