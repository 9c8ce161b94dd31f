/** Serves console and connections of a gateway under a separate host name, so that no proxied page has their origin. */
import { hostOf } from '../../base/bare-host.ts'
import type { Console } from '../../console/console.ts'
import { nameCheck } from '../../net/server/allowed-hosts.ts'
import type { HttpHandler, HttpRequest, HttpResponse } from '../../net/server/listener.ts'
import { NOSNIFF, NOT_STORED } from '../../net/server/pages.ts'
import { mountWeb } from '../../net/server/web.ts'
import { type AppContext, MAX_REQUEST_BODY_BYTES } from './app-context.ts'
import { type ConnectionsParts, connectionsHandler } from './connections.ts'
import { consoleKey } from './console-key.ts'
import { NO_PAGES } from './pages.ts'
import { withPeers } from './session-log.ts'

/** Page at a path: its first segment. */
const PAGE = /^\/(console|connections)(?:\/|$)/

export interface GatewayPagesParts extends Omit<ConnectionsParts, 'pagesUrl'> {
  /** Public address of the pages, without trailing slash; undefined: none is served. */
  readonly pagesUrl: string | undefined
}

/**
 * Serves the pages before the handler, in each thread: the sessions are in cookies. The console is that of the control plane, where this process
 * has one.
 * @throws Error if the key in `DATA_DIR` cannot be used
 */
export function withGatewayPages(
  context: AppContext,
  parts: GatewayPagesParts,
  handler: HttpHandler,
): HttpHandler {
  const { settings } = context
  const { pagesUrl = '' } = parts
  const pages = new Map<string, HttpHandler>()
  if (settings.role === 'gateway' && settings.console.enabled)
    pages.set('console', consoleHandler(context, { ...parts, pagesUrl }))
  if (settings.auth.provider !== 'none')
    pages.set('connections', connectionsHandler(context, { ...parts, pagesUrl }))
  const [first] = pages.keys()
  const isOfPages = pagesUrl === '' ? () => false : nameCheck(hostOf(pagesUrl))
  return (request, response) => {
    const page = pages.get(PAGE.exec(request.path)?.[1] ?? '')
    if (isOfPages(request.header('host'))) {
      if (page !== undefined) return page(request, response)
      if (request.path === '/' && first !== undefined) return redirect(response, `${pagesUrl}/${first}/`)
      return refuse(response, 'Under this host name (PAGES_URL) the gateway serves its pages alone.')
    }
    if (page === undefined) return handler(request, response)
    if (pagesUrl === '') return refuse(response, NO_PAGES)
    redirect(response, pageOf(request, pagesUrl))
  }
}

function pageOf({ path, query }: HttpRequest, pagesUrl: string): string {
  return new URL(`${pagesUrl}${path}${query === '' ? '' : `?${query}`}`).href
}

/** 303: what the request would have changed, it changes nowhere. */
function redirect(response: HttpResponse, location: string): void {
  response.send(303, ['location', location, ...NOT_STORED, ...NOSNIFF])
}

function refuse(response: HttpResponse, message: string): void {
  response.send(
    404,
    ['content-type', 'application/json', ...NOSNIFF],
    JSON.stringify({ error: 'not_found', message }),
  )
}

/** Loads the console at its first request. */
function consoleHandler(
  context: AppContext,
  { verifier, marks, gatewayUrl, gatewayAddress, pagesUrl }: ConnectionsParts,
): HttpHandler {
  // read now: a fault of the key is a fault of the start, and all threads have the same key
  const key = consoleKey(context.settings)
  let opened: Promise<Console> | undefined
  async function open(): Promise<Console> {
    const { openConsole } = await import('./console.ts')
    return openConsole(context, { verifier, marks, gatewayUrl, gatewayAddress, publicUrl: pagesUrl }, key)
  }
  return mountWeb(
    withPeers(async request => {
      opened ??= open().catch(error => {
        opened = undefined
        throw error
      })
      return (await opened).fetch(request)
    }),
    {
      maxBodyBytes: MAX_REQUEST_BODY_BYTES,
      scheme: context.settings.gateway.tls === undefined ? 'http' : 'https',
      onError: error => context.log.error({ err: error }, 'a request to the console failed'),
    },
  )
}
