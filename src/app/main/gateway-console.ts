/** Serves `/console` on a gateway's own listener, and loads the console at the first request for it. */
import type { Console } from '../../console/console.ts'
import type { HttpHandler } from '../../net/server/listener.ts'
import { mountWeb } from '../../net/server/web.ts'
import { type AppContext, MAX_REQUEST_BODY_BYTES } from './app-context.ts'
import type { ConsoleParts } from './console.ts'
import { consoleKey } from './console-key.ts'

const CONSOLE = '/console'

/**
 * Serves the console before the handler, in each thread: the sessions are in cookies.
 * @throws Error if the key in `DATA_DIR` cannot be used
 */
export function withGatewayConsole(
  context: AppContext,
  parts: ConsoleParts,
  handler: HttpHandler,
): HttpHandler {
  if (!context.settings.console.enabled) return handler
  // read now: a fault of the key is a fault of the start, and all threads have the same key
  const key = consoleKey(context.settings)
  let opened: Promise<Console> | undefined
  async function open(): Promise<Console> {
    const { openConsole } = await import('./console.ts')
    return openConsole(context, parts, key)
  }
  const web = mountWeb(
    async request => {
      opened ??= open().catch(error => {
        opened = undefined
        throw error
      })
      return (await opened).fetch(request)
    },
    {
      maxBodyBytes: MAX_REQUEST_BODY_BYTES,
      scheme: context.settings.gateway.tls === undefined ? 'http' : 'https',
      onError: error => context.log.error({ err: error }, 'a request to the console failed'),
    },
  )
  return (request, response) =>
    isOfConsole(request.path) ? web(request, response) : handler(request, response)
}

function isOfConsole(path: string): boolean {
  return path === CONSOLE || path.startsWith(`${CONSOLE}/`)
}
