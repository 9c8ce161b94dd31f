/** Finds requests whose Origin or Host may come from DNS rebinding. */
import { LOOPBACK_HOSTS } from '../../../base/loopback.ts'
import type { HttpRequest } from '../../../net/server/listener.ts'
import type { Cors } from '../cors.ts'

/** Host names that may stand in `Host`; undefined when the gateway is reached by others than this machine and any may. */
export function localHosts(gatewayUrl: string): ReadonlySet<string> | undefined {
  const { hostname } = new URL(gatewayUrl)
  return LOOPBACK_HOSTS.has(hostname) ? LOOPBACK_HOSTS : undefined
}

/** The header for which a request is refused; undefined when it is allowed. */
export function refusedHeader(
  request: HttpRequest,
  cors: Cors,
  hosts: ReadonlySet<string> | undefined,
): 'host' | 'origin' | undefined {
  const origin = request.header('origin')
  const host = request.header('host')
  const knownHost = hosts === undefined || hosts.has(nameOf(host))
  if (!knownHost) return 'host'
  if (cors.allows(origin)) return undefined
  // a page of the very address it calls, on this machine: a local proxy in front may have another port than we know of
  return hosts !== undefined && origin.toLowerCase() === `http://${host.toLowerCase()}` ? undefined : 'origin'
}

let lastHost = ''
let lastName = ''

/** Without the port. Nearly all requests have the same, so the last one is cached. */
function nameOf(host: string): string {
  if (host !== lastHost) {
    lastName = host.toLowerCase().replace(/:\d+$/, '')
    lastHost = host
  }
  return lastName
}
