/** The first requests of a client, without a token, and the checks of the endpoint and of its challenge. */
import { isObject } from '../../../../base/json/is-object.ts'
import { isLoopback } from '../../../../base/loopback.ts'
import { describeResponse, type FetchedResponse, objectOf } from '../ask.ts'
import { demand, Fault } from '../fault.ts'
import { initializeSession, sendRpc } from '../rpc.ts'
import type { Step, StepOutcome, Visit } from '../visit.ts'

export const reach: Step = {
  id: 'reach',
  async run(visit) {
    const response = await initializeSession(visit, false)
    const { status } = response
    if (status >= 300 && status < 400) {
      const location = response.headers.get('location')
      throw new Fault(
        `${visit.url} redirects ${location === null ? 'without a Location header' : `to "${location}"`}.`,
        'MCP clients do not follow redirects of POST requests: configure the clients with the target URL, or remove the redirect.',
      )
    }
    demand(
      status !== 404 && status !== 405,
      `${describeResponse(response)}.`,
      'This URL is not an MCP endpoint. The gateway serves MCP at "/mcp", "/mcp/sse" and "/mcp/{name}" of a ToolSet or ToolView.',
    )
    demand(
      status !== 502 && status !== 504 && status !== 505,
      `${describeResponse(response)}.`,
      'The proxy receives no valid response from the gateway. If the gateway runs, check that the proxy uses HTTP/1.1: ' +
        'nginx before 1.29.7 uses HTTP/1.0 by default. In nginx, set proxy_http_version 1.1, and set the header Connection to an empty string with proxy_set_header.',
    )
    demand(
      status !== 421,
      `${describeResponse(response)}.`,
      'The gateway does not accept the host name in the Host header. Check that the proxy in front of the gateway forwards the Host header unchanged, or add the host name to ALLOWED_HOSTS.',
    )
    demand(
      status === 200 || status === 401,
      `${describeResponse(response)}.`,
      status === 403
        ? 'The gateway or a proxy refused the request before authentication. Check CORS_ORIGINS, and check that the proxy in front of the gateway forwards the Host header unchanged.'
        : 'initialize must return 200, or 401 with a challenge; see the log of the gateway.',
    )
    const message = objectOf(response)
    demand(
      status === 401 || message !== undefined,
      `${describeResponse(response)}. The body is not a JSON-RPC response.`,
      'Another server responds at this URL: check the path of the URL, and the proxy in front of the gateway.',
    )
    const server = status === 401 ? undefined : nameOf(message)
    demand(
      status === 401 || server !== undefined,
      `${describeResponse(response)}. The body is not an initialize result with serverInfo.`,
      'initialize must return a result with serverInfo; see the log of the server at this address.',
    )
    const warnings: string[] = []
    const { hostname, protocol } = new URL(visit.url)
    if (visit.client.callsFromTheInternet && isLoopback(hostname))
      warnings.push(`${visit.client.title} connects from the internet and cannot reach a loopback address.`)
    else if (!isLoopback(hostname) && protocol === 'http:')
      warnings.push(
        'The URL uses plain http: tokens can be read in transit, and most clients refuse the URL.',
      )
    return { facts: [server ?? 'The endpoint requires a token.'], warnings }
  },
}

function nameOf(message: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const result = message?.result
  const info = isObject(result) ? result.serverInfo : undefined
  return isObject(info) ? `${info.name} ${info.version} responds to initialize.` : undefined
}

export const challenge: Step = {
  id: 'challenge',
  login: true,
  async run(visit) {
    const response = await sendRpc(visit, 'tools/list', {}, false)
    if (response.status === 200 && objectOf(response)?.result !== undefined) {
      visit.guarded = false
      return { facts: ['tools/list requires no token: clients will not begin a login.'] }
    }
    demand(
      response.status === 401,
      `Without a token, ${describeResponse(response)}.`,
      'If a request has no token, the server must respond with 401: clients begin a login only after a 401.',
    )
    return challenged(visit, response)
  },
}

function challenged(visit: Visit, response: FetchedResponse): StepOutcome {
  const header = response.headers.get('www-authenticate') ?? ''
  demand(
    /^bearer\s/i.test(header),
    header === ''
      ? 'The 401 response has no WWW-Authenticate header.'
      : `The WWW-Authenticate header of the 401 response does not begin with "Bearer": ${header.slice(0, 120)}`,
    'The 401 response must have WWW-Authenticate: Bearer resource_metadata="…", scope="…". A proxy in front of the gateway must not remove this header.',
  )
  const url = /resource_metadata="([^"]+)"/.exec(header)?.[1]
  demand(
    url === undefined || URL.canParse(url),
    `The challenge has resource_metadata="${url}", which is not an absolute URL.`,
    'Set GATEWAY_URL to the public URL of the gateway.',
  )
  if (url !== undefined && new URL(url).origin !== new URL(visit.url).origin) {
    throw new Fault(
      `resource_metadata in the challenge points to "${new URL(url).origin}", but the client connects to "${new URL(visit.url).origin}".`,
      'Set GATEWAY_URL to the URL that clients use.',
    )
  }
  visit.resourceMetadataUrl = url
  visit.scope = /scope="([^"]*)"/.exec(header)?.[1] ?? ''
  const warnings: string[] = []
  if (url === undefined)
    warnings.push('The challenge has no resource_metadata: clients try the well-known URLs instead.')
  if (visit.scope === '')
    warnings.push('The challenge names no scope: clients will request every supported scope.')
  return {
    facts: [
      `The server responds with 401 and a challenge${visit.scope === '' ? '' : ` for the scopes "${visit.scope}"`}.`,
    ],
    warnings,
  }
}
