/** Sends the CORS preflight of a browser for clients that are web pages, and checks the response. */
import { ask } from '../ask.ts'
import { demand } from '../fault.ts'
import type { Step } from '../visit.ts'

const HEADERS = ['authorization', 'content-type', 'mcp-protocol-version', 'mcp-session-id', 'last-event-id']

export const cors: Step = {
  id: 'cors',
  async run({ url, client: { pageOrigin, title } }) {
    if (pageOrigin === undefined) return { skipped: `${title} does not send its requests from a web page.` }
    const { status, headers } = await ask(url, {
      method: 'OPTIONS',
      headers: {
        origin: pageOrigin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': HEADERS.join(','),
      },
    })
    const origin = headers.get('access-control-allow-origin')
    // its own proxy makes the calls instead
    if (origin === null)
      return {
        facts: [`Web pages from ${pageOrigin} may not call the endpoint (preflight status: ${status}).`],
        warnings: [
          `${title} can connect only through the proxy of ${title}. For direct connections, add ${pageOrigin} to CORS_ORIGINS.`,
        ],
      }
    demand(
      origin === pageOrigin || origin === '*',
      `The response to the preflight has the header "Access-Control-Allow-Origin: ${origin}".`,
      `The header must contain exactly one origin ("${pageOrigin}" or "*"). Only one server may set the header: the gateway or the proxy in front of the gateway.`,
    )
    const allowed = (headers.get('access-control-allow-headers') ?? '').toLowerCase().split(/\s*,\s*/)
    const missing = HEADERS.filter(
      name => !allowed.includes(name) && !(allowed.includes('*') && name !== 'authorization'),
    )
    demand(
      status >= 200 && status < 300 && missing.length === 0,
      `The response to the preflight has status ${status}${missing.length === 0 ? '' : ` and does not allow the headers ${missing.join(', ')}`}.`,
      'The proxy in front of the gateway must forward OPTIONS requests, and must not set Access-Control headers.',
    )
    return { facts: [`Web pages from ${pageOrigin} may call the endpoint.`] }
  },
}
