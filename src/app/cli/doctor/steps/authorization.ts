/** The authorization request up to the login page, and a token request with an invalid code. */
import { createHash, randomBytes } from 'node:crypto'
import { isLoopback } from '../../../../base/loopback.ts'
import { ask, describeResponse, type FetchedResponse, objectOf } from '../ask.ts'
import { demand, Fault } from '../fault.ts'
import type { Step, Visit } from '../visit.ts'

const MAX_HOPS = 8
const OPEN = { skipped: 'The server requires no token.' }
/** OpenID Connect Core §3.1.2.6: only the user's interaction is missing. */
const NEEDS_A_PERSON = [
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]

export const authorization: Step = {
  id: 'authorization',
  login: true,
  async run(visit) {
    const { server, registered, client } = visit
    if (server === undefined || registered === undefined) return OPEN
    const url = new URL(server.authorizationEndpoint)
    const parameters = {
      response_type: 'code',
      client_id: registered.clientId,
      redirect_uri: client.redirectUris[0],
      scope: visit.scope,
      state: 'doctor',
      code_challenge: createHash('sha256').update(randomBytes(32).toString('base64url')).digest('base64url'),
      code_challenge_method: 'S256',
      resource: visit.url,
      // with prompt=none the provider redirects with login_required, as it will later redirect with the code
      prompt: 'none',
    }
    for (const [name, value] of Object.entries(parameters))
      if (value !== '') url.searchParams.set(name, value)
    const landed = await follow(url, client.redirectUris[0])
    if (!('searchParams' in landed)) return page(landed)
    return checkLanding(visit, landed)
  },
}

interface Cookie {
  readonly value: string
  readonly secure: boolean
}

/** Redirects with the cookies of each host, as a browser follows them. @returns the redirect back to the client, or a page */
async function follow(url: URL, redirectUri: string): Promise<URL | FetchedResponse> {
  const jars = new Map<string, Map<string, Cookie>>()
  let at = url
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const jar = jars.get(at.hostname) ?? new Map<string, Cookie>()
    jars.set(at.hostname, jar)
    const isSecure = at.protocol === 'https:' || isLoopback(at.hostname)
    const cookie = [...jar]
      .filter(([, { secure }]) => isSecure || !secure)
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
    const response = await ask(at.href, {
      headers: { accept: 'text/html', ...(cookie === '' ? {} : { cookie }) },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(line) ?? []
      if (name !== undefined) jar.set(name, { value: value!, secure: /;\s*secure\s*(;|$)/i.test(line) })
    }
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null) return response
    demand(
      URL.canParse(location, at.href),
      `${at.origin} redirects to "${location.slice(0, 120)}", which is not a valid URL.`,
      'Check the public URL in the settings of the identity provider, and the proxy in front of the identity provider.',
    )
    if (location.startsWith(redirectUri)) return new URL(location)
    at = new URL(location, at)
  }
  throw new Fault(
    `The authorization request to ${url.origin} did not end after ${MAX_HOPS} redirects.`,
    'Check the public URL in the settings of the identity provider, and the proxy in front of the identity provider.',
  )
}

function page(response: FetchedResponse) {
  demand(
    response.status === 200,
    `${describeResponse(response)}.`,
    response.status >= 500
      ? 'The identity provider failed; see the log of the identity provider.'
      : 'The identity provider rejects the authorization request: look for the rejected parameter in the log of the identity provider.',
  )
  return { facts: ['The login page opens.'] }
}

function checkLanding(visit: Visit, landed: URL) {
  const error = landed.searchParams.get('error')
  const detail = landed.searchParams.get('error_description') ?? ''
  demand(
    error === null || NEEDS_A_PERSON.includes(error),
    `The identity provider redirects to the client with the error "${error}"${detail === '' ? '' : ` and the description "${detail}"`}.`,
    error === 'invalid_scope'
      ? `Define the scopes "${visit.scope}" at the identity provider, and allow new clients to request these scopes.`
      : 'Look for the rejected parameter in the log of the identity provider.',
  )
  const issuer = landed.searchParams.get('iss')
  demand(
    issuer === null || issuer === visit.issuer,
    `The identity provider adds iss="${issuer}" to its response, but the client expects the issuer "${visit.issuer}".`,
    'Newer MCP clients reject a response with another issuer (RFC 9207). In Keycloak, set the attribute exclude.issuer.from.auth.response of the registered client to true. If AUTH_ADMIN_CLIENT_ID and AUTH_ADMIN_CLIENT_SECRET are set, the gateway sets this attribute.',
  )
  return { facts: ['The identity provider accepts the client and requires a login.'] }
}

export const token: Step = {
  id: 'token',
  login: true,
  async run({ server, registered, client, url }) {
    if (server === undefined || registered === undefined) return OPEN
    const response = await ask(server.tokenEndpoint, {
      headers: { accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: registered.clientId,
        code: 'no-such-code',
        code_verifier: randomBytes(32).toString('base64url'),
        redirect_uri: client.redirectUris[0],
        resource: url,
      }),
    })
    const error = objectOf(response)?.error
    demand(
      response.status < 500 && typeof error === 'string',
      `${describeResponse(response)}.`,
      response.status >= 500
        ? 'The gateway cannot reach the token endpoint of the identity provider: check AUTH_ISSUER and the network.'
        : 'The token endpoint must return errors as JSON (RFC 6749 §5.2); check the proxy in front of the token endpoint.',
    )
    demand(
      error !== 'invalid_client' && error !== 'unauthorized_client',
      `The token endpoint returns the error "${error}" to the registered client.`,
      'The registered client is not a public client. Set AUTH_ADMIN_CLIENT_ID and AUTH_ADMIN_CLIENT_SECRET, so that the gateway changes registered clients to public clients. At the identity provider, allow the client in AUTH_ADMIN_CLIENT_ID to manage clients.',
    )
    demand(
      error === 'invalid_grant',
      `The token endpoint returns the error "${error}" for an unknown authorization code, instead of "invalid_grant".`,
      'The proxy in front of the token endpoint must forward the body of the token request unchanged.',
    )
    return {
      facts: ['The token endpoint accepts the public client and rejects an unknown authorization code.'],
    }
  },
}
