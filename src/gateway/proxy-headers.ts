/** Which headers pass a proxied call, and which are ours (RFC 9110 §7.6.1, RFC 7239). Pure. */
import type { EgressHeaders } from '../egress/egress.ts'
import type { CompiledApi } from '../pipeline/exchange.ts'
import type { Call } from './call.ts'

/** Of one connection only (RFC 9110 §7.6.1), or set anew for the next one. */
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
])

export function forwardedHeaders(call: Call, api: CompiledApi): string[] {
  const { request } = call
  const named = connectionNames(request.header('connection'))
  const headers: string[] = []
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at]!
    if (HOP_BY_HOP.has(name) || CREDENTIALS.has(name) || OURS.has(name) || named.has(name)) continue
    headers.push(name, request.rawHeaders[at + 1]!)
  }
  headers.push(
    'x-forwarded-for',
    request.peerAddress,
    'x-forwarded-host',
    request.header('host'),
    'x-forwarded-proto',
    'http',
    'x-forwarded-prefix',
    api.prefix,
    'x-tenant-id',
    api.tenant,
    'x-request-id',
    call.requestId,
    'traceparent',
    `00-${call.traceId}-${call.traceId.slice(0, 15)}1-01`,
  )
  return headers
}

/** Headers of the upstream's answer that reach the client; ids and length are set by us. */
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
