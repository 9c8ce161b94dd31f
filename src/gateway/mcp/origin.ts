/** Guards the MCP endpoints against DNS rebinding (every version, "Security Warning"). It looks at Origin and Host alone. */
import type { HttpRequest } from '../../server/listener.ts'
import type { Cors } from '../cors.ts'

const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Host names that may stand in `Host`; undefined when the gateway is reached by others than this machine and any may. */
export function localHosts(gatewayUrl: string): ReadonlySet<string> | undefined {
  const { hostname } = new URL(gatewayUrl)
  return LOCAL_NAMES.has(hostname) ? LOCAL_NAMES : undefined
}

export function fromAllowedOrigin(
  request: HttpRequest,
  cors: Cors,
  hosts: ReadonlySet<string> | undefined,
): boolean {
  if (!cors.allows(request.header('origin'))) return false
  if (hosts === undefined) return true
  const host = request.header('host').toLowerCase().replace(/:\d+$/, '')
  return hosts.has(host)
}
