/** The authorization request as far as it goes without a person, and the token endpoint asked with a code that nobody gave. */
import { createHash, randomBytes } from 'node:crypto'
import { ask, describeResponse, type FetchedResponse, objectOf } from '../ask.ts'
import { demand, Fault } from '../fault.ts'
import type { Step, Visit } from '../visit.ts'

const MAX_HOPS = 8
const OPEN = { skipped: 'The server asks for no token.' }
/** OpenID Connect Core §3.1.2.6: all is well but the person. */
const NEEDS_A_PERSON = [
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]

export const authorization: Step = {
  id: 'authorization',
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
      // the provider says at once that somebody has to log in, in the form in which it will send the code later
      prompt: 'none',
    }
    for (const [name, value] of Object.entries(parameters))
      if (value !== '') url.searchParams.set(name, value)
    const landed = await follow(url, client.redirectUris[0])
    if (!('searchParams' in landed)) return page(landed)
    return responded(visit, landed)
  },
}

/** Redirects with their cookies, as a browser follows them. @returns the redirect back to the client, or a page */
async function follow(url: URL, redirectUri: string): Promise<URL | FetchedResponse> {
  const cookies = new Map<string, string>()
  let at = url
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await ask(at.href, {
      headers: { accept: 'text/html', ...(cookie === '' ? {} : { cookie }) },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(line) ?? []
      if (name !== undefined && at.origin === url.origin) cookies.set(name, value!)
    }
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null) return response
    if (location.startsWith(redirectUri)) return new URL(location)
    at = new URL(location, at)
  }
  throw new Fault(
    `${url.origin} redirects more than ${MAX_HOPS} times.`,
    'Check the public address of the identity provider, and the proxy in front of it.',
  )
}

function page(response: FetchedResponse) {
  demand(
    response.status === 200,
    `${describeResponse(response)}.`,
    response.status >= 500
      ? 'The identity provider is not well; its log says why.'
      : 'The identity provider does not take the request of the registered client: its log says which parameter it refuses.',
  )
  return { facts: ['The login page opens.'] }
}

function responded(visit: Visit, landed: URL) {
  const error = landed.searchParams.get('error')
  const detail = landed.searchParams.get('error_description') ?? ''
  demand(
    error === null || NEEDS_A_PERSON.includes(error),
    `The identity provider sends the client back with ${error}${detail === '' ? '' : `: ${detail}`}.`,
    error === 'invalid_scope'
      ? `Define the scopes "${visit.scope}" at the identity provider and let new clients have them.`
      : 'The log of the identity provider says which parameter it refuses.',
  )
  const issuer = landed.searchParams.get('iss')
  demand(
    issuer === null || issuer === visit.issuer,
    `The identity provider adds iss=${issuer} to its answer; the client knows ${visit.issuer} as issuer.`,
    'Newer clients refuse this (RFC 9207). In Keycloak, clients need the attribute exclude.issuer.from.auth.response: set AUTH_ADMIN_CLIENT_ID and AUTH_ADMIN_CLIENT_SECRET, and the gateway sets it.',
  )
  return { facts: ['The identity provider knows the client and asks for a login.'] }
}

export const token: Step = {
  id: 'token',
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
        : 'The token endpoint must answer faults with the JSON of RFC 6749 §5.2; check what the proxy in front does.',
    )
    demand(
      error !== 'invalid_client' && error !== 'unauthorized_client',
      `The token endpoint answers ${error} to the registered client.`,
      'The client was not made public: set AUTH_ADMIN_CLIENT_ID and AUTH_ADMIN_CLIENT_SECRET, and give that client the right to manage clients.',
    )
    demand(
      error === 'invalid_grant',
      `The token endpoint answers ${error} to a code that does not exist, not invalid_grant.`,
      'It must pass the form on unchanged; check what the proxy in front does.',
    )
    return { facts: ['The token endpoint takes the public client and looks at its code.'] }
  },
}
