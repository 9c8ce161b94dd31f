/** Checks the `Host` of requests against allowed names, as a defence against DNS rebinding, and holds the refusal of others. */

import { isIP } from 'node:net'
import { bareHost } from '../../base/bare-host.ts'
import type { HttpHandler } from './listener.ts'

/** Whether requests with this `Host` are served. */
export type HostCheck = (host: string) => boolean

export const FOREIGN_HOST_STATUS = 421
export const FOREIGN_HOST_HEADERS = [
  'content-type',
  'application/json',
  'x-content-type-options',
  'nosniff',
] as const
export const FOREIGN_HOST_BODY = JSON.stringify({
  error: 'misdirected_request',
  message:
    'This server does not accept the host name in the Host header. Add the host name to ALLOWED_HOSTS, or set GATEWAY_URL or API_URL to the public address.',
})

/**
 * Served are the names of the list, `localhost` and names below it, and every IP address: only a name can be rebound to another address,
 * and probes of Kubernetes name the address of the pod. The port does not matter, since it may be mapped.
 * @param names host names; `*.example.com` stands for every name below example.com, `*` for every name
 */
export function allowHosts(names: readonly string[]): HostCheck {
  const exact = new Set(names.map(plainName))
  if (exact.has('*')) return () => true
  const suffixes = [...exact].filter(name => name.startsWith('*.')).map(name => name.slice(1))
  suffixes.push('.localhost')
  exact.add('localhost')
  const serves = (host: string): boolean => {
    const name = nameIn(host)
    if (exact.has(name) || isIP(bareHost(name)) !== 0) return true
    return suffixes.some(suffix => name.endsWith(suffix))
  }
  let last = ''
  return host => {
    // nearly every request names the same host
    if (host === last && host !== '') return true
    if (!serves(host)) return false
    last = host
    return true
  }
}

/** A handler that refuses requests to other names with 421 (RFC 9110 §15.5.20). @param onForeign called for each of them */
export function onlyHosts(isServed: HostCheck, handler: HttpHandler, onForeign: () => void): HttpHandler {
  return (request, response) => {
    if (isServed(request.header('host'))) return handler(request, response)
    onForeign()
    response.send(FOREIGN_HOST_STATUS, FOREIGN_HOST_HEADERS, FOREIGN_HOST_BODY)
  }
}

/** Whether a `Host` has this name, with any port, which may be mapped. */
export function nameCheck(name: string): HostCheck {
  const wanted = plainName(name)
  let last = ''
  let isNamed = false
  return host => {
    // nearly every request names the same host
    if (host !== last) {
      isNamed = bareHost(nameIn(host)) === wanted
      last = host
    }
    return isNamed
  }
}

/** The name in a `Host`, without the port. */
function nameIn(host: string): string {
  return plainName(host.replace(/:\d*$/, ''))
}

/** In lower case, without the dot of a fully qualified name. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
