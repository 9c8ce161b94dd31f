/** The cases of the load part: starts their servers, and names their requests and the case that each is compared with. */

import { type Child, startServer } from './child.ts'
import { hasEnvoy, startEnvoy } from './envoy.ts'
import { proxiedGet } from './gateway-calls.ts'
import { hasHaproxy, startHaproxy } from './haproxy.ts'
import { hasNginx, startNginx } from './nginx.ts'
import type { Named } from './part.ts'
import type { ProxyServer } from './proxy.ts'
import {
  BARE,
  BATCH,
  CALL_REST,
  CALL_RPC,
  CALL_RPC_MCP,
  FORWARDED,
  FORWARDED_GET,
  HEALTH,
  LIST,
  type LoadRequest,
  MCP_SERVER,
  over,
  PING,
} from './requests.ts'
import { startToolgate, type Toolgate } from './toolgate.ts'

/** Its id is behind `http/load/` in the results. */
export interface Case extends Named {
  readonly url: string
  readonly server: Child
  readonly request: LoadRequest
  /** Responses per request; 1 when absent. */
  readonly calls?: number
}

export interface Cases {
  readonly all: readonly Case[]
  readonly toolgate: Toolgate
  /**
   * Pauses the Node servers that the gateway is compared with, but for that of the case: some seconds after its load, an idle one collects
   * garbage in five threads, which keep the processor from the measured server for 20 ms and more.
   */
  only(one: Case): void
  stop(): Promise<void>
}

/** In one case; a token has to be found in the cache without cost that grows with their number. */
const TOKENS_IN_TURNS = 1024

const SERVER = new URL('./server.ts', import.meta.url).pathname

