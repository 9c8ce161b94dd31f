/** Headers of every response: request id, trace id and `nosniff`. It sets no others. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/
/** W3C Trace Context §3.2.2 */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/

export const commonHeaders: MiddlewareHandler = async (context, next) => {
  const given = context.req.header('x-request-id') ?? ''
  const trace = TRACEPARENT.exec(context.req.header('traceparent') ?? '')?.[1]
  context.header('x-request-id', REQUEST_ID.test(given) ? given : randomUUID())
  context.header('x-trace-id', trace ?? randomBytes(16).toString('hex'))
  context.header('x-content-type-options', 'nosniff')
  await next()
}
