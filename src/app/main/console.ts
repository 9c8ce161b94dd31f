/** Opens console and portal with the key of their sessions and a client for the gateway, and mounts them before the control plane. */

import { createSealer } from '../../base/secrets/sealer.ts'
import { VERSION } from '../../base/version.ts'
import { type Console, type ConsoleControlPlane, createConsole } from '../../console/console.ts'
import type { SessionMarks } from '../../console/session-marks.ts'
import type { Theme } from '../../console/theme.ts'
import { SEEDED_CLIENTS } from '../../identity/dev-provider/people.ts'
import type { TokenVerifier } from '../../identity/verifier.ts'
import type { WebHandler } from '../../net/server/web.ts'
import type { AppContext } from './app-context.ts'
import { consoleKey } from './console-key.ts'
import { gatewayClient } from './local-address.ts'
import { pagesAt } from './pages.ts'
import { readTheme } from './portal-theme.ts'
import { sessionLog, withPeers } from './session-log.ts'
import { reportUnrevoked } from './session-marks.ts'

export interface ConsoleParts {
  readonly verifier: TokenVerifier
  readonly marks: SessionMarks
  readonly gatewayUrl: string
  /** The gateway as this process reaches it; the public address when absent. */
  readonly gatewayAddress: string | undefined
  /** Public URL of the listener that serves the console, when it is configured. */
  readonly publicUrl: string | undefined
  readonly controlPlane?: ConsoleControlPlane
}

/** Serves `/console` and `/portal` before the handler. @throws Error if the key in `DATA_DIR` or the theme of the portal cannot be used */
export function withPages(context: AppContext, parts: ConsoleParts, handler: WebHandler): WebHandler {
  const { settings } = context
  const key = settings.console.enabled || settings.portal.enabled ? consoleKey(settings) : ''
  const pages = [
    ...(settings.console.enabled ? [openConsole(context, parts, key)] : []),
    ...(settings.portal.enabled
      ? [openConsole(context, { ...parts, portal: readTheme(settings.portal.theme) }, key)]
      : []),
  ]
  return (request, peer) => {
    const path = new URL(request.url).pathname
    const page = pages.find(page => page.serves(path))
    return page === undefined ? handler(request, peer) : withPeers(page.fetch)(request, peer)
  }
}

/** The part that serves a path of the control plane's listener, as messages name it. */
export function partAt(path: string): string {
  return /^\/(console|portal)(?:\/|$)/.exec(path)?.[1] ?? 'control plane'
}

/** @param key seals the sessions */
export function openConsole(
  context: AppContext,
  parts: ConsoleParts & { readonly portal?: Theme },
  key: string,
): Console {
  const { settings, closers, clock, log } = context
  const page = parts.portal === undefined ? 'console' : 'portal'
  const gatewayAddress = parts.gatewayAddress ?? parts.gatewayUrl
  const egress = gatewayClient(
    gatewayAddress,
    parts.gatewayAddress === undefined ? undefined : settings.gateway.tls,
  )
  closers.add(`HTTP client of the ${page}`, () => egress.close())
  return createConsole({
    ...parts,
    gatewayAddress,
    egress,
    sealer: createSealer(key),
    hasProvider: settings.auth.provider !== 'none',
    clientId: settings.console.clientId,
    besidePortal: parts.portal === undefined && pagesAt('.', settings).portal !== undefined,
    demoClients:
      settings.auth.provider === 'embedded'
        ? SEEDED_CLIENTS.filter(({ tenant }) => tenant !== undefined)
        : [],
    version: VERSION,
    onFault: error => log.error({ err: error }, `a request to the ${page} failed`),
    onUnrevoked: reportUnrevoked(context),
    onSession: sessionLog(context, page),
    now: clock.now,
  })
}
