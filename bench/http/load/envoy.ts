/** Envoy with one worker that does what a gateway does: it verifies the caller's token, limits requests and turns tools/call into a request of the backend. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keysOf } from './control-api.ts'
import { freePort, type ProxyServer, startProxy } from './proxy.ts'
import { CALL } from './requests.ts'

const PROGRAM = '.tools/envoy/bin/envoy'
/** Never reached: the cost of counting is measured, not a refusal. */
const MANY = 1_000_000_000

export function hasEnvoy(): boolean {
  return existsSync(PROGRAM)
}

/** @param issuer whose tokens are accepted */
export async function startEnvoy(upstream: string, issuer: string): Promise<ProxyServer> {
  const dir = mkdtempSync(join(tmpdir(), 'envoy-'))
  const port = await freePort()
  const config = join(dir, 'envoy.json')
  writeFileSync(config, JSON.stringify(configOf(port, new URL(upstream), issuer, await keysOf(issuer))))
  const command = `${PROGRAM} --concurrency 1 --disable-hot-restart --log-level error -c ${config}`
  const child = await startProxy({ name: 'Envoy', command, port, path: '/ready' })
  return {
    ...child,
    async stop() {
      await child.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const API = 'type.googleapis.com/envoy.extensions'
const extension = (name: string, type: string, fields: object = {}): object => ({
  name,
  typed_config: { '@type': `${API}.${type}`, ...fields },
})
const address = (port: number): object => ({
  socket_address: { address: '127.0.0.1', port_value: port },
})

function configOf(port: number, upstream: URL, issuer: string, keys: string): object {
  const limit = { max_tokens: MANY, tokens_per_fill: MANY, fill_interval: '1s' }
  const always = { default_value: { numerator: 100, denominator: 'HUNDRED' } }
  const filters = [
    extension('envoy.filters.http.jwt_authn', 'filters.http.jwt_authn.v3.JwtAuthentication', {
      providers: { gateway: { issuer, local_jwks: { inline_string: keys } } },
      rules: [
        { match: { path: '/ready' } },
        { match: { prefix: '/' }, requires: { provider_name: 'gateway' } },
      ],
    }),
    extension('envoy.filters.http.local_ratelimit', 'filters.http.local_ratelimit.v3.LocalRateLimit', {
      stat_prefix: 'limit',
      token_bucket: limit,
      filter_enabled: always,
      filter_enforced: always,
    }),
    extension(
      'envoy.filters.http.mcp_json_rest_bridge',
      'filters.http.mcp_json_rest_bridge.v3.McpJsonRestBridge',
      { tool_config: { tools: [{ name: CALL.name, http_rule: { get: '/products/{productId}' } }] } },
    ),
    extension('envoy.filters.http.router', 'filters.http.router.v3.Router'),
  ]
  const routes = [
    { match: { path: '/ready' }, direct_response: { status: 200 } },
    { match: { prefix: '/' }, route: { cluster: 'backend' } },
  ]
  const manager = extension(
    'envoy.filters.network.http_connection_manager',
    'filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      stat_prefix: 'callers',
      http_filters: filters,
      route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
    },
  )
  const backend = {
    name: 'backend',
    type: 'STATIC',
    load_assignment: {
      cluster_name: 'backend',
      endpoints: [{ lb_endpoints: [{ endpoint: { address: address(Number(upstream.port)) } }] }],
    },
  }
  return {
    static_resources: {
      listeners: [{ name: 'callers', address: address(port), filter_chains: [{ filters: [manager] }] }],
      clusters: [backend],
    },
  }
}
