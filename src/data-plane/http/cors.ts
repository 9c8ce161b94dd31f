/** The cross-origin rule of the gateway, and the cross-origin headers of proxied responses (docs/reference/http.md, Cross-origin settings). */
import { RATE_LIMIT_HEADERS } from '../../model/rate-limit-headers.ts'
import type { EgressHeaders } from '../../net/egress/egress.ts'
import type { HttpRequest } from '../../net/server/listener.ts'

export interface CorsOptions {
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly allowHeaders: readonly string[]
  readonly exposeHeaders: readonly string[]
  readonly maxAgeSecs: number
  /** The gateway's own origin is always allowed. */
  readonly ownOrigin: string
}

const MCP_REQUEST_HEADERS = [
  'Mcp-Session-Id',
  'MCP-Protocol-Version',
  'Last-Event-ID',
  'Mcp-Method',
  'Mcp-Name',
  'Authorization',
  'Content-Type',
  'Accept',
  'X-API-Key',
  'X-Token-Optimization',
]
const MCP_RESPONSE_HEADERS = [
  'Mcp-Session-Id',
  'WWW-Authenticate',
  ...RATE_LIMIT_HEADERS,
  'Retry-After',
  'X-Token-Optimization-Saved',
]
/** `Mcp-Param-*` names depend on the tool, so a preflight may ask for any of them. */
const MCP_PARAM = /^mcp-param-[a-z0-9-]{1,64}$/i

export class Cors {
  readonly #options: CorsOptions
  readonly #methods: string
  readonly #proxiedMethods: string
  readonly #allowHeaders: string
  readonly #exposeHeaders: string
  readonly #none: readonly string[] = []

  constructor(options: CorsOptions) {
    this.#options = options
    this.#methods = options.methods.join(',')
    this.#proxiedMethods = union(options.methods, ['PATCH'])
    this.#allowHeaders = union(options.allowHeaders, MCP_REQUEST_HEADERS)
    this.#exposeHeaders = union(options.exposeHeaders, MCP_RESPONSE_HEADERS)
  }

  /** True when the request has no Origin or one that may call us. A browser page of another origin is refused by MCP endpoints (DNS rebinding). */
  allows(origin: string): boolean {
    const { origins, ownOrigin } = this.#options
    return origin === '' || origin === ownOrigin || origins.includes('*') || origins.includes(origin)
  }

  /** Headers of responses other than preflights. */
  headers(origin: string): readonly string[] {
    if (origin === '') return this.#none
    if (!this.allows(origin)) return ['vary', 'origin']
    return [
      'access-control-allow-origin',
      origin,
      'access-control-expose-headers',
      this.#exposeHeaders,
      'vary',
      'origin',
    ]
  }

  /**
   * Status and headers of a preflight (Fetch standard, "CORS-preflight request"); `headers` does not belong beside them.
   * @param proxied set when the path is that of a proxied API, which also takes PATCH and these request headers
   */
  preflight(
    request: HttpRequest,
    proxied?: { readonly headers: readonly string[] },
  ): { readonly status: number; readonly headers: readonly string[] } {
    const origin = request.header('origin')
    if (origin === '' || !this.allows(origin)) return { status: 403, headers: ['vary', 'origin'] }
    const asked = request.header('access-control-request-headers')
    const params = asked
      .split(',')
      .map(name => name.trim())
      .filter(name => MCP_PARAM.test(name))
      .slice(0, 32)
    return {
      status: 204,
      headers: [
        'access-control-allow-origin',
        origin,
        'access-control-allow-methods',
        proxied === undefined ? this.#methods : this.#proxiedMethods,
        'access-control-allow-headers',
        [this.#allowHeaders, ...params, ...(proxied?.headers ?? [])].join(','),
        'access-control-max-age',
        String(this.#options.maxAgeSecs),
        'vary',
        'origin',
      ],
    }
  }
}

/**
 * Cross-origin headers of a proxied response. The gateway responds to the preflight, so its rule replaces that of the upstream; what the
 * upstream varies on and exposes is kept. `Vary` names Origin even for a request without it: a cache may use the response for a page.
 * @param own as `Cors.headers` gives them
 */
export function proxiedCors(own: readonly string[], upstream: EgressHeaders): readonly string[] {
  const merged: string[] = []
  for (let at = 0; at < own.length; at += 2) {
    const name = own[at]!
    if (name === 'vary') continue
    const exposed = name === 'access-control-expose-headers' ? listOf(upstream.get(name)) : []
    merged.push(name, exposed.length === 0 ? own[at + 1]! : union(own[at + 1]!.split(','), exposed))
  }
  const varied = listOf(upstream.get('vary')).filter(name => name.toLowerCase() !== 'origin')
  merged.push('vary', [...varied, 'origin'].join(', '))
  return merged
}

function listOf(value: string): string[] {
  return value
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}

function union(own: readonly string[], always: readonly string[]): string {
  const known = new Set(own.map(name => name.toLowerCase()))
  return [...own, ...always.filter(name => !known.has(name.toLowerCase()))].join(',')
}
