/** The OAuth client of the pages at the gateway: registration, login addresses and tokens. `session.ts` puts sessions into cookies. */

import { createHash } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { BoundedMap } from '../base/async/bounded-map.ts'
import { isObject } from '../base/json/is-object.ts'
import type { Egress } from '../net/egress/egress.ts'

const TIMEOUT_MS = 15_000
const MAX_RESPONSE_BYTES = 256 * 1024
/** Redirect addresses; each has its registration. */
const MAX_REGISTRATIONS = 32
/** Two requests of one page may refresh at the same time; providers revoke tokens that are used twice. */
const REFRESHED_FOR_MS = 60_000
/** In flight, and kept. */
const MAX_REFRESHES = 1_000
/** Logins that anyone may begin cause no more requests, which count for the address of this process (`PRE_AUTH_RATE_PER_MIN`). */
const METADATA_MS = 60_000
/** For a token whose response names no lifetime. */
const DEFAULT_LIFETIME_SECS = 60
/** Characters of a message of the provider. */
const MAX_REASON = 300
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
  /** The error of the token endpoint (RFC 6749 §5.2). */
  readonly code: string | undefined

  constructor(message: string, isTransient = false, code?: string) {
    super(message)
    this.isTransient = isTransient
    this.code = code
  }
}

/** What a return from the login page is compared with, from the request to it. */
export interface ExpectedReturn {
  readonly client: string
  readonly redirectUri: string
  readonly state: string
  readonly verifier: string
}

type FetchRequest = Pick<
  oauth.CustomFetchOptions<string, URLSearchParams | string | undefined>,
  'method' | 'headers' | 'body'
