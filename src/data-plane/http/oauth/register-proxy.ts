/** POST /oauth/register: registers a client at the identity provider, has an admin client make it public, and tries to remove it after a failure. */
import type { Egress, EgressResponse } from '../../../net/egress/egress.ts'
import type { Log } from '../../../telemetry/log.ts'
import { type Registration, readRegistration } from './client-metadata.ts'
import { json, NO_STORE, type OAuthResponse, oauthError, parseObject } from './oauth-response.ts'
import type { ProviderAdmin } from './provider-admin.ts'

/** Bound of the body; `routes.ts` reads no more. */
export const MAX_REGISTRATION_BYTES = 32 * 1024
const MAX_RESPONSE_BYTES = 256 * 1024
const TIMEOUT_MS = 10_000

interface RegisterParts {
  readonly egress: Egress
  /** undefined when the provider takes no registrations. */
  readonly registrationEndpoint: string | undefined
  /** undefined when no admin client is configured: the client stays as the provider made it. */
  readonly admin: ProviderAdmin | undefined
  readonly log: Log
}

/** Statuses: 201, 400, 403, 429, 502 (docs/reference/http.md, OAuth and discovery). Never rejects. */
export async function registerClient(
  contentType: string,
  body: Uint8Array,
  parts: RegisterParts,
): Promise<OAuthResponse> {
  const parsed =
    /^application\/json\s*(;|$)/i.test(contentType) && body.byteLength <= MAX_REGISTRATION_BYTES
      ? parseObject(body)
      : undefined
  if (parsed === undefined)
    return oauthError(400, 'invalid_client_metadata', 'Send the client metadata as one JSON object.')
  const wanted = readRegistration(parsed)
  if ('error' in wanted) return oauthError(400, wanted.error, wanted.description)
  if (parts.registrationEndpoint === undefined) return disabled()
  const response = await parts.egress.request({
    method: 'POST',
    url: parts.registrationEndpoint,
    headers: ['content-type', 'application/json', 'accept', 'application/json'],
    body: JSON.stringify(wanted.metadata),
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  })
  if (response.kind === 'failure') return unavailable('the identity provider cannot be reached')
  if (response.status !== 200 && response.status !== 201) return refusedBy(response)
  const client = parseObject(response.body)
  if (typeof client?.client_id !== 'string')
    return unavailable('the response of the identity provider contains no client_id')
  const fault = await parts.admin?.makePublic(client.client_id)
  if (fault === undefined) return json(201, responseFor(client, wanted), NO_STORE)
  parts.log.error(
    { reason: fault },
    'the gateway could not change a newly registered OAuth client to a public client; it tries to remove the client from the identity provider',
  )
  await remove(client, parts)
  return unavailable('the gateway could not change the new client to a public client')
}

/** The specified fields and those that clients insist on. A public client has no secret, so none is handed out. */
function responseFor(client: Readonly<Record<string, unknown>>, wanted: Registration): object {
  const { metadata, scope } = wanted
  return {
    client_id: client.client_id,
    ...(typeof client.client_id_issued_at === 'number'
      ? { client_id_issued_at: client.client_id_issued_at }
      : {}),
    client_name: client.client_name ?? metadata.client_name,
    application_type: client.application_type ?? metadata.application_type,
    grant_types: client.grant_types ?? metadata.grant_types,
    response_types: client.response_types ?? metadata.response_types,
    redirect_uris: client.redirect_uris ?? metadata.redirect_uris,
    token_endpoint_auth_method: 'none',
    ...(scope === undefined ? {} : { scope }),
    registration_access_token: client.registration_access_token,
    registration_client_uri: client.registration_client_uri,
  }
}

function refusedBy(response: EgressResponse): OAuthResponse {
  const body = parseObject(response.body)
  const description =
    typeof body?.error_description === 'string' ? body.error_description.slice(0, 500) : undefined
  if (response.status === 400) {
    const error = body?.error === 'invalid_redirect_uri' ? 'invalid_redirect_uri' : 'invalid_client_metadata'
    return oauthError(400, error, description ?? 'The identity provider refused the client metadata.')
  }
  if (response.status === 429)
    return oauthError(
      429,
      'temporarily_unavailable',
      'The identity provider has received too many registrations. Retry later.',
    )
  if (response.status >= 401 && response.status <= 405) return disabled(description)
  return unavailable(`the identity provider returned ${response.status}`)
}

/** Best effort, with the token the provider gave for this very client (RFC 7592 §2.3): no half-made client stays behind. */
async function remove(
  client: Readonly<Record<string, unknown>>,
  { egress, log, registrationEndpoint }: RegisterParts,
) {
  const { registration_client_uri: uri, registration_access_token: token } = client
  // only below the registration endpoint: the response must not redirect the gateway
  const isRemovable =
    typeof uri === 'string' && typeof token === 'string' && uri.startsWith(`${registrationEndpoint}/`)
  const response = isRemovable
    ? await egress.request({
        method: 'DELETE',
        url: uri,
        headers: ['authorization', `Bearer ${token}`],
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      })
    : undefined
  if (response === undefined || response.kind === 'failure' || response.status >= 300)
    log.error(
      { client_id: client.client_id },
      'the gateway could not remove a client whose registration failed; remove this client at the identity provider',
    )
}

function disabled(detail?: string): OAuthResponse {
  return oauthError(
    403,
    'access_denied',
    `The identity provider does not allow this registration${detail === undefined ? '.' : `: ${detail}`}`,
  )
}

function unavailable(why: string): OAuthResponse {
  return oauthError(502, 'server_error', `The registration failed: ${why}.`)
}
