/** The console as an OAuth client of the gateway: registration, authorization code with PKCE, refresh. It keeps no token. */
import { createHash, randomBytes } from 'node:crypto'
import { isObject } from '../model/is-object.ts'
import type { Egress } from '../shared/egress/egress.ts'

const TIMEOUT_MS = 15_000
const MAX_RESPONSE_BYTES = 256 * 1024
/** Addresses under which the console is opened; each has its registration. */
const MAX_REGISTRATIONS = 32
/** Two requests of one page may refresh at the same time; providers revoke tokens that are used twice. */
const REFRESHED_FOR_MS = 60_000
const MAX_REFRESHES = 1_000
const SCOPES = 'openid profile platform:read platform:write platform:execute'

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly expiresAtMs: number
}

/** The message is for the user: it names no secret. */
export class LoginFailure extends Error {
  /** The gateway or the provider is unavailable: the same request may succeed later. */
  readonly isTransient: boolean

  constructor(message: string, isTransient = false) {
    super(message)
    this.isTransient = isTransient
  }
}

export interface OAuthClientOptions {
  readonly egress: Egress
  /** The gateway as this process reaches it, without trailing slash. */
  readonly gatewayAddress: string
  /** The resource that tokens are for: public address of the gateway. */
  readonly gatewayUrl: string
  /** A client that exists at the provider; undefined: the console registers itself. */
  readonly clientId: string | undefined
  /** Unix ms. */
  readonly now: () => number
}

export class OAuthClient {
  readonly #options: OAuthClientOptions
  readonly #registrations = new Map<string, Promise<string>>()
  readonly #refreshes = new Map<string, Promise<Tokens>>()

  constructor(options: OAuthClientOptions) {
    this.#options = options
  }

  /** @returns the id of the client for this redirect address. @throws LoginFailure */
  client(redirectUri: string): Promise<string> {
    const { clientId } = this.#options
    if (clientId !== undefined) return Promise.resolve(clientId)
    const known = this.#registrations.get(redirectUri)
    if (known !== undefined) return known
    if (this.#registrations.size >= MAX_REGISTRATIONS) this.#registrations.clear()
    const registering = this.#register(redirectUri)
    this.#registrations.set(redirectUri, registering)
    registering.catch(() => this.#registrations.delete(redirectUri))
    return registering
  }

  /** The provider no longer has the registered client: the next login registers again. */
  dropClient(redirectUri: string): void {
    this.#registrations.delete(redirectUri)
  }

  /** Address of the login page, and the secrets that the return needs (RFC 7636). @throws LoginFailure */
  async authorization(client: string, redirectUri: string) {
    const metadata = await this.#json('GET', '/.well-known/oauth-authorization-server', [], undefined)
    const endpoint = metadata.authorization_endpoint
    if (typeof endpoint !== 'string') throw new LoginFailure('The gateway names no login page.')
    const verifier = randomBytes(32).toString('base64url')
    const state = randomBytes(18).toString('base64url')
    const url = new URL(endpoint)
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id: client,
      redirect_uri: redirectUri,
      scope: SCOPES,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.#options.gatewayUrl,
    }))
      url.searchParams.set(name, value)
    return { url: url.href, verifier, state }
  }

  /** @throws LoginFailure */
  exchange(client: string, code: string, verifier: string, redirectUri: string): Promise<Tokens> {
    return this.#tokens({
      grant_type: 'authorization_code',
      client_id: client,
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
      resource: this.#options.gatewayUrl,
    })
  }

  /** @throws LoginFailure */
  clientCredentials(client: string, secret: string): Promise<Tokens> {
    return this.#tokens({ grant_type: 'client_credentials', client_id: client, client_secret: secret })
  }

  /** Requests with the same refresh token share one exchange. @throws LoginFailure */
  refresh(client: string, refreshToken: string): Promise<Tokens> {
    const key = createHash('sha256').update(refreshToken).digest('base64url')
    const running = this.#refreshes.get(key)
    if (running !== undefined) return running
    if (this.#refreshes.size >= MAX_REFRESHES) this.#refreshes.clear()
    const refreshing = this.#tokens(
      { grant_type: 'refresh_token', client_id: client, refresh_token: refreshToken },
      refreshToken,
    )
    this.#refreshes.set(key, refreshing)
    const evict = (): void => void this.#refreshes.delete(key)
    refreshing.then(() => setTimeout(evict, REFRESHED_FOR_MS).unref(), evict)
    return refreshing
  }

  async #register(redirectUri: string): Promise<string> {
    const metadata = {
      client_name: 'Toolgate console',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: SCOPES,
    }
    const type = ['content-type', 'application/json']
    const { client_id } = await this.#json('POST', '/oauth/register', type, JSON.stringify(metadata))
    if (typeof client_id !== 'string')
      throw new LoginFailure('The registration of the console has no client_id.')
    return client_id
  }

  async #tokens(form: Readonly<Record<string, string>>, refreshToken?: string): Promise<Tokens> {
    const type = ['content-type', 'application/x-www-form-urlencoded']
    const body = await this.#json('POST', '/oauth/token', type, new URLSearchParams(form).toString())
    const { access_token, refresh_token, expires_in } = body
    if (typeof access_token !== 'string')
      throw new LoginFailure('The response of the login has no access token.')
    const lifetimeSecs = typeof expires_in === 'number' && expires_in > 0 ? expires_in : 60
    return {
      accessToken: access_token,
      refreshToken: typeof refresh_token === 'string' ? refresh_token : refreshToken,
      expiresAtMs: this.#options.now() + lifetimeSecs * 1000,
    }
  }

  async #json(method: string, path: string, headers: readonly string[], body: string | undefined) {
    const { egress, gatewayAddress } = this.#options
    const response = await egress.request({
      method,
      url: gatewayAddress + path,
      headers: ['accept', 'application/json', ...headers],
      body,
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    })
    if (response.kind === 'failure')
      throw new LoginFailure(`The gateway cannot be reached at ${gatewayAddress}: ${response.reason}.`, true)
    const parsed = parse(response.body)
    if (response.status >= 400 || parsed === undefined) {
      const why = parsed?.error_description ?? parsed?.error ?? parsed?.message
      const detail = typeof why === 'string' ? why : `status ${response.status}`
      throw new LoginFailure(
        `${path} failed: ${detail.slice(0, 300)}`,
        response.status === 429 || response.status >= 500,
      )
    }
    return parsed
  }
}

function parse(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isObject(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
