/** Requires a verified client certificate on the routes that gateways use. */
import type { Hono } from 'hono'
import type { WebPeer } from '../../../net/server/web.ts'
import type { Endpoint } from './endpoint.ts'
import { routePath } from './mount.ts'
import { Problem } from './problem.ts'
import { snapshotStream } from './snapshot-stream.ts'

/** To be mounted before the routes. A token alone then opens none of those that gateways use. */
export function requireGatewayCertificate(app: Hono, endpoints: readonly Endpoint[]): void {
  const ofGateways = endpoints.filter(({ action }) => action === 'control.gateways.connect')
  for (const { path } of [snapshotStream, ...ofGateways])
    app.use(routePath(path), (context, next) => {
      const { peer } = context.env as { readonly peer?: WebPeer }
      if (peer?.peerVerified === true) return next()
      throw new Problem(
        'forbidden',
        'This request requires a client certificate that a certificate authority in API_CLIENT_CA has issued. Set CONTROL_PLANE_CERT and CONTROL_PLANE_KEY on the gateway.',
      )
    })
}
