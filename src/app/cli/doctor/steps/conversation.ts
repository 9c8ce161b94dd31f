/** The MCP steps after the login: initialize, the notification stream and the list of tools, with their checks. */

import { isObject } from '../../../../base/json/is-object.ts'
import { LEGACY_VERSIONS } from '../../../../mcp/versions.ts'
import { ask, describeResponse, objectOf } from '../ask.ts'
import { demand, Fault } from '../fault.ts'
import { headersOf, initializeSession as sendInitialize, sendRpc } from '../rpc.ts'
import type { ListedTool, Step } from '../visit.ts'

const NEEDS_TOKEN = { skipped: 'This step needs an access token. Pass the token with --token.' }
const KNOWN_VERSIONS: readonly string[] = LEGACY_VERSIONS
const MAX_PAGES = 100

export const initialize: Step = {
  id: 'initialize',
  async run(visit) {
    const response = await sendInitialize(visit, true)
    if (response.status === 401 && visit.token === undefined) return NEEDS_TOKEN
    demand(
      response.status !== 401,
      `${describeResponse(response)}.`,
      fixOfToken(visit.token ?? '', response.headers.get('www-authenticate') ?? ''),
    )
    const result = objectOf(response)?.result
    demand(
      response.status === 200 && isObject(result),
      `${describeResponse(response)}.`,
      'initialize must return 200 with a result; see the log of the gateway.',
    )
    const version = result.protocolVersion
    demand(
      typeof version === 'string' && KNOWN_VERSIONS.includes(version),
      `The server responds to initialize with protocol version ${JSON.stringify(version)}.`,
      `${visit.client.title} supports ${KNOWN_VERSIONS.join(', ')}; the server must respond with one of these versions.`,
    )
    visit.protocolVersion = version
    visit.sessionId = response.headers.get('mcp-session-id') ?? undefined
    const ready = await sendRpc(visit, 'notifications/initialized')
    demand(
      ready.status >= 200 && ready.status < 300,
      `notifications/initialized: ${describeResponse(ready)}.`,
      'notifications/initialized must return 202. Behind a load balancer, all gateway instances need the same REDIS_URL, so that they share sessions.',
    )
    const session = visit.sessionId === undefined ? 'without a session' : 'with a session'
    return { facts: [`Protocol version ${version}, ${session}.`] }
  },
}

export const stream: Step = {
  id: 'stream',
  async run(visit) {
    if (visit.protocolVersion === undefined) return NEEDS_TOKEN
    const headers = { ...headersOf(visit), accept: 'text/event-stream' }
    const response = await ask(visit.url, { headers, headOnly: true })
    if (response.status === 405)
      return {
        facts: ['The server offers no notification stream (405). The client continues without a stream.'],
      }
    if (response.status === 429) {
      throw new Fault(
        `The server refuses the notification stream with 429; Retry-After: ${response.headers.get('retry-after') ?? '?'} s.`,
        'Too many event streams were opened from this client address: raise MAX_PER_IP or RATE_LIMIT_PER_MIN. If the gateway is behind a proxy, list the address of the proxy in SSE_TRUSTED_PROXIES.',
      )
    }
    demand(
      response.status !== 401,
      `${describeResponse(response)}.`,
      visit.token === undefined
        ? 'The server must respond to this GET request without a token with 405: after a 401, clients begin a second login.'
        : fixOfToken(visit.token, response.headers.get('www-authenticate') ?? ''),
    )
    demand(
      response.status === 200 && (response.headers.get('content-type') ?? '').startsWith('text/event-stream'),
      `${describeResponse(response)}.`,
      'The server must respond to GET with an event stream or with 405: after any other response, clients retry every second. The proxy in front of the gateway must not buffer event streams.',
    )
    return { facts: ['The notification stream opens.'] }
  },
}

