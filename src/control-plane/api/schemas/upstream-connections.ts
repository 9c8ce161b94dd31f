/** Schema of the rule of an API for the connections to its upstream, and its conversion. */
import type { UpstreamTransport } from '../../../model/upstream-transport.ts'
import { z } from './zod.ts'

export const connections = z
  .strictObject({
    http2: z
      .boolean()
      .default(false)
      .openapi({ description: 'true: use HTTP/2, by ALPN for https and with prior knowledge for http.' }),
  })
  .openapi('UpstreamConnections', {
    description:
      'How calls share connections to the upstream. null: one HTTP/1.1 request in flight on each connection.',
  })

export function shownConnections({ http2 = false }: UpstreamTransport) {
  return { http2 }
}
