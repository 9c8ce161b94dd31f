/** The embedded identity provider, for development only: `oidc-provider` behind the addresses of a Keycloak realm. No production use. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JWK } from 'jose'
import type { Log } from '../../telemetry/log.ts'
import { asBehindGateway } from './behind-gateway.ts'
import { providerConfiguration } from './configuration.ts'
import { respondToInteraction } from './interaction.ts'
import { loadLibrary, withoutBanners } from './library.ts'
import { type DevClient, SEEDED_CLIENTS } from './people.ts'
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
  /** Unix ms; a clock that tests advance. Default: the clock of the machine. */
  readonly now?: () => number
  /** Instead of the seeded ones. */
  readonly clients?: readonly DevClient[]
}

export interface DevProvider {
  readonly issuer: string
  readonly port: number
  close(): Promise<void>
}

const REALM = '/realms/platform'

/** @throws Error naming the port and the setting when it is taken. */
export async function startDevProvider(options: DevProviderOptions): Promise<DevProvider> {
  const keys = await loadSigningKeys(options.dataDir)
  let respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.writeHead(503).end()
  const server = createServer({ requestTimeout: 30_000, maxHeaderSize: 16 * 1024 }, (request, response) =>
    respond(request, response),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const { host, port } = options
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(
              `port ${port} on ${host} is taken. Set AUTH_PORT to another one, or to 0 for a free one.`,
            )
          : error,
      )
    })
    server.listen(options.port, options.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  const issuer = `${options.publicUrl?.replace(/\/+$/, '') ?? `http://localhost:${port}`}${REALM}`
  respond = await buildHandler(issuer, keys, options)
  options.log.info({ issuer }, 'the embedded identity provider is running; it is for development only')
  return {
    issuer,
    port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function buildHandler(
  issuer: string,
  { keys }: { readonly keys: readonly JWK[] },
  { log, clients = SEEDED_CLIENTS, now = Date.now }: DevProviderOptions,
): Promise<(request: IncomingMessage, response: ServerResponse) => void> {
  const provider = await withoutBanners(log, async () => {
    const { Provider, errors } = await loadLibrary()
    const { InvalidTarget } = errors
    return new Provider(
      issuer,
      providerConfiguration({ keys, clients, mountPath: REALM, now, InvalidTarget }),
    )
  })
  provider.proxy = true
  provider.on('server_error', (_, error: Error) =>
    log.error({ reason: error.message }, 'the embedded identity provider failed'),
  )
  provider.use(asBehindGateway)
  const handle = provider.callback()
  const { host, protocol } = new URL(issuer)
  return (request, response) => {
    const path = request.url ?? '/'
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

function failInteraction(error: unknown, response: ServerResponse, log: Log): void {
  const expired = (error as { name?: string } | null)?.name === 'SessionNotFound'
  if (!expired)
    log.warn({ reason: (error as Error).message }, 'a sign-in at the embedded identity provider failed')
  if (response.headersSent) return void response.destroy()
  response
    .writeHead(expired ? 400 : 500, { 'content-type': 'text/plain; charset=utf-8' })
    .end('This sign-in has expired or was begun in another browser. Start again from your client.\n')
}