/** Starts all servers. @param backend address of the upstream they share @param workers of the gateway */
export async function startCases(
  backend: string,
  workers: number,
  progress: (text: string) => void,
): Promise<Cases> {
  const running: Child[] = []
  const peers: Child[] = []
  const stop = async (): Promise<void> => {
    for (const child of running.splice(0).reverse()) await child.stop()
  }
  try {
    const peer = async (kind: string): Promise<{ server: Child; url: string }> => {
      const server = await startServer(SERVER, [kind, kind === 'echo' ? '' : backend], 'server')
      running.push(server)
      peers.push(server)
      return { server, url: `http://127.0.0.1:${server.said}` }
    }
    progress('starting control plane and gateway')
    const toolgate = await startToolgate({
      upstream: backend,
      workers,
      side: 'server',
      mcpServer: `${backend}${MCP_SERVER}`,
    })
    running.push(toolgate)
    progress('starting the servers it is compared with')
    const bare = await peer('echo')
    const undici = await peer('uws-undici')
    const listBytes = await bytesOfList(toolgate)
    const long = await startServer(SERVER, ['long', String(listBytes)], 'server')
    running.push(long)
    peers.push(long)
    const nginx = hasNginx() ? await startNginx(backend) : undefined
    if (nginx !== undefined) running.push(nginx)
    else
      progress(
        'nginx is not installed: bare uWS to undici is the reference (scripts/services.sh nginx brings it)',
      )
    const issuer = toolgate.control.auth_url
    const haproxy = hasHaproxy() ? await startHaproxy(backend, issuer) : undefined
    if (haproxy !== undefined) running.push(haproxy)
    const envoy = hasEnvoy() ? await startEnvoy(backend, issuer) : undefined
    if (envoy !== undefined) running.push(envoy)
    if (haproxy === undefined || envoy === undefined)
      progress('HAProxy or Envoy is not installed (scripts/services.sh haproxy envoy brings them)')
    return {
      toolgate,
      only({ server }) {
        for (const each of peers) if (each !== server) each.pause()
        server.resume()
      },
      stop,
      all: [
        { id: 'bare/uws-post', name: 'bare uWS, POST read and discarded', ...bare, request: BARE },
        { id: 'bare/uws-get', name: 'bare uWS, GET', ...bare, request: FORWARDED_GET },
        {
          id: 'toolgate/listener',
          name: 'our listener alone, POST',
          ...(await peer('listener')),
          request: BARE,
          of: 'bare/uws-post',
        },
        {
          id: 'bare/uws-list',
          name: `bare uWS, POST, response of ${Math.round(listBytes / 1024)} KiB`,
          server: long,
          url: `http://127.0.0.1:${long.said}`,
          request: LIST,
          of: 'bare/uws-post',
        },
        ...withoutBackend(toolgate),
        ...proxies(nginx),
        { id: 'bare/uws-undici', name: 'bare uWS to undici, POST', ...undici, request: FORWARDED },
        ...withBackend(
          toolgate,
          nginx === undefined ? ['bare/uws-undici', 'bare/uws-undici'] : ['nginx/post', 'nginx/get'],
          await toolgate.tokens(TOKENS_IN_TURNS),
        ),
        ...checked(haproxy, envoy, toolgate.token, nginx !== undefined),
        ...(await fastify(peer)),
        {
          id: 'peer/mcp-sdk',
          name: 'official MCP SDK on express, tools/call',
          ...(await peer('mcp-sdk')),
          request: CALL_RPC,
          ...(nginx === undefined ? {} : { of: 'nginx/post' }),
        },
      ],
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** How long the response to tools/list is: what a bare server with a response of that size costs is part of the truth about ours. */
async function bytesOfList({ url, token }: Toolgate): Promise<number> {
  const { path, headers, body } = over(LIST, { authorization: `Bearer ${token}` })
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: { ...headers }, body: body ?? '' })
  return (await response.arrayBuffer()).byteLength
}

/** Our cases alone, for gateways that are compared with one another. */
export async function casesOf(toolgate: Toolgate): Promise<readonly Case[]> {
  return [
    ...withoutBackend(toolgate),
    ...withBackend(toolgate, ['', ''], await toolgate.tokens(TOKENS_IN_TURNS)),
  ]
}

type Peer = (kind: string) => Promise<{ server: Child; url: string }>

async function fastify(peer: Peer): Promise<readonly Case[]> {
  const at = await peer('fastify')
  return [
    { id: 'peer/fastify-http-proxy', name: 'fastify with http-proxy, POST', ...at, request: FORWARDED },
    {
      id: 'peer/fastify-http-proxy-get',
      name: 'fastify with http-proxy, GET',
      ...at,
      request: FORWARDED_GET,
    },
  ]
}

function proxies(server: ProxyServer | undefined): readonly Case[] {
  if (server === undefined) return []
  const at = { server, url: `http://127.0.0.1:${server.port}` }
  const caller = { authorization: 'Bearer of-no-one' }
  return [
    { id: 'nginx/post', name: 'nginx proxy_pass, POST, no check', ...at, request: FORWARDED },
    { id: 'nginx/get', name: 'nginx proxy_pass, GET, no check', ...at, request: FORWARDED_GET },
    {
      id: 'nginx/post-checked',
      name: 'nginx with limit_req, auth_request, POST',
      ...at,
      request: over(FORWARDED, caller, '/checked'),
      of: 'nginx/post',
    },
    {
      id: 'nginx/get-checked',
      name: 'nginx with limit_req, auth_request, GET',
      ...at,
      request: over(FORWARDED_GET, caller, '/checked'),
      of: 'nginx/get',
    },
  ]
}

/** Peers that verify the token of the caller and count the caller's requests. */
function checked(
  haproxy: ProxyServer | undefined,
  envoy: ProxyServer | undefined,
  token: string,
  besideNginx: boolean,
): readonly Case[] {
  const bearer = { authorization: `Bearer ${token}` }
  const at = (server: ProxyServer, of: string) => ({
    server,
    url: `http://127.0.0.1:${server.port}`,
    ...(besideNginx ? { of } : {}),
  })
  const get = over(FORWARDED_GET, bearer)
  return [
    ...(haproxy === undefined
      ? []
      : [
          {
            id: 'peer/haproxy-get',
            name: 'HAProxy with jwt_verify and a stick-table, GET',
            ...at(haproxy, 'nginx/get'),
            request: get,
          },
        ]),
    ...(envoy === undefined
      ? []
      : [
          {
            id: 'peer/envoy-get',
            name: 'Envoy with jwt_authn and local_ratelimit, GET',
            ...at(envoy, 'nginx/get'),
            request: get,
          },
          {
            id: 'peer/envoy-tools-call',
            name: 'Envoy with jwt_authn, local_ratelimit and its MCP bridge, tools/call',
            ...at(envoy, 'nginx/post'),
            request: over(CALL_RPC, bearer),
          },
        ]),
  ]
}

function withoutBackend(server: Toolgate): readonly Case[] {
  const at = { server, url: server.url }
  const bearer = { authorization: `Bearer ${server.token}` }
  return [
    { id: 'toolgate/health', name: 'toolgate: GET /health', ...at, request: HEALTH, of: 'bare/uws-get' },
    {
      id: 'toolgate/ping',
      name: 'toolgate: ping with token',
      ...at,
      request: over(PING, bearer),
      of: 'bare/uws-post',
    },
    {
      id: 'toolgate/tools-list',
      name: 'toolgate: tools/list, 31 tools',
      ...at,
      request: over(LIST, bearer),
      of: 'bare/uws-post',
    },
  ]
}

function withBackend(
  server: Toolgate,
  [post, get]: readonly [string, string],
  tokens: readonly string[],
): readonly Case[] {
  const at = { server, url: server.url, of: post }
  const bearer = { authorization: `Bearer ${server.token}` }
  return [
    {
      id: 'toolgate/tools-call',
      name: 'toolgate: tools/call, JSON-RPC',
      ...at,
      request: over(CALL_RPC, bearer),
    },
    {
      ...at,
      id: 'toolgate/tools-call-mcp',
      name: 'toolgate: tools/call, JSON-RPC, executed by an MCP server',
      request: over(CALL_RPC_MCP, bearer),
      of: 'toolgate/tools-call',
    },
    {
      ...at,
      id: 'toolgate/tools-call-1024-tokens',
      name: 'toolgate: tools/call, JSON-RPC, 1,024 tokens in turns',
      request: { ...over(CALL_RPC, bearer), tokens },
      of: 'toolgate/tools-call',
    },
    {
      id: 'toolgate/tools-call-rest',
      name: 'toolgate: tools/call, REST',
      ...at,
      request: over(CALL_REST, bearer),
    },
    {
      id: 'toolgate/batch-of-10',
      name: 'toolgate: batch of 10 calls, per call',
      ...at,
      request: over(BATCH, bearer),
      calls: 10,
    },
    {
      id: 'toolgate/proxied-get',
      name: 'toolgate: proxied GET with API key',
      ...at,
      request: proxiedGet(server),
      of: get,
    },
  ]
}
