/** Routes of the gateway and of proxied APIs, preflights, and refusals before an endpoint. It normalizes no path: the `RouteMatcher` does. */

import { type Refusal, refuse } from '../../model/refusal.ts'
import type { HttpHandler } from '../../net/server/listener.ts'
import { ownCorsOf } from '../proxy/api-cors.ts'
import { chooseVersion, defaultVersion, type Site, sitesOf, versionHeaders } from '../proxy/api-versions.ts'
import type { ApiProxy } from '../proxy/proxy.ts'
import type { CompiledApi, Snapshot } from '../snapshot/snapshot.ts'
import type { Admin } from './admin/admin.ts'
import type { CallsAdmin } from './admin/admin-calls.ts'
import type { OverviewAdmin } from './admin/admin-overview.ts'
import type { PolicyAdmin } from './admin/admin-policy.ts'
import type { SimulateAdmin } from './admin/admin-simulate.ts'
import { Call } from './call.ts'
import type { Cors } from './cors.ts'
import { capabilities, root } from './discovery.ts'
import type { GatewayParts } from './gateway.ts'
import { health, mcpHealth, ready } from './health.ts'
import type { McpEndpoint } from './mcp/endpoint.ts'
import { isJsonRpcPath, JSON_RPC_PATHS } from './mcp/paths.ts'
import { refuseMessage } from './mcp/replies.ts'
import type { OAuthFront } from './oauth/front.ts'
import { documentPreflight, isPublicDocument, oauthRoutes } from './oauth/routes.ts'
import { registryEntry, serverCard } from './presentation.ts'
import type { RestTools } from './rest.ts'

export interface RouteRow {
  readonly method: string
  /** `{name}` is one segment. */
  readonly pattern: string
}

/** What the router needs of the kernel: one crossing per request. */
export interface RouteMatcher {
  /** Row of the table that `method` and the raw `path` match after normalization, or a reason why none does. */
  match(method: string, path: string): number | 'not_found' | 'method_not_allowed' | 'bad_path'
  /** Methods of the path that matched last, after `method_not_allowed`. */
  allowed(): readonly string[]
  /** Value of the nth `{name}` of the row that matched last, normalized. */
  param(index: number): string
}

interface Route extends RouteRow {
  readonly endpoint: (call: Call, table: RouteMatcher) => void
}

/** Load balancers ask here; never limited. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(['/health', '/ready', '/mcp/health'])

/** Routes that `proxyRoutes` makes of one prefix. */
const ROUTES_PER_SITE = 2

type SnapshotEndpoint = (call: Call, snapshot: Snapshot, table: RouteMatcher) => void

interface RouterParts {
  readonly gateway: GatewayParts
  readonly cors: Cors
  readonly rest: RestTools
  readonly mcp: McpEndpoint
  readonly admin: Admin
  readonly calls: CallsAdmin
  readonly overview: OverviewAdmin
  readonly simulation: SimulateAdmin
  readonly policy: PolicyAdmin
  readonly oauth: OAuthFront
  readonly proxy: ApiProxy
  /** Makes the matcher of a table; called again for each snapshot whose API prefixes differ. */
  readonly matcher: (rows: readonly RouteRow[]) => RouteMatcher
}

export interface Router {
  readonly handler: HttpHandler
  /**
   * Takes up the proxied APIs of a snapshot.
   * @throws Error naming the route that cannot be one; the table before goes on serving.
   */
  load(snapshot: Snapshot): void
}

