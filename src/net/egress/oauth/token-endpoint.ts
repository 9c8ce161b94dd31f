/** Requests to token and revocation endpoints of authorization servers, their faults, and when a token is renewed. */
import { isObject } from '../../../base/json/is-object.ts'
import type { BackendAuthentication, OAuthClient } from '../../../model/tool.ts'
import type { Egress, EgressResponse } from '../egress.ts'

export interface IssuedToken {
  readonly kind: 'token'
  readonly value: string
  readonly livesMs: number
  /** As the server states it; undefined when it does not. */
  readonly statedMs?: number | undefined
  readonly refreshToken: string | undefined
}

/** Why a token is missing. */
export interface TokenFault {
  readonly kind: 'fault'
  /**
   * `unavailable`: no response that can be used, and another attempt may succeed. `refused`: the server does not issue the token.
   * `no_subject`: the call belongs to no user. `not_connected`: the user has not connected an account.
   */
  readonly reason: 'unavailable' | 'refused' | 'no_subject' | 'not_connected'
  /** For callers and logs: no address of a backend or an authorization server, no credential. */
  readonly message: string
  /** Where the user connects an account. */
  readonly connectUrl?: string | undefined
  /** `refused` because what the token was requested with has ended, not because the client is wrong. */
  readonly isGrantOver?: boolean
  /** Status of the response; absent without one. */
  readonly status?: number
  /** Why there was no response, with the address: for operators alone. */
  readonly detail?: string
}

export interface ClientIdentity {
  readonly client: OAuthClient
  readonly secret: string | undefined
}

type Form = { readonly [name: string]: string | undefined }

const TIMEOUT_MS = 10_000
const MAX_RESPONSE_BYTES = 256 * 1024
/** Default life of a token whose lifetime the server does not state. */
const DEFAULT_LIFE_MS = 60_000
/** The call that the token is for takes time as well. */
const RENEW_EARLY_MS = 30_000
const MAX_LIFE_MS = 24 * 3_600_000
/** RFC 6750 §2.1, and `:` and `|`, which some servers use. */
const TOKEN = /^[A-Za-z0-9._~+/:|=-]{1,16384}$/
const ERROR_CODE = /^[a-z_]{1,60}$/
/** RFC 6749 §5.2: they say that the client or its request is wrong, and nothing about the grant. */
const CLIENT_ERRORS = new Set([
  'invalid_request',
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
])

export function fault(reason: TokenFault['reason'], message: string): TokenFault {
  return { kind: 'fault', reason, message }
}

/** Unix ms. A token with a short lifetime is used for half of it. */
export function renewalOf({ livesMs }: Pick<IssuedToken, 'livesMs'>, nowMs: number): number {
  return nowMs + Math.max(livesMs - RENEW_EARLY_MS, livesMs / 2)
}

export function identityOf({ oauth, credential }: BackendAuthentication): ClientIdentity {
  return { client: oauth!, secret: credential }
}

/** Every token request of the gateway but those of the console, whose user is in a browser. Never rejects. @param server its name in messages */
export async function requestToken(
  egress: Egress,
  identity: ClientIdentity,
  form: Form,
  server = 'the authorization server of the backend',
): Promise<IssuedToken | TokenFault> {
  const response = await post(egress, identity.client.tokenUrl, identity, form)
  if (response.kind === 'failure') {
    const why = response.reason === 'timeout' ? 'did not respond in time' : 'cannot be reached'
    return { ...fault('unavailable', `${sentence(server)} ${why}.`), detail: response.message }
  }
  const json = jsonOf(response)
  const { status } = response
  if (status !== 200) return { ...refusal(server, status, json), status }
  const { access_token: value, token_type: type = 'Bearer', expires_in: secs, refresh_token: refresh } = json
  if (typeof value !== 'string' || !TOKEN.test(value))
    return fault('unavailable', `The response from ${server} contains no valid access token.`)
  // N_A: RFC 8693 §2.2.1, for tokens that are not access tokens
  if (typeof type !== 'string' || !/^(bearer|n_a)$/i.test(type))
    return fault('refused', `${sentence(server)} issues tokens of an unsupported type.`)
  const lives = typeof secs === 'number' || typeof secs === 'string' ? Number(secs) * 1000 : Number.NaN
  return {
    kind: 'token',
    value,
    livesMs: Number.isFinite(lives) && lives > 0 ? Math.min(lives, MAX_LIFE_MS) : DEFAULT_LIFE_MS,
    statedMs: Number.isFinite(lives) && lives > 0 ? lives : undefined,
    refreshToken: typeof refresh === 'string' && refresh.length <= 16_384 ? refresh : undefined,
  }
}

/** RFC 7009: a token that the server does not know counts as revoked. @returns whether the server confirmed it. Never rejects. */
export async function revokeToken(
  egress: Egress,
  identity: ClientIdentity,
  revocationUrl: string,
  token: string,
): Promise<boolean> {
  const response = await post(egress, revocationUrl, identity, { token })
  return response.kind === 'response' && response.status === 200
}

async function post(egress: Egress, url: string, { client, secret }: ClientIdentity, form: Form) {
  const { clientId, clientAuthentication } = client
  const fields = Object.entries(form).filter((field): field is [string, string] => field[1] !== undefined)
  if (clientAuthentication !== 'basic') fields.push(['client_id', clientId])
  if (clientAuthentication === 'post') fields.push(['client_secret', secret ?? ''])
  return egress.request({
    method: 'POST',
    url,
    headers: [
      ...['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'],
      ...(clientAuthentication === 'basic'
        ? ['authorization', clientSecretBasic(clientId, secret ?? '')]
        : []),
    ],
    body: new URLSearchParams(fields).toString(),
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  })
}

/** RFC 6749 §2.3.1: both are form-encoded before they are joined. */
function clientSecretBasic(clientId: string, secret: string): string {
  const [id, password] = [clientId, secret].map(text => new URLSearchParams([['', text]]).toString().slice(1))
  return `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`
}

/** The beginning of a sentence; an address stays as it is. */
function sentence(server: string): string {
  return server.replace(/^the /, 'The ')
}

/** Empty when the body is not a JSON object. */
export function jsonOf({ body }: EgressResponse): { readonly [name: string]: unknown } {
  try {
    const json: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    return isObject(json) ? json : {}
  } catch {
    return {}
  }
}

/** RFC 6749 §5.2. Descriptions are left out, because they may repeat what was sent. */
function refusal(
  server: string,
  status: number,
  { error }: { readonly [name: string]: unknown },
): TokenFault {
  if (status < 400 || status > 499 || status === 408 || status === 429)
    return fault('unavailable', `${sentence(server)} responded with status ${status}.`)
  const isNamed = typeof error === 'string' && ERROR_CODE.test(error)
  const message = `${sentence(server)} did not issue a token: ${isNamed ? error : `status ${status}`}.`
  // servers have names besides invalid_grant for it
  return { ...fault('refused', message), isGrantOver: status === 400 && isNamed && !CLIENT_ERRORS.has(error) }
}
