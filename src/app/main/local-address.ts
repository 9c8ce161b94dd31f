/** The gateway as its own process reaches it: the address of the listener, and a client for it. */
import { hostOf } from '../../base/bare-host.ts'
import { createEgress } from '../../net/egress/client.ts'
import type { Egress } from '../../net/egress/egress.ts'
import { KnownPeer } from '../../net/tls/known-peer.ts'
import type { ServerTls } from '../../net/tls/server-tls.ts'

interface Listener {
  /** That it is bound to. */
  readonly host: string
  readonly tls: ServerTls | undefined
}

export function addressOf({ host, tls }: Listener, port: number): string {
  const scheme = tls === undefined ? 'http' : 'https'
  if (host === '0.0.0.0' || host === '::') return `${scheme}://127.0.0.1:${port}`
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * A client that reaches only the gateway. The operator configured the address: it may be private.
 * @param tls of the listener, where the address is that of a listener of this process
 */
export function gatewayClient(address: string, tls: ServerTls | undefined): Egress {
  return createEgress({
    allow: [hostOf(address)],
    allowLoopback: true,
    tls: tls && new KnownPeer(tls.cert),
  })
}
