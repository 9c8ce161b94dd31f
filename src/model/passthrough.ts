/** Rules for headers and paths of proxied calls: which are withheld, and which the owner of an API may allow. */

/** Never sent as the caller wrote them: of one connection (RFC 9110 §7.6.1), credentials, and names that the gateway sets. */
export const NEVER_FORWARDED: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'host',
  'authorization',
  'x-api-key',
  'cookie',
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

/** With these a caller changes what a framework takes for the method, the path, the host or the client's address. */
const OVERRIDES: ReadonlySet<string> = new Set([
  'proxy',
  'via',
  'x-original-url',
  'x-rewrite-url',
  'x-original-host',
  'x-original-forwarded-for',
  'x-host',
  'x-http-host-override',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
])

/** Set by the gateway or by the listener for this connection. */
const SET_BY_US = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'x-request-id',
  'x-trace-id',
  'x-content-type-options',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-policy-revision',
  'x-token-optimization-saved',
  'vary',
  'server',
  'date',
]

/**
 * All APIs share the origin of the gateway: these have an effect beyond the addresses of the API, or on a proxy in front of the gateway. A challenge
 * would have clients send credentials, of which the API never receives any.
 */
const BEYOND_THE_API = [
  'service-worker-allowed',
  'clear-site-data',
  'alt-svc',
  'strict-transport-security',
  'public-key-pins',
  'public-key-pins-report-only',
  'expect-ct',
  'nel',
  'report-to',
  'accept-ch',
  'critical-ch',
  'use-as-dictionary',
  'set-login',
  'www-authenticate',
  'x-sendfile',
  'x-litespeed-location',
  'x-reproxy-url',
]

const NEVER_RETURNED: ReadonlySet<string> = new Set([...SET_BY_US, ...BEYOND_THE_API])
/** For the cross-origin rule, and commands to nginx and to Envoy. */
const NEVER_RETURNED_PREFIXES = /^(?:access-control|x-accel|x-envoy)-/

/** Withheld from clients unless the API allows them: their effect stays within the addresses of the API. */
export const ALLOWABLE_RESPONSE_HEADERS = ['set-cookie', 'refresh'] as const

/** True for a response header that passes for no API. @param name in lower case */
export function isNeverReturned(name: string): boolean {
  return NEVER_RETURNED.has(name) || NEVER_RETURNED_PREFIXES.test(name)
}

/** @param name in lower case */
export function isWithheldFromUpstream(name: string): boolean {
  // CGI and WSGI cannot distinguish `_` from `-`: x_tenant_id would be read as ours
  return OVERRIDES.has(name) || name.startsWith('x-forwarded') || name.includes('_')
}

/** True for a request header that an API may allow: withheld by default, and not read as one that never passes. @param name in lower case */
export function mayAllowRequestHeader(name: string): boolean {
  const readAs = name.replaceAll('_', '-')
  return isWithheldFromUpstream(name) && !NEVER_FORWARDED.has(readAs) && readAs !== 'content-length'
}

/** `..;`, `.;x`, `;x`: servlet containers remove the parameters and then the dot segment. */
const DOT_WITH_PARAMETERS = /\/\.{0,2}(?:;|%3B)/i
/** Encoded twice or more often: `.`, `/`, `\`, `;`, `%`, control characters, the first byte of an overlong form, `%uXXXX`. */
const ENCODED_AGAIN = /%25(?:25)*(?:2e|2f|5c|3b|25|[01][0-9a-f]|7f|c[01]|u[0-9a-f]{4})/i

/** True for a path that some upstreams read as another one. @param path normalized by the kernel, with its leading slash, or '' */
export function isAmbiguousPath(path: string): boolean {
  return (
    (path.includes(';') || path.includes('%')) && (DOT_WITH_PARAMETERS.test(path) || ENCODED_AGAIN.test(path))
  )
}
