/** Dynamic client registration (RFC 7591) with the client's own redirect addresses, and its deletion (RFC 7592). */
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, describeResponse, objectOf } from '../ask.ts'
import { demand, Fault } from '../fault.ts'
import type { Step, Visit } from '../visit.ts'

const MAX_WAIT_SECS = 15

export const registration: Step = {
  id: 'registration',
  login: true,
  async run(visit) {
    if (visit.server === undefined) return { skipped: 'The server requires no token.' }
    const { client, server } = visit
    const request = {
      headers: { accept: 'application/json' },
      body: {
        client_name: client.title,
        redirect_uris: client.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        ...(visit.scope === '' ? {} : { scope: visit.scope }),
      },
    }
    let response = await ask(server.registrationEndpoint, request)
    // a check of every client registers more often than a user does
    const waitSecs = response.status === 429 ? Number(response.headers.get('retry-after') ?? Number.NaN) : 0
    if (waitSecs > 0 && waitSecs <= MAX_WAIT_SECS) {
      await sleep(waitSecs * 1000)
      response = await ask(server.registrationEndpoint, request)
    }
    const body = objectOf(response)
    if (response.status !== 201 && response.status !== 200)
      throw new Fault(`${describeResponse(response)}.`, fixOf(response.status, body?.error, visit))
    const id = body?.client_id
    demand(
      typeof id === 'string' && id !== '',
      `${describeResponse(response)}, without a client_id.`,
      'The registration endpoint must respond as defined in RFC 7591 §3.2.1.',
    )
    const { registration_client_uri: uri, registration_access_token: token } = body!
    visit.registered = {
      clientId: id,
      handle:
        typeof uri === 'string' && URL.canParse(uri) && typeof token === 'string'
          ? { uri, token }
          : undefined,
    }
    demand(
      Array.isArray(body!.redirect_uris) && body!.redirect_uris.includes(client.redirectUris[0]),
      `The registration response has redirect_uris ${JSON.stringify(body!.redirect_uris)}.`,
      'The registration response must contain the redirect_uris of the request: the official clients refuse a registration without these URIs.',
    )
    const warnings =
      body!.client_secret === undefined
        ? []
        : [
            'The registration response contains a client_secret although the client is public. Clients will send this secret.',
          ]
    return {
      facts: [`A client was registered with the redirect URIs "${client.redirectUris.join('", "')}".`],
      warnings,
    }
  },
}

function fixOf(status: number, error: unknown, { client }: Visit): string {
  const hosts = client.redirectUris
    .map(uri => new URL(uri))
    .map(uri => (uri.protocol.startsWith('http') ? uri.host : uri.protocol))
  if (error === 'invalid_redirect_uri' || status === 403) {
    return (
      `At the identity provider, allow registrations with the redirect URIs of ${client.title} (${[...new Set(hosts)].join(', ')}); ` +
      'in Keycloak: Clients > Client registration > Anonymous access policies > Trusted hosts.'
    )
  }
  if (status === 429)
    return 'Too many registrations: wait, or raise the limit of the gateway (PRE_AUTH_RATE_PER_MIN) or the limit of the identity provider.'
  if (status >= 500)
    return 'The gateway cannot reach the identity provider, or cannot configure the registered client. Check AUTH_ISSUER, the permissions of the client in AUTH_ADMIN_CLIENT_ID, and the log of the gateway.'
  return 'The identity provider rejects the registration: look for the rejected field in the log of the identity provider.'
}

/** Deletes the registered client where the server allows it. @returns a warning when it remains */
export async function takeBack(visit: Visit): Promise<string | undefined> {
  const { registered } = visit
  if (registered === undefined) return undefined
  visit.registered = undefined
  const left = `This command could not delete the registered client "${registered.clientId}": delete the client at the identity provider.`
  if (registered.handle === undefined) return left
  try {
    const { uri, token } = registered.handle
    const { status } = await ask(uri, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } })
    return status < 300 ? undefined : left
  } catch {
    return left
  }
}
