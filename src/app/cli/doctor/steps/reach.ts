/** The first request of every client: is there an MCP endpoint, and does it ask for a token in the way clients understand? */
import { describeResponse, type FetchedResponse, objectOf } from '../ask.ts'
import { demand, Fault } from '../fault.ts'
import { initialize, send } from '../rpc.ts'
import { isLocal, type Outcome, type Step, type Visit } from '../visit.ts'

export const reach: Step = {
  id: 'reach',
  async run(visit) {
    const response = await initialize(visit, false)
    const { status } = response
    if (status >= 300 && status < 400) {
      throw new Fault(
        `${visit.url} redirects to ${response.headers.get('location') ?? 'nowhere'}.`,
        'Clients do not follow a POST to another address: configure the address it redirects to, or serve it without a redirect.',
      )
    }
    demand(
      status !== 404 && status !== 405,
      `${describeResponse(response)}.`,
      'There is no MCP endpoint at this address; the gateway serves /mcp and /mcp/sse.',
    )
    demand(
      status === 200 || status === 401,
      `${describeResponse(response)}.`,
      status === 403
        ? 'The request was refused before authentication: check CORS_ORIGINS, and that the proxy in front keeps the Host header.'
        : 'initialize must be answered 200, or 401 with a challenge; the log of the gateway says what went wrong.',
    )
    const message = objectOf(response)
    demand(
      status === 401 || message !== undefined,
      `${describeResponse(response)}, which is no JSON-RPC answer.`,
      'Something else than the gateway answers at this address: check the path and the proxy in front.',
    )
    const warnings: string[] = []
    if (visit.client.callsFromTheInternet && isLocal(visit.url))
      warnings.push(
        `${visit.client.title} calls from the internet and cannot reach an address of this machine.`,
      )
    else if (!isLocal(visit.url) && new URL(visit.url).protocol === 'http:')
      warnings.push('The address is plain http: tokens can be read on the way, and most clients refuse it.')
    return { facts: [nameOf(message) ?? 'The endpoint asks for a token at once.'], warnings }
  },
}

function nameOf(message: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const info = (message?.result as { serverInfo?: { name?: unknown; version?: unknown } } | undefined)
    ?.serverInfo
  return info === undefined ? undefined : `${info.name} ${info.version} answers initialize.`
}

export const challenge: Step = {
  id: 'challenge',
  async run(visit) {
    const response = await send(visit, 'tools/list', {}, false)
    if (response.status === 200 && objectOf(response)?.result !== undefined) {
      visit.guarded = false
      return { facts: ['The list is open to everybody: no client will ask for a login.'] }
    }
    demand(
      response.status === 401,
      `Without a token, ${describeResponse(response)}.`,
      'A request without a token must be answered 401: only that makes a client begin its login.',
    )
    return challenged(visit, response)
  },
}

function challenged(visit: Visit, response: FetchedResponse): Outcome {
  const header = response.headers.get('www-authenticate') ?? ''
  demand(
    /^bearer\s/i.test(header),
    header === ''
      ? 'The 401 has no WWW-Authenticate header.'
      : `The 401 says WWW-Authenticate: ${header.slice(0, 120)}.`,
    'Answer 401 with WWW-Authenticate: Bearer resource_metadata="…", scope="…"; a proxy in front must not take the header away.',
  )
  const url = /resource_metadata="([^"]+)"/.exec(header)?.[1]
  demand(
    url === undefined || URL.canParse(url),
    `resource_metadata is "${url}", which is no absolute address.`,
    'Set GATEWAY_URL to the public address of the gateway.',
  )
  if (url !== undefined && new URL(url).origin !== new URL(visit.url).origin) {
    throw new Fault(
      `resource_metadata points to ${new URL(url).origin}, but the client was given ${new URL(visit.url).origin}.`,
      'Set GATEWAY_URL to the address clients use.',
    )
  }
  visit.resourceMetadataUrl = url
  visit.scope = /scope="([^"]*)"/.exec(header)?.[1] ?? ''
  const warnings: string[] = []
  if (url === undefined)
    warnings.push('The challenge has no resource_metadata; clients guess the well-known address.')
  if (visit.scope === '')
    warnings.push('The challenge names no scope: clients will ask for every scope there is.')
  return {
    facts: [`401 with a challenge${visit.scope === '' ? '' : ` for the scopes ${visit.scope}`}.`],
    warnings,
  }
}