export function createRouter(parts: RouterParts): Router {
  const { gateway, cors, rest } = parts
  const fixed: readonly Route[] = [...routeTable(parts), ...oauthRoutes(parts.oauth, gateway)]
  let routes = fixed
  let table = parts.matcher(routes)
  let loaded: readonly CompiledApi[] = []
  let sites: readonly Site[] = []

  /** The proxied API at a path, with any method. */
  function siteAt(path: string): Site | undefined {
    const row = table.match('PATCH', path)
    if (typeof row !== 'number' || row < fixed.length) return undefined
    return sites[Math.floor((row - fixed.length) / ROUTES_PER_SITE)]
  }

  return {
    load(snapshot) {
      const { apis } = snapshot
      if (apis === loaded || (apis.length === 0 && loaded.length === 0)) return
      parts.proxy.load(snapshot)
      // most changes leave the addresses as they are: then the table in the kernel stays too
      const present = sitesOf(apis)
      if (present.length !== sites.length || present.some((site, at) => site.prefix !== sites[at]!.prefix)) {
        const next = [
          ...fixed,
          ...present.flatMap((site, at) => proxyRoutes(parts, site.prefix, () => sites[at]!)),
        ]
        table = parts.matcher(next)
        routes = next
      }
      sites = present
      loaded = apis
    },
    handler(request, response) {
      const corsHeaders = cors.headers(request.header('origin'))
      const call = new Call(request, response, corsHeaders, gateway.nowMs(), gateway.heldBytes)
      if (request.method === 'OPTIONS') {
        if (isPublicDocument(request.path)) return documentPreflight(call)
        const site = siteAt(request.path)
        const names = site && versionHeaders(site)
        const own = site && ownCorsOf(defaultVersion(site))
        const { status, headers } =
          own?.preflight(request, names!) ?? cors.preflight(request, names && { headers: names })
        return call.sendWithOwnCors(status, '', headers)
      }
      const refusal = gateway.attempts.check(call)
      if (refusal !== undefined && !HEALTH_PATHS.has(request.path)) {
        const site = siteAt(request.path)
        if (site !== undefined) adoptCors(call, defaultVersion(site))
        return isJsonRpcPath(request.path) && request.method === 'POST'
          ? refuseMessage(gateway, call, refusal)
          : rest.refuse(call, refusal)
      }
      // RFC 9110 §9.3.2: HEAD is GET without the body, which the listener leaves out
      const method = request.method === 'HEAD' ? 'GET' : request.method
      const row = table.match(method, request.path)
      if (typeof row === 'number') return routes[row]!.endpoint(call, table)
      // the addresses of proxied APIs are unknown before the first snapshot
      if (row === 'not_found' && gateway.snapshot() === undefined)
        return rest.refuse(call, refuse('not_ready', { retryAfterSecs: 1 }))
      const allow = row === 'method_not_allowed' ? ['allow', table.allowed().join(', ')] : []
      rest.refuse(call, refusalOf(row, request.path), allow)
    },
  }
}

/** The address itself and everything below it, with every method. */
function proxyRoutes(parts: RouterParts, prefix: string, site: () => Site): readonly Route[] {
  const route = (pattern: string, restOf: (table: RouteMatcher) => string): Route => ({
    method: '*',
    pattern,
    endpoint: (call, table) => {
      const snapshot = parts.gateway.snapshot()
      if (snapshot === undefined) return parts.rest.refuse(call, refuse('not_ready', { retryAfterSecs: 1 }))
      const api = chooseVersion(site(), call)
      adoptCors(call, 'reason' in api ? defaultVersion(site()) : api)
      if ('reason' in api) parts.rest.refuse(call, api)
      else void parts.proxy.handle(call, snapshot, api, restOf(table))
    },
  })
  return [route(prefix, () => ''), route(`${prefix}/*`, table => `/${table.param(0)}`)]
}

function adoptCors(call: Call, api: CompiledApi): void {
  const own = ownCorsOf(api)
  if (own !== undefined) call.corsHeaders = own.headers(call.request.header('origin'))
}

function refusalOf(fault: 'not_found' | 'method_not_allowed' | 'bad_path', path: string): Refusal {
  if (fault === 'not_found') return refuse('route_not_found')
  if (fault === 'method_not_allowed') return refuse('method_not_allowed')
  return refuse('invalid_request', {
    message: `The path is not valid: encoded slashes, control characters, invalid UTF-8 and very long paths are refused (this path has ${path.length} characters).`,
  })
}

/** The kernel leaves reserved characters encoded; it has refused everything that would not decode. */
function decodeSegment(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment
}

