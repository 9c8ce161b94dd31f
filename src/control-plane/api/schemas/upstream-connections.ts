/** Schema of the rule of an API for the connections to its upstream, and its conversion. It contains no route. */
import { MAX_PIPELINING, type UpstreamTransport } from '../../../model/upstream-transport.ts'
import { count } from './fields.ts'
import { z } from './zod.ts'

export const connections = z
  .strictObject({
    pipelining: count(1, MAX_PIPELINING).default(1).openapi({
      description:
        'For tool calls: maximum number of idempotent requests in flight on one connection without TLS. Each proxied call has a separate connection.',
    }),
    http2: z
      .boolean()
      .default(false)
      .openapi({ description: 'true: use HTTP/2, by ALPN for https and with prior knowledge for http.' }),
  })
  .refine(({ pipelining, http2 }) => !http2 || pipelining === 1, {
    path: ['pipelining'],
    message: 'must be 1 when http2 is true: pipelining applies to HTTP/1.1 only.',
  })
  .openapi('UpstreamConnections', {
    description:
      'How calls share connections to the upstream. null: one HTTP/1.1 request in flight on each connection.',
  })

export function shownConnections({ pipelining = 1, http2 = false }: UpstreamTransport) {
  return { pipelining, http2 }
}
