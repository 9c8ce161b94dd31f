/** The HTTP server of the embedded identity provider, around `oidc-provider`. It is for development only. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { JWK } from 'jose'
import type { KoaContextWithOIDC } from 'oidc-provider'
import {
  allowHosts,
  FOREIGN_HOST_BODY,
  FOREIGN_HOST_HEADERS,
  FOREIGN_HOST_STATUS,
  type HostCheck,
} from '../../net/server/allowed-hosts.ts'
import { openPlainServer } from '../../net/server/plain-server.ts'
import type { Log } from '../../telemetry/log.ts'
import { respondToInteraction } from './interaction.ts'
import { loadLibrary, withoutBanners } from './library.ts'
import { type DevClient, SEEDED_CLIENTS } from './people.ts'
import { providerConfiguration } from './provider-configuration.ts'
import { loadSigningKeys } from './signing-key.ts'

export interface DevProviderOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Origin under which clients reach it; `http://localhost:<port>` when absent. */
  readonly publicUrl?: string
  /** Holds the signing key. */
  readonly dataDir: string
  readonly log: Log
  /** Names under which it serves; without it `localhost` and IP addresses. */
  readonly isServed?: HostCheck
  /** Pages of these origins may call it (`CORS_ORIGINS`); pages of others may only be redirected to it. */
  readonly origins?: readonly string[]
  /** Unix ms; a clock that tests advance. Default: the clock of the machine. */
  readonly now?: () => number
  /** Instead of the seeded ones. */
  readonly clients?: readonly DevClient[]
  /** Reads documents of clients, in place of the library's own, which reaches public addresses only. */
  readonly fetch?: typeof fetch
}

export interface DevProvider {
  readonly issuer: string
  readonly port: number
  close(): Promise<void>
}

const REALM = '/realms/platform'
const AUTHORIZATION = `${REALM}/protocol/openid-connect/auth?`
/** For a request without scope, which RFC 6749 §3.3 leaves to the provider; Keycloak grants its default client scopes. */
const DEFAULT_SCOPE = 'openid platform:read platform:execute'

/** @throws Error naming the port and the setting when it is taken. */
export async function startDevProvider(options: DevProviderOptions): Promise<DevProvider> {
  const keys = await loadSigningKeys(options.dataDir)
  let respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.writeHead(503).end()
  const server = createServer({ requestTimeout: 30_000, maxHeaderSize: 16 * 1024 }, (request, response) =>
    respond(request, response),
  )
  const opened = await openPlainServer(server, { host: options.host, port: options.port }).catch(error => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new Error(
      `port ${options.port} on ${options.host} is taken. Set AUTH_PORT to another port, or to 0 for a free port.`,
    )
  })
  const { port } = opened
  const issuer = `${options.publicUrl?.replace(/\/+$/, '') ?? `http://localhost:${port}`}${REALM}`
  respond = await buildHandler(issuer, keys, options)
  options.log.info({ issuer }, 'the embedded identity provider is running; it is for development only')
  return { issuer, ...opened }
}

/**
 * Refuses requests to names that are not served, and requests of pages of other origins except GET and HEAD, which a navigation needs. The
 * library lets every origin read, so its cross-origin headers are dropped for those that are not allowed.
 * @returns false when the request was refused
 */
function admitPage(
  request: IncomingMessage,
  response: ServerResponse,
  isServed: HostCheck,
  origins: readonly string[],
): boolean {
  response.setHeader('x-content-type-options', 'nosniff')
  const { host = '', origin } = request.headers
  if (!isServed(host)) {
    response.writeHead(FOREIGN_HOST_STATUS, FOREIGN_HOST_HEADERS.slice(0, 2)).end(FOREIGN_HOST_BODY)
    return false
  }
  const isAllowed = origins.includes('*') || origins.includes(origin ?? '') || origin === `http://${host}`
  if (origin === undefined || isAllowed) return true
  const setHeader = response.setHeader.bind(response)
  response.setHeader = (name, value) => (/^access-control-/i.test(name) ? response : setHeader(name, value))
  if (request.method === 'GET' || request.method === 'HEAD') return true
  response
    .writeHead(403, { 'content-type': 'text/plain; charset=utf-8' })
    .end('Web pages from this origin may not call the identity provider. Add the origin to CORS_ORIGINS.\n')
  return false
}