export const listToolsStep: Step = {
  id: 'list',
  async run(visit) {
    if (visit.guarded && visit.token === undefined) return NEEDS_TOKEN
    const tools: ListedTool[] = []
    let cursor: unknown
    for (let page = 0; page < MAX_PAGES; page++) {
      const response = await sendRpc(visit, 'tools/list', cursor === undefined ? {} : { cursor })
      demand(
        response.status !== 401,
        `${describeResponse(response)}.`,
        fixOfToken(visit.token ?? '', response.headers.get('www-authenticate') ?? ''),
      )
      const error = objectOf(response)?.error as { code?: unknown } | undefined
      demand(
        response.status !== 429 && error?.code !== 429,
        `${describeResponse(response)}.`,
        'The quota of this consumer is used up. Wait for the number of seconds in the Retry-After header, or use a plan with higher limits.',
      )
      const result = objectOf(response)?.result as { tools?: unknown; nextCursor?: unknown } | undefined
      demand(
        response.status === 200 && Array.isArray(result?.tools),
        `${describeResponse(response)}.`,
        'tools/list must return 200 with a list of tools; see the log of the gateway.',
      )
      for (const tool of result!.tools as unknown[]) tools.push(usable(tool))
      visit.definitionBytes += Buffer.byteLength(JSON.stringify(result!.tools))
      cursor = result!.nextCursor
      if (cursor === undefined) break
    }
    demand(
      cursor === undefined,
      `The list of tools does not end after ${MAX_PAGES} pages.`,
      'Omit nextCursor on the last page of tools/list: clients request pages until it is missing.',
    )
    visit.tools = tools
    const warnings =
      tools.length === 0
        ? [
            'The list of tools is empty. Check the ToolSets, the policy, and the tenant and scopes of the token.',
          ]
        : []
    return { facts: [`Tools listed: ${tools.length}.`], warnings }
  },
}

/** One tool that breaks these rules makes clients drop the whole list. */
function usable(tool: unknown): ListedTool {
  const { name, description, inputSchema, outputSchema } = (tool ?? {}) as Record<string, unknown>
  demand(
    typeof name === 'string' && name !== '',
    'A tool has no name.',
    'Give every tool a name: clients reject the whole list of tools if one tool has no name.',
  )
  demand(
    isObject(inputSchema) && inputSchema.type === 'object',
    `The inputSchema of the tool ${name} does not have the type "object".`,
    'Clients reject the whole list of tools because of this schema: fix the schema in the OpenAPI document.',
  )
  demand(
    outputSchema === undefined || (isObject(outputSchema) && outputSchema.type === 'object'),
    `The outputSchema of the tool ${name} does not have the type "object".`,
    'Clients reject the whole list of tools because of this schema: omit outputSchema, or wrap the result in an object.',
  )
  demand(
    typeof description === 'string' && description.trim() !== '',
    `The tool ${name} has no description.`,
    'Add a summary or a description to the operation in the OpenAPI document: models choose tools by description.',
  )
  return { name }
}

/** @param challenge the WWW-Authenticate header of the 401 */
function fixOfToken(token: string, challenge: string): string {
  const description = /error_description="([^"]*)"/.exec(challenge)?.[1]
  const claims = claimsOf(token)
  if (claims === undefined)
    return 'The token is not a JWT: pass the complete access_token from the identity provider, without "Bearer".'
  const nowSecs = Date.now() / 1000
  if (typeof claims.exp === 'number' && claims.exp < nowSecs)
    return `The token expired ${Math.ceil((nowSecs - claims.exp) / 60)} min ago: get a new token.`
  const audience = JSON.stringify(claims.aud ?? null)
  return (
    `${description === undefined ? '' : `The error_description in the response from the gateway is "${description}". `}` +
    `The token has the issuer ${JSON.stringify(claims.iss ?? null)} and the audience ${audience}. The issuer must be the URL in AUTH_ISSUER; ` +
    'the audience must contain a value of ALLOWED_AUDIENCES or the URL of the gateway.'
  )
}

function claimsOf(
  token: string,
): { readonly exp?: unknown; readonly aud?: unknown; readonly iss?: unknown } | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
