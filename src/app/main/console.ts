/** Opens the server side of the console: key of its sessions, client for the gateway, development logins. It opens no port. */
import { join } from 'node:path'
import { type Console, type ConsoleControlPlane, createConsole } from '../../console/console.ts'
import { hostOf } from '../../model/bare-host.ts'
import { createEgress } from '../../shared/egress/client.ts'
import { SEEDED_CLIENTS } from '../../shared/identity/dev-provider/people.ts'
import type { TokenVerifier } from '../../shared/identity/verifier.ts'
import { keptKey } from '../../shared/secrets/key-file.ts'
import { createSealer } from '../../shared/secrets/sealer.ts'
import type { HttpHandler } from '../../shared/server/listener.ts'
import { mountWeb, type WebHandler } from '../../shared/server/web.ts'
import { VERSION } from '../../shared/version.ts'
import { type AppContext, MAX_REQUEST_BODY_BYTES } from './app-context.ts'

export interface ConsoleParts {
  readonly verifier: TokenVerifier
  readonly gatewayUrl: string
  /** The gateway as this process reaches it; the public address when absent. */
  readonly gatewayAddress: string | undefined
  /** Of the listener that serves the console, when it is configured. */
  readonly publicUrl: string | undefined
  readonly controlPlane?: ConsoleControlPlane
}

/** Serves `/console` before the handler. @throws Error if the key in `DATA_DIR` cannot be read or created */
export function withConsole(context: AppContext, parts: ConsoleParts, handler: WebHandler): WebHandler {
  const served = openConsole(context, parts)
  if (served === undefined) return handler
  return (request, peer) =>
    served.serves(new URL(request.url).pathname) ? served.fetch(request) : handler(request, peer)
}

/** The same for a handler of the listener, in each thread: the sessions are in cookies. */
export function withGatewayConsole(
  context: AppContext,
  parts: ConsoleParts,
  handler: HttpHandler,
): HttpHandler {
  const served = openConsole(context, parts)
  if (served === undefined) return handler
  const web = mountWeb(request => served.fetch(request), {
    maxBodyBytes: MAX_REQUEST_BODY_BYTES,
    scheme: context.settings.gateway.tls === undefined ? 'http' : 'https',
    onError: error => context.log.error({ err: error }, 'a request to the console failed'),
  })
  return (request, response) =>
    served.serves(request.path) ? web(request, response) : handler(request, response)
}

function openConsole(context: AppContext, parts: ConsoleParts): Console | undefined {
  const { settings, closers, clock } = context
  if (!settings.console.enabled) return undefined
  const gatewayAddress = parts.gatewayAddress ?? parts.gatewayUrl
  // the operator configured the address: it may be private
  const egress = createEgress({
    allow: [hostOf(gatewayAddress)],
    allowLoopback: true,
  })
  closers.add('connections of the console', () => egress.close())
  return createConsole({
    ...parts,
    gatewayAddress,
    egress,
    sealer: createSealer(settings.secretsKey ?? keptKey(join(settings.dataDir, 'console.key')).key),
    hasProvider: settings.auth.provider !== 'none',
    clientId: settings.console.clientId,
    demoClients:
      settings.auth.provider === 'embedded'
        ? SEEDED_CLIENTS.filter(({ tenant }) => tenant !== undefined)
        : [],
    version: VERSION,
    now: clock.now,
  })
}
