/** Selects and sets headers of proxied requests and responses. `proxy.ts` sends them. */

import { BoundedMap } from '../../base/async/bounded-map.ts'
import {
  ALLOWABLE_RESPONSE_HEADERS,
  isNeverReturned,
  isWithheldFromUpstream,
  NEVER_FORWARDED,
} from '../../model/passthrough.ts'
import type { HeaderRules } from '../../model/schema/traffic.ts'
import type { EgressStreamResponse } from '../../net/egress/egress.ts'
import { byteString } from '../../net/server/byte-string.ts'
import type { Call } from '../http/call.ts'
import type { CompiledApi } from '../snapshot/snapshot.ts'
import { mapAddresses } from './returned-addresses.ts'

/** What a gateway says of itself to upstreams. */
export interface Forwarding {
  /** Scheme of the gateway's public address. */
  readonly scheme: string
  /** With the port, of the gateway's public address. */
  readonly host: string
  /** Proxies in front of the gateway, whose `X-Forwarded-*` are believed and passed on. */
  readonly isTrusted: (address: string) => boolean
}

const MAX_CACHED_CHARS = 256

/** Caches what is made of texts that repeat, of which upstreams send few. */
function cacheByText<Made>(maxTexts: number, make: (text: string) => Made): (text: string) => Made {
  const known = new BoundedMap<string, Made>(maxTexts)
  return text => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    if (text.length <= MAX_CACHED_CHARS) known.set(text, made)
    return made
  }
}

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
 * would have an effect on the whole origin never passes.
 * @param unsandboxed prefixes of the APIs whose documents may run scripts in the origin of the gateway
 */
export function returnedHeaders(
  { status, headers }: EgressStreamResponse,
  api: CompiledApi,
  unsandboxed: ReadonlySet<string>,
): string[] {
  const { prefix, passthrough, notices, traffic } = api
  const named = connectionNames(headers.get('connection'))
  const isOurs = (name: string) =>
    (name === 'deprecation' || name === 'sunset') && notices?.includes(name) === true
  const kept: string[] = []
  for (let at = 0; at < headers.raw.length; at += 2) {
    const name = returnedName(headers.raw[at]!)
    if (name === '' || named.has(name) || isOurs(name) || isRuled(traffic?.responseHeaders, name)) continue
    if (ALLOWABLE.includes(name) && !passthrough?.responseHeaders.some(allowed => allowed === name)) continue
    kept.push(name, mapAddresses(name, headers.raw[at + 1]!, api))
  }
  if (traffic !== undefined)
    for (const [name, value] of Object.entries(traffic.responseHeaders.set)) {
      // an API that an older version stored may set a header that no API may set now
      if (returnedName(name) !== '') kept.push(name, value)
    }
  if (mayBeDocument(status, kept) && !unsandboxed.has(prefix)) kept.push('content-security-policy', 'sandbox')
  return kept
}

/** Types that browsers show as documents, in which scripts can run; a list of types counts as its most dangerous one. */
const isOfDocument = cacheByText(64, type => /\b(?:html|xml|xsl)\b|multipart\//i.test(type))

/** False only where no browser makes a document with scripts of the response. */
function mayBeDocument(status: number, headers: readonly string[]): boolean {
  // its headers replace those of the stored document, and may keep its type (RFC 9111 §3.2)
  if (status === 304) return true
  let isTyped = false
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] !== 'content-type') continue
    if (isOfDocument(headers[at + 1]!)) return true
    isTyped = true
  }
  return !isTyped
}

/** True for a header that the API removes or replaces. */
function isRuled(rules: HeaderRules | undefined, name: string): boolean {
  return rules !== undefined && (rules.remove.includes(name) || Object.hasOwn(rules.set, name))
}

/** `Connection` may name further headers of this connection only. */
const connectionNames = cacheByText(
  64,
  (value): ReadonlySet<string> =>
    new Set(
      value
        .toLowerCase()
        .split(',')
        .map(name => name.trim()),
    ),
)

/** The name in lower case of a header of a response; '' for one that passes for no API. */
const returnedName = cacheByText(256, raw => {
  const name = raw.toLowerCase()
  return isNeverReturned(name) ? '' : name
})

const ALLOWABLE: readonly string[] = ALLOWABLE_RESPONSE_HEADERS
