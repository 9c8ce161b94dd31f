/** Mutual TLS of the routes that gateways use: the connection must have a verified client certificate. It issues and stores none. */
import type { Hono } from 'hono'
import type { WebPeer } from '../../../shared/server/web.ts'
import { BASE } from './mount.ts'
import { Problem } from './problem.ts'

const GATEWAY_ROUTES = ['/gateways/stream', '/gateways/snapshot', '/gateways/:gateway_id/reports']

/** To be mounted before those routes. A token alone then opens none of them. */
export function requireGatewayCertificate(app: Hono): void {
  for (const route of GATEWAY_ROUTES)
    app.use(BASE + route, (context, next) => {
      const { peer } = context.env as { readonly peer?: WebPeer }
      if (peer?.peerVerified === true) return next()
      throw new Problem(
        'forbidden',
        'Gateways need a client certificate of API_CLIENT_CA: set CONTROL_PLANE_CERT and CONTROL_PLANE_KEY of the gateway.',
      )
    })
}
