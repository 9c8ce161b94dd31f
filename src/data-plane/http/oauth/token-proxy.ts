/** POST /oauth/token and /oauth/revoke: checks the client's form, forwards it to the identity provider, and returns the response or an OAuth error. */

import type { Cancellation } from '../../../base/cancellation.ts'
import type { Egress, EgressResponse } from '../../../net/egress/egress.ts'
import { isResource } from './metadata.ts'
import { json, NO_STORE, type OAuthResponse, oauthError, parseObject } from './oauth-response.ts'

/** Bound of the form; `routes.ts` reads no more. */
export const MAX_TOKEN_FORM_BYTES = 32 * 1024
const MAX_RESPONSE_BYTES = 256 * 1024
const TIMEOUT_MS = 10_000

/** What the authorization-server document promises, and nothing more. */
const GRANT_TYPES: ReadonlySet<string> = new Set([
  'authorization_code',
  'client_credentials',
  'refresh_token',
])

export interface TokenRequest {
  /** Header values as received, '' when absent. */
  readonly contentType: string
  readonly authorization: string
  readonly body: Uint8Array
  readonly cancellation?: Cancellation
}

/** Statuses: 200, 400, 401, 429, 502 (docs/reference/http.md, OAuth and discovery). Never rejects. */
export async function forwardToken(
  request: TokenRequest,
  tokenEndpoint: string,
  egress: Egress,
  gatewayUrl: string,
): Promise<OAuthResponse> {
  const form = formOf(request)
  const fault = form instanceof URLSearchParams ? grantFault(form, gatewayUrl) : form
  if (fault !== undefined) return fault
  const response = await send(request, tokenEndpoint, egress)
  if (response.kind === 'failure') return unavailable('it cannot be reached')
  const isToken = response.status === 200 && typeof parseObject(response.body)?.access_token === 'string'
  return isToken ? passOn(200, response) : relayError(response, request)
}

/** The same statuses (RFC 7009 §2.2); 404 when the provider revokes no tokens. Never rejects. */
export async function forwardRevocation(
  request: TokenRequest,
  revocationEndpoint: string | undefined,
  egress: Egress,
): Promise<OAuthResponse> {
  const form = formOf(request)
  if (!(form instanceof URLSearchParams)) return form
  if ((form.get('token') ?? '') === '') return invalid('token is missing.')
  if (revocationEndpoint === undefined)
    return oauthError(404, 'invalid_request', 'The identity provider has no revocation endpoint.')
  const response = await send(request, revocationEndpoint, egress)
  if (response.kind === 'failure') return unavailable('it cannot be reached')
  return response.status === 200 ? json(200, {}, NO_STORE) : relayError(response, request)
}

function send(request: TokenRequest, url: string, egress: Egress) {
  const { contentType, authorization, body, cancellation } = request
  const headers = ['content-type', contentType, 'accept', 'application/json']
  if (authorization !== '') headers.push('authorization', authorization)
  return egress.request({
    method: 'POST',
    url,
    headers,
    body,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    ...(cancellation === undefined ? {} : { cancellation }),
  })
}

/** Invalid forms are refused here: only requests for tokens and for their revocation are forwarded. */
function formOf({ contentType, authorization, body }: TokenRequest): URLSearchParams | OAuthResponse {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType))
    return invalid('Send the body as application/x-www-form-urlencoded.')
  if (body.byteLength > MAX_TOKEN_FORM_BYTES)
    return invalid(`The form is larger than ${MAX_TOKEN_FORM_BYTES} bytes.`)
  if (authorization !== '' && !/^basic [A-Za-z0-9+/_=-]+$/i.test(authorization))
    return invalid('The Authorization header must use the scheme Basic, or be absent.')
  const form = new URLSearchParams(Buffer.from(body).toString('utf8'))
  const names = [...form.keys()]
  // RFC 8707 §2 lets `resource` stand more than once; RFC 6749 §3.2 nothing else.
  const repeated = names.find((name, at) => name !== 'resource' && names.indexOf(name) !== at)
  if (repeated !== undefined)
    return invalid(
      'The form contains a parameter more than once. Only the parameter resource may be repeated.',
    )
  return form
}

function grantFault(form: URLSearchParams, gatewayUrl: string): OAuthResponse | undefined {
  const grantType = form.get('grant_type')
  if (grantType === null || grantType === '') return invalid('grant_type is missing.')
  if (!GRANT_TYPES.has(grantType))
    return oauthError(
      400,
      'unsupported_grant_type',
      `grant_type must be one of ${[...GRANT_TYPES].join(', ')}.`,
    )
  // the provider may ignore the parameter, and the token would then be good here
  if (!form.getAll('resource').every(resource => isResource(gatewayUrl, resource)))
    return oauthError(
      400,
      'invalid_target',
      `resource must be ${gatewayUrl}, ${gatewayUrl}/mcp or the address of a tool set below it. Request tokens for other resources from their own authorization server.`,
    )
  return undefined
}

function relayError(response: EgressResponse, { authorization }: TokenRequest): OAuthResponse {
  const { status } = response
  // without an OAuth error the response is not from the endpoint, and clients could not interpret it
  if (status < 400 || status >= 500 || typeof parseObject(response.body)?.error !== 'string')
    return unavailable(`its response (status ${status}) is not a valid OAuth response`)
  if (status === 401) {
    // RFC 6749 §5.2: name the scheme to a client that used the header
    return passOn(401, response, authorization === '' ? [] : ['www-authenticate', 'Basic realm="toolgate"'])
  }
  return status === 429 ? passOn(429, response, retryAfter(response)) : passOn(400, response)
}

function passOn(status: number, response: EgressResponse, headers: readonly string[] = []): OAuthResponse {
  return {
    status,
    headers: ['content-type', 'application/json', ...NO_STORE, ...headers],
    body: response.body,
  }
}

function retryAfter({ headers }: EgressResponse): readonly string[] {
  const seconds = headers.get('retry-after')
  return /^\d{1,6}$/.test(seconds) ? ['retry-after', seconds] : []
}

function invalid(description: string): OAuthResponse {
  return oauthError(400, 'invalid_request', description)
}

function unavailable(why: string): OAuthResponse {
  return oauthError(502, 'server_error', `The identity provider is unavailable: ${why}.`)
}
