/** Logs logins, logouts and refused requests at the pages, each with the address of the client. */
import type { ReportSession } from '../../console/login.ts'
import { clientAddresses } from '../../net/server/client-address.ts'
import type { WebHandler } from '../../net/server/web.ts'
import { limitRepeats } from '../../telemetry/limited-log.ts'
import type { AppContext } from './app-context.ts'

const peers = new WeakMap<Request, string>()

/** Keeps the peer of each request for the log. */
export function withPeers(respond: (request: Request) => Response | Promise<Response>): WebHandler {
  return (request, { peerAddress }) => {
    peers.set(request, peerAddress)
    return respond(request)
  }
}

export function sessionLog({ settings, log }: AppContext, page: string): ReportSession {
  const addressOf = clientAddresses(settings.sse.trustedProxies)
  // anyone may send any number of them
  const refusals = limitRepeats(log)
  return (event, request, error) => {
    const peerAddress = peers.get(request) ?? ''
    const client = addressOf({ peerAddress, header: name => request.headers.get(name) ?? '' })
    if (error === undefined) log.info({ page, event, client }, 'session')
    else refusals.info({ page, event, client, error }, 'session refused')
  }
}
