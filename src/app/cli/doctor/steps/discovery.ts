/** Discovery of the protected resource and of its authorization server, at the addresses that clients try, and its checks. */
import { isLoopback } from '../../../../base/loopback.ts'
import { ask, describeResponse, type FetchedResponse, objectOf } from '../ask.ts'
import { demand, Fault } from '../fault.ts'
import type { Step, Visit } from '../visit.ts'

const ACCEPT = { headers: { accept: 'application/json', 'mcp-protocol-version': '2025-06-18' } }
const OPEN = { skipped: 'The server requires no token.' }

export const resource: Step = {
  id: 'resource',
  login: true,
  async run(visit) {
    if (!visit.guarded) return OPEN
    const found = await firstOf(resourceAddresses(visit))
    const document = documentOf(found, 'protected resource metadata (RFC 9728)')
    const named = document.resource
    demand(
      typeof named === 'string' && URL.canParse(named) && covers(named, visit.url),
      `The document at ${found.url} describes the resource ${JSON.stringify(named)}, not "${visit.url}".`,
      'Set GATEWAY_URL to the URL that clients use. The field "resource" of the document must contain the URL of the MCP endpoint, or a parent path of that URL.',
    )
    const [issuer] = Array.isArray(document.authorization_servers) ? document.authorization_servers : []
    demand(
      typeof issuer === 'string' && URL.canParse(issuer),
      `The document at ${found.url} names no authorization server.`,
      'The field authorization_servers of this document must list at least one issuer URL.',
    )
    visit.issuer = issuer
    const scopes = Array.isArray(document.scopes_supported) ? document.scopes_supported : []
    if (visit.scope === '') visit.scope = scopes.join(' ')
    const warnings = scopes.includes('offline_access')
      ? [
          'The field scopes_supported lists offline_access. Clients that request every listed scope receive long-lived refresh tokens.',
        ]
      : []
    return { facts: [`The authorization server for ${named} is "${issuer}".`], warnings }
  },
}

/** The address in the challenge, if any; else the path variant, then the root. */
function resourceAddresses(visit: Visit): readonly string[] {
  if (visit.resourceMetadataUrl !== undefined) return [visit.resourceMetadataUrl]
  const { origin, pathname } = new URL(visit.url)
  const root = `${origin}/.well-known/oauth-protected-resource`
  return [`${root}${pathname.replace(/\/$/, '')}`, root]
}

/** The rule of the official clients: same origin, and the path of the resource is a prefix of the endpoint's. */
function covers(named: string, url: string): boolean {
  const [one, other] = [new URL(named), new URL(url)]
  const path = one.pathname.endsWith('/') ? one.pathname : `${one.pathname}/`
  return one.origin === other.origin && `${other.pathname}/`.startsWith(path)
}

export const server: Step = {
  id: 'server',
  login: true,
  async run(visit) {
    if (!visit.guarded) return OPEN
    const found = await firstOf(serverAddresses(visit.issuer))
    const document = documentOf(found, 'authorization server metadata (RFC 8414)')
    demand(
      document.issuer === visit.issuer,
      `The document at ${found.url} has the issuer ${JSON.stringify(document.issuer)}, not "${visit.issuer}".`,
      'The issuer must be identical to the URL in authorization_servers (RFC 8414 §3.3). Newer clients refuse the document if the two URLs differ.',
    )
    const endpoint = (name: string): string => {
      const value = document[name]
      demand(
        typeof value === 'string' && URL.canParse(value),
        `The document at ${found.url} has no field "${name}".`,
        name === 'registration_endpoint'
          ? 'Enable dynamic client registration at the identity provider, and add registration_endpoint to the authorization server metadata. Without dynamic registration, you must create a client ID for every client by hand.'
          : `Add ${name} to the authorization server metadata: clients cannot log in without this field.`,
      )
      demand(
        new URL(value).protocol === 'https:' || isLoopback(new URL(value).hostname),
        `${name} is "${value}".`,
        'Clients send codes and tokens only over https, except to loopback addresses. Set GATEWAY_URL and AUTH_ISSUER to https URLs.',
      )
      return value
    }
    demand(
      listOf(document.response_types_supported).includes('code'),
      `The document at ${found.url} does not list the response type "code".`,
      'Add "code" to response_types_supported in the authorization server metadata.',
    )
    demand(
      listOf(document.code_challenge_methods_supported).includes('S256'),
      `The document at ${found.url} does not list the code challenge method S256.`,
      'Add "S256" to code_challenge_methods_supported in the authorization server metadata: clients refuse a server without PKCE.',
    )
    visit.server = {
      issuer: visit.issuer,
      authorizationEndpoint: endpoint('authorization_endpoint'),
      tokenEndpoint: endpoint('token_endpoint'),
      registrationEndpoint: endpoint('registration_endpoint'),
    }
    return {
      facts: [`Clients log in at ${new URL(visit.server.authorizationEndpoint).origin} with PKCE (S256).`],
    }
  },
}

/** The order of the official clients: RFC 8414 with the path put in, OpenID Connect with it put in, and with it appended. */
function serverAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const oauth = `${origin}/.well-known/oauth-authorization-server`
  const openid = `${origin}/.well-known/openid-configuration`
  return path === ''
    ? [oauth, openid]
    : [`${oauth}${path}`, `${openid}${path}`, `${origin}${path}/.well-known/openid-configuration`]
}

/** The first response that is not a 4xx. @throws Fault on a 5xx, after which clients stop, and when all are 4xx */
async function firstOf(addresses: readonly string[]): Promise<FetchedResponse> {
  let last: FetchedResponse | undefined
  for (const address of addresses) {
    last = await ask(address, ACCEPT)
    if (last.status < 400) return last
    if (last.status >= 500) break
  }
  throw new Fault(
    `${describeResponse(last!)}.`,
    last!.status >= 500
      ? 'Clients stop the discovery after a 5xx status. The gateway must serve the OAuth metadata even if the identity provider is unavailable.'
      : `None of these URLs returned the metadata: "${addresses.join('", "')}". The proxy in front of the gateway must forward /.well-known to the gateway.`,
  )
}

function documentOf(response: FetchedResponse, what: string): Readonly<Record<string, unknown>> {
  const document = response.status === 200 ? objectOf(response) : undefined
  demand(
    document !== undefined,
    `${describeResponse(response)}. This response does not contain ${what}.`,
    'The proxy in front of the gateway must forward /.well-known to the gateway, and must not redirect or return another page.',
  )
  return document
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
