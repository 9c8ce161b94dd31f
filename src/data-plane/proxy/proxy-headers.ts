/** Selects and sets headers of proxied requests and responses. `proxy.ts` sends them. */

import { BoundedMap } from '../../base/async/bounded-map.ts'
import {
  isWithheldFromUpstream,
  NEVER_FORWARDED,
  NEVER_RETURNED,
  WITHHELD_FROM_CLIENTS,
} from '../../model/passthrough.ts'
import type { HeaderRules } from '../../model/schema/traffic.ts'
import type { EgressHeaders } from '../../net/egress/egress.ts'
import { byteString } from '../../net/server/byte-string.ts'
import type { Call } from '../http/call.ts'
import type { CompiledApi } from '../snapshot/snapshot.ts'

/** What a gateway says of itself to upstreams. */
export interface Forwarding {
  /** Scheme of the gateway's public address. */
  readonly scheme: string
  /** With the port, of the gateway's public address. */
  readonly host: string
  /** Proxies in front of the gateway, whose `X-Forwarded-*` are believed and passed on. */
  readonly isTrusted: (address: string) => boolean
}

const WITHHELD: ReadonlySet<string> = new Set(WITHHELD_FROM_CLIENTS)

/**
 * The origin that the upstream receives. Where responses are cached it is the gateway's own, since the upstream may build its response from it
 * and the response then serves clients that used another host.
 */
function forwardedOrigin(
  { request }: Call,
  api: CompiledApi,
  { scheme, host, isTrusted }: Forwarding,
): { readonly scheme: string; readonly host: string } {
  if (api.traffic?.cache) return { scheme, host }
  const believed = isTrusted(request.peerAddress)
  const heardScheme = believed ? request.header('x-forwarded-proto') : ''
  const heardHost = believed ? request.header('x-forwarded-host') : ''
  return {
    scheme: heardScheme === 'http' || heardScheme === 'https' ? heardScheme : scheme,
    host: heardHost || request.header('host'),
  }
}

/** Not sent where a response is kept for all: of the client and its connection, and no part of what is asked for. */
const OF_THE_CLIENT = /^(?:user-agent|referer|dnt|priority|sec-.*|cache-control|pragma)$/

/** @param spanId of the request to the upstream */
export function forwardedHeaders(
  call: Call,
  api: CompiledApi,
  forwarding: Forwarding,
  spanId: string,
): string[] {
  const { request } = call
  const rules = api.traffic?.requestHeaders
  const chain = forwarding.isTrusted(request.peerAddress) ? request.header('x-forwarded-for') : ''
  const origin = forwardedOrigin(call, api, forwarding)
  const isForAll = api.traffic?.cache?.scope === 'public'
  const named = connectionNames(request.header('connection'))
  const headers: string[] = []
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at]!
    if (NEVER_FORWARDED.has(name) || named.has(name)) continue
    if (isRuled(rules, name) || (isForAll && OF_THE_CLIENT.test(name))) continue
    if (isWithheldFromUpstream(name) && !api.passthrough?.requestHeaders.includes(name)) continue
    headers.push(name, byteString(request.rawHeaders[at + 1]!))
  }
  if (rules !== undefined) headers.push(...Object.entries(rules.set).flat())
  if (!isForAll)
    headers.push(
      'x-forwarded-for',
      chain === '' ? request.peerAddress : `${chain}, ${request.peerAddress}`,
      ...call.traceHeaders,
    )
  headers.push(
    'x-forwarded-host',
    origin.host,
    'x-forwarded-proto',
    origin.scheme,
    'x-forwarded-prefix',
    api.prefix,
    'x-tenant-id',
    api.tenant,
    'x-request-id',
    call.requestId,
    'traceparent',
    `00-${call.traceId}-${spanId}-${call.traceFlags}`,
  )
  return headers
}

/**
 * Headers of the upstream's response that reach the client; ids, length and the cross-origin rule are set by us (`proxiedCors`), and what
 * would have an effect on the whole origin only passes where the API allows it.
 */
export function returnedHeaders(
  headers: EgressHeaders,
  { prefix, passthrough, notices, traffic }: CompiledApi,
): string[] {
  const named = connectionNames(headers.get('connection'))
  const isOurs = (name: string) =>
    (name === 'deprecation' || name === 'sunset') && notices?.includes(name) === true
  const kept: string[] = []
  for (let at = 0; at < headers.raw.length; at += 2) {
    const name = headers.raw[at]!.toLowerCase()
    if (NEVER_RETURNED.has(name) || named.has(name) || name.startsWith('access-control-')) continue
    if (isOurs(name) || isRuled(traffic?.responseHeaders, name)) continue
    if (WITHHELD.has(name) && !passthrough?.responseHeaders.some(allowed => allowed === name)) continue
    const value = headers.raw[at + 1]!
    kept.push(name, name === 'set-cookie' ? cookieWithin(prefix, value) : value)
  }
  if (traffic !== undefined) kept.push(...Object.entries(traffic.responseHeaders.set).flat())
  return kept
}

/** True for a header that the API removes or replaces. */
function isRuled(rules: HeaderRules | undefined, name: string): boolean {
  return rules !== undefined && (rules.remove.includes(name) || Object.hasOwn(rules.set, name))
}

/** The cookie without its Domain, for the addresses of the API only (RFC 6265 §4.1.2). */
function cookieWithin(prefix: string, cookie: string): string {
  const [pair, ...attributes] = cookie.split(';').map(part => part.trim())
  return [pair, ...attributes.filter(one => !/^(?:domain|path)\b/i.test(one)), `Path=${prefix}`].join('; ')
}

/** By the value of `Connection`, of which there are few. */
const namesOfConnection = new BoundedMap<string, ReadonlySet<string>>(64)
const MAX_CACHED_VALUE = 256

/** `Connection` may name further headers of this connection only. */
function connectionNames(value: string): ReadonlySet<string> {
  const known = namesOfConnection.get(value)
  if (known !== undefined) return known
  const names = new Set(
    value
      .toLowerCase()
      .split(',')
      .map(name => name.trim()),
  )
  if (value.length > MAX_CACHED_VALUE) return names
  namesOfConnection.set(value, names)
  return names
}