>

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
  readonly #server: oauth.AuthorizationServer
  readonly #requests: {
    readonly [oauth.customFetch]: (url: string, request: FetchRequest) => Promise<Response>
    readonly [oauth.allowInsecureRequests]: boolean
  }
  #metadata: { readonly untilMs: number; readonly value: Promise<oauth.AuthorizationServer> } | undefined
  readonly #registrations = new BoundedMap<string, Promise<string>>(MAX_REGISTRATIONS)
  /** In flight: none is dropped. */
  readonly #refreshes = new Map<string, Promise<Tokens>>()
  /** For REFRESHED_FOR_MS, the oldest first. */
  readonly #refreshed = new BoundedMap<string, Promise<Tokens>>(MAX_REFRESHES)

  constructor(options: OAuthClientOptions) {
    this.#options = options
    const { gatewayAddress, gatewayUrl } = options
    // the addresses of the gateway are fixed (docs/reference/http.md)
    this.#server = {
      issuer: gatewayUrl,
      token_endpoint: `${gatewayAddress}/oauth/token`,
      revocation_endpoint: `${gatewayAddress}/oauth/revoke`,
      registration_endpoint: `${gatewayAddress}/oauth/register`,
    }
    this.#requests = {
      [oauth.customFetch]: (url, request) => this.#fetch(url, request),
      // within a host or a cluster the gateway is reached without TLS; the configuration decides
      [oauth.allowInsecureRequests]: gatewayAddress.startsWith('http:'),
    }
  }

  /** @returns the id of the client for this redirect address. @throws LoginFailure */
  client(redirectUri: string): Promise<string> {
    const { clientId } = this.#options
    if (clientId !== undefined) return Promise.resolve(clientId)
    const known = this.#registrations.get(redirectUri)
    if (known !== undefined) return known
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
    const { now, gatewayUrl } = this.#options
    if (this.#metadata === undefined || now() >= this.#metadata.untilMs)
      this.#metadata = { untilMs: now() + METADATA_MS, value: this.#readMetadata() }
    const endpoint = (await this.#metadata.value).authorization_endpoint
    if (endpoint === undefined)
      throw new LoginFailure('The OAuth metadata of the gateway has no authorization_endpoint.')
    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const url = new URL(endpoint)
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id: client,
      redirect_uri: redirectUri,
      scope: SCOPES,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource: gatewayUrl,
    }))
      url.searchParams.set(name, value)
    return { url: url.href, verifier, state }
  }

  /**
   * The code of a return from the login page → tokens.
   * @param returned query parameters of the return
   * @throws LoginFailure also when the state is another one, or the login page reports an error
   */
  exchange(
    { client, state, verifier, redirectUri }: ExpectedReturn,
    returned: URLSearchParams,
  ): Promise<Tokens> {
    const [server, known] = [this.#server, { client_id: client }]
    // the login page is the provider's: it may name itself as issuer (RFC 9207), and this client knows one server only, so none can be mixed up with it
    const parameters = new URLSearchParams(returned)
    parameters.delete('iss')
    return this.#tokens(async () =>
      oauth.processAuthorizationCodeResponse(
        server,
        known,
        await oauth.authorizationCodeGrantRequest(
          server,
          known,
          oauth.None(),
          oauth.validateAuthResponse(server, known, parameters, state),
          redirectUri,
          verifier,
          { ...this.#requests, additionalParameters: { resource: this.#options.gatewayUrl } },
        ),
      ),
    )
  }

  /** @throws LoginFailure */
  clientCredentials(client: string, secret: string): Promise<Tokens> {
    const [server, known] = [this.#server, { client_id: client }]
    return this.#tokens(async () =>
      oauth.processClientCredentialsResponse(
        server,
        known,
        await oauth.clientCredentialsGrantRequest(
          server,
          known,
          oauth.ClientSecretPost(secret),
          {},
          this.#requests,
        ),
      ),
    )
  }

  /** Whether `refresh` gives what an exchange of this process has given, or is to give. */
  isRefreshed(refreshToken: string): boolean {
    const key = keyOf(refreshToken)
    return this.#refreshes.has(key) || this.#refreshed.has(key)
  }

  /** Requests with the same refresh token share one exchange. @throws LoginFailure */
  refresh(client: string, refreshToken: string): Promise<Tokens> {
    const key = keyOf(refreshToken)
    const shared = this.#refreshes.get(key) ?? this.#refreshed.get(key)
    if (shared !== undefined) return shared
    if (this.#refreshes.size >= MAX_REFRESHES)
      return Promise.reject(new LoginFailure('Too many sessions are being renewed. Retry in a moment.', true))
    const [server, known] = [this.#server, { client_id: client }]
    const refreshing = this.#tokens(
      async () =>
        oauth.processRefreshTokenResponse(
          server,
          known,
          await oauth.refreshTokenGrantRequest(server, known, oauth.None(), refreshToken, this.#requests),
        ),
      refreshToken,
    )
    this.#refreshes.set(key, refreshing)
    refreshing.then(
      () => this.#keep(key, refreshing),
      () => this.#refreshes.delete(key),
    )
    return refreshing
  }

  /** RFC 7009. @throws LoginFailure */
  async revoke(client: string, refreshToken: string): Promise<void> {
    const [server, known] = [this.#server, { client_id: client }]
    await valid(async () =>
      oauth.processRevocationResponse(
        await oauth.revocationRequest(server, known, oauth.None(), refreshToken, this.#requests),
      ),
    )
  }

  #keep(key: string, refreshed: Promise<Tokens>): void {
    this.#refreshes.delete(key)
    this.#refreshed.set(key, refreshed)
    setTimeout(() => {
      if (this.#refreshed.get(key) === refreshed) this.#refreshed.delete(key)
    }, REFRESHED_FOR_MS).unref()
  }

  #readMetadata(): Promise<oauth.AuthorizationServer> {
    const { gatewayAddress, gatewayUrl } = this.#options
    const reading = valid(async () => {
      const response = await this.#fetch(`${gatewayAddress}/.well-known/oauth-authorization-server`, {
        method: 'GET',
        headers: { accept: 'application/json' },
        body: undefined,
      })
      return oauth.processDiscoveryResponse(new URL(gatewayUrl), response)
    })
    reading.catch(() => {
      if (this.#metadata?.value === reading) this.#metadata = undefined
    })
    return reading
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
    const { client_id } = await valid(async () =>
      oauth.processDynamicClientRegistrationResponse(
        await oauth.dynamicClientRegistrationRequest(this.#server, metadata, this.#requests),
      ),
    )
    return client_id
  }

  /** @param previous refresh token that stays valid when the response has none */
  async #tokens(request: () => Promise<oauth.TokenEndpointResponse>, previous?: string): Promise<Tokens> {
    const { access_token, refresh_token, expires_in } = await valid(request)
    const lifetimeSecs = expires_in !== undefined && expires_in > 0 ? expires_in : DEFAULT_LIFETIME_SECS
    return {
      accessToken: access_token,
      refreshToken: refresh_token ?? previous,
      expiresAtMs: this.#options.now() + lifetimeSecs * 1000,
    }
  }

  /** `fetch` as oauth4webapi calls it, through the egress. @throws LoginFailure without a response, or with one that oauth4webapi does not expect */
  async #fetch(url: string, { method, headers, body }: FetchRequest): Promise<Response> {
    const { egress, gatewayAddress } = this.#options
    const response = await egress.request({
      method,
      url,
      headers: Object.entries(headers).flat(),
      body: body?.toString(),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    })
    if (response.kind === 'failure')
      throw new LoginFailure(`The gateway cannot be reached at ${gatewayAddress}: ${response.reason}.`, true)
    const { status } = response
    const { pathname } = new URL(url)
    const parsed = parse(response.body)
    if (status === 429 || status >= 500 || (status >= 400 && typeof parsed?.error !== 'string')) {
      const why = parsed?.error_description ?? parsed?.error ?? parsed?.message
      const detail = typeof why === 'string' ? why : `status ${status}`
      throw new LoginFailure(
        `The gateway responded to the request to ${pathname} with an error: ${detail.slice(0, MAX_REASON)}`,
        status === 429 || status >= 500,
      )
    }
    if (parsed === undefined)
      throw new LoginFailure(`The request to ${pathname} failed: the response is not a JSON object.`)
    // the gateway verifies the access token; an ID token would name the provider as issuer, which is not the one of this server
    const { id_token: _, ...read } = parsed
    return Response.json(read, { status })
  }
}

function keyOf(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('base64url')
}

/** @throws LoginFailure in place of the errors of oauth4webapi, which hold the response */
async function valid<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof LoginFailure) throw error
    if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
      const code = error instanceof oauth.ResponseBodyError ? error.error : undefined
      throw new LoginFailure((error.error_description ?? error.error).slice(0, MAX_REASON), false, code)
    }
    if (error instanceof oauth.OperationProcessingError && error.code === oauth.JSON_ATTRIBUTE_COMPARISON)
      throw new LoginFailure(
        'The issuer in the OAuth metadata of the gateway differs from GATEWAY_URL: set GATEWAY_URL of this process to the public address of the gateway.',
      )
    if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError)
      throw new LoginFailure(`The OAuth response from the gateway is not valid: ${error.message}.`)
    throw error
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