async function buildHandler(
  issuer: string,
  { keys }: { readonly keys: readonly JWK[] },
  {
    log,
    clients = SEEDED_CLIENTS,
    isServed = allowHosts([]),
    origins = [],
    now = Date.now,
    fetch,
  }: DevProviderOptions,
): Promise<(request: IncomingMessage, response: ServerResponse) => void> {
  const provider = await withoutBanners(log, async () => {
    const { Provider, errors } = await loadLibrary()
    const { InvalidTarget, InvalidClientMetadata } = errors
    const mountPath = REALM
    return new Provider(
      issuer,
      providerConfiguration({ keys, clients, mountPath, now, fetch, InvalidTarget, InvalidClientMetadata }),
    )
  })
  provider.proxy = true
  provider.on('server_error', (_, error: Error) =>
    log.error({ reason: error.message }, 'the embedded identity provider failed to process a request'),
  )
  provider.use(asBehindGateway)
  const handle = provider.callback()
  const { host, protocol } = new URL(issuer)
  return (request, response) => {
    if (!admitPage(request, response, isServed, origins)) return
    const path = withScope(request.url ?? '/')
    if (!path.startsWith(`${REALM}/`)) return void response.writeHead(404).end()
    // URLs in responses begin with the issuer, not with the host name of the request.
    request.headers.host = host
    request.headers['x-forwarded-host'] = host
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
    const mounted = request as IncomingMessage & { originalUrl?: string }
    mounted.originalUrl = path
    request.url = path.slice(REALM.length)
    if (!request.url.startsWith('/interaction/')) return void handle(request, response)
    respondToInteraction(provider, request, response).catch((error: unknown) =>
      failInteraction(error, response, log),
    )
  }
}

function withScope(path: string): string {
  if (!path.startsWith(AUTHORIZATION)) return path
  const query = new URLSearchParams(path.slice(AUTHORIZATION.length))
  if (query.has('scope')) return path
  query.set('scope', DEFAULT_SCOPE)
  return `${AUTHORIZATION}${query}`
}

function failInteraction(error: unknown, response: ServerResponse, log: Log): void {
  const expired = (error as { name?: string } | null)?.name === 'SessionNotFound'
  if (!expired)
    log.warn({ reason: (error as Error).message }, 'a sign-in at the embedded identity provider failed')
  if (response.headersSent) return void response.destroy()
  response
    .writeHead(expired ? 400 : 500, { 'content-type': 'text/plain; charset=utf-8' })
    .end('This sign-in expired, was started in another browser, or failed. Start again from your client.\n')
}

/**
 * Takes `iss` (RFC 9207) out of redirects to the client and out of the discovery document: such clients recorded the gateway as
 * issuer and would refuse the provider's; Keycloak has the client attribute `exclude.issuer.from.auth.response` for it.
 * And drops the secret that the library makes for a registered client although it is public.
 */
async function asBehindGateway(ctx: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> {
  await next()
  const location = ctx.response.get('location')
  if (URL.canParse(location)) {
    const target = new URL(location)
    if (target.searchParams.has('iss')) {
      target.searchParams.delete('iss')
      ctx.set('location', target.href)
    }
  }
  if (typeof ctx.body !== 'object' || ctx.body === null || Buffer.isBuffer(ctx.body)) return
  const body = ctx.body as Record<string, unknown>
  if ('authorization_response_iss_parameter_supported' in body) {
    ctx.body = { ...body, authorization_response_iss_parameter_supported: false }
  } else if (body.token_endpoint_auth_method === 'none' && 'client_secret' in body) {
    const { client_secret: _, client_secret_expires_at: __, ...rest } = body
    ctx.body = rest
  }
}