function routeTable({
  gateway: parts,
  rest,
  mcp,
  admin,
  calls,
  overview,
  simulation,
  policy,
}: RouterParts): readonly Route[] {
  const withSnapshot = (endpoint: SnapshotEndpoint) => (call: Call, table: RouteMatcher) => {
    const snapshot = parts.snapshot()
    if (snapshot === undefined) rest.refuse(call, refuse('not_ready', { retryAfterSecs: 1 }))
    else endpoint(call, snapshot, table)
  }
  const route = (method: string, pattern: string, endpoint: SnapshotEndpoint): Route => {
    return { method, pattern, endpoint: withSnapshot(endpoint) }
  }
  return [
    { method: 'GET', pattern: '/', endpoint: call => root(parts, call) },
    { method: 'GET', pattern: '/health', endpoint: health },
    { method: 'GET', pattern: '/ready', endpoint: call => ready(parts, call) },
    {
      method: 'GET',
      pattern: '/.well-known/mcp/server-card.json',
      endpoint: call => serverCard(parts, call),
    },
    { method: 'GET', pattern: '/.well-known/mcp/server.json', endpoint: call => registryEntry(parts, call) },
    { method: 'GET', pattern: '/mcp/capabilities', endpoint: call => capabilities(parts, call) },
    { method: 'GET', pattern: '/mcp/health', endpoint: call => void mcpHealth(parts, call) },
    route('GET', '/admin/sessions/stats', (call, snapshot) => admin.sessionStatistics(call, snapshot)),
    route('GET', '/admin/quotas', (call, snapshot) => admin.quotas(call, snapshot)),
    route('GET', '/admin/quotas/{consumer_id}', (call, snapshot, table) =>
      admin.quota(call, snapshot, decodeSegment(table.param(0))),
    ),
    route('POST', '/admin/quotas/{consumer_id}/reset', (call, snapshot, table) =>
      admin.reset(call, snapshot, decodeSegment(table.param(0))),
    ),
    route('GET', '/admin/calls', (call, snapshot) => calls.list(call, snapshot)),
    route('GET', '/admin/calls/stream', (call, snapshot) => calls.stream(call, snapshot)),
    route('GET', '/admin/calls/{id}', (call, snapshot, table) =>
      calls.one(call, snapshot, decodeSegment(table.param(0))),
    ),
    route('GET', '/admin/overview', (call, snapshot) => overview.overview(call, snapshot)),
    route('GET', '/admin/tools', (call, snapshot) => overview.tools(call, snapshot)),
    route('GET', '/admin/toolsets', (call, snapshot) => overview.toolSets(call, snapshot)),
    route('GET', '/admin/workers', (call, snapshot) => overview.workers(call, snapshot)),
    route('POST', '/admin/simulate', (call, snapshot) => simulation.simulate(call, snapshot)),
    route('GET', '/admin/policy/decisions', (call, snapshot) => policy.search(call, snapshot)),
    route('GET', '/admin/policy', (call, snapshot) => policy.status(call, snapshot)),
    route('GET', '/admin/policy/decisions/{id}', (call, snapshot, table) =>
      policy.decision(call, snapshot, decodeSegment(table.param(0))),
    ),
    route('POST', '/admin/policy/promote', (call, snapshot) => policy.promote(call, snapshot)),
    route('POST', '/admin/cache/clear', (call, snapshot) => admin.clearCache(call, snapshot)),
    ...['/mcp/v1/tools', '/mcp/tools/list'].map(path =>
      route('POST', path, (call, snapshot) => rest.list(call, snapshot)),
    ),
    ...['/mcp/v1/tools/invoke', '/mcp/tools/call'].map(path =>
      route('POST', path, (call, snapshot) => rest.call(call, snapshot)),
    ),
    ...JSON_RPC_PATHS.flatMap(path => [
      route('GET', path, (call, snapshot) => mcp.get(call, snapshot)),
      route('DELETE', path, (call, snapshot) => mcp.delete(call, snapshot)),
      route('POST', path, (call, snapshot) => mcp.post(call, snapshot)),
    ]),
  ]
}
