/** Which headers pass a proxied call, and which are ours (RFC 9110 §7.6.1, RFC 7239). Pure. */
import type { EgressHeaders } from '../../shared/egress/egress.ts'
import type { CompiledApi } from '../snapshot/snapshot.ts'
import type { Call } from './call.ts'

/** What a gateway says of itself to upstreams. */
export interface Forwarding {
  /** Of the gateway's public address. */
  readonly scheme: string
  /** Proxies in front of the gateway, whose `X-Forwarded-*` are believed and passed on. */
  readonly isTrusted: (address: string) => boolean
}

/** Of one connection only (RFC 9110 §7.6.1), or set again for the next one. */
const HOP_BY_HOP = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
])
/** The caller's credentials end here: no upstream ever sees them. */
const CREDENTIALS = new Set(['authorization', 'x-api-key', 'cookie'])
const OURS = new Set([
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
  'forwarded',
  'x-tenant-id',
  'x-request-id',
  'traceparent',
  'tracestate',
  'baggage',
  'x-debug-timing',
])

/** @param spanId of the step that calls the upstream */
export function forwardedHeaders(
  call: Call,
  api: CompiledApi,
  forwarding: Forwarding,
  spanId: string,
): string[] {
  const { request } = call
  const believed = forwarding.isTrusted(request.peerAddress)
  const heard = (name: string): string => (believed ? request.header(name) : '')
  const chain = heard('x-forwarded-for')
  const scheme = heard('x-forwarded-proto')
  const named = connectionNames(request.header('connection'))
  const headers: string[] = []
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at]!
    if (HOP_BY_HOP.has(name) || CREDENTIALS.has(name) || OURS.has(name) || named.has(name)) continue
    headers.push(name, request.rawHeaders[at + 1]!)
  }
  headers.push(
    'x-forwarded-for',
    chain === '' ? request.peerAddress : `${chain}, ${request.peerAddress}`,
    'x-forwarded-host',
    heard('x-forwarded-host') || request.header('host'),
    'x-forwarded-proto',
    scheme === 'http' || scheme === 'https' ? scheme : forwarding.scheme,
    'x-forwarded-prefix',
    api.prefix,
    'x-tenant-id',
    api.tenant,
    'x-request-id',
    call.requestId,
    'traceparent',
    `00-${call.traceId}-${spanId}-${call.traceFlags}`,
    ...call.traceHeaders,
  )
  return headers
}

/** Headers of the upstream's response that reach the client; ids, length and the cross-origin rule are set by us (`proxiedCors`). */
export function returnedHeaders(headers: EgressHeaders): string[] {
  const named = connectionNames(headers.get('connection'))
  const kept: string[] = []
  for (let at = 0; at < headers.raw.length; at += 2) {
    const name = headers.raw[at]!.toLowerCase()
    if (
      HOP_BY_HOP.has(name) ||
      named.has(name) ||
      name === 'content-length' ||
      name === 'x-request-id' ||
      name === 'x-trace-id' ||
      name === 'vary' ||
      name.startsWith('access-control-') ||
      name === 'server' ||
      name === 'date'
    )
      continue
    kept.push(name, headers.raw[at + 1]!)
  }
  return kept
}

/** `Connection` may name further headers of this connection only. */
function connectionNames(value: string): ReadonlySet<string> {
  return new Set(
    value
      .toLowerCase()
      .split(',')
      .map(name => name.trim()),
  )
}
