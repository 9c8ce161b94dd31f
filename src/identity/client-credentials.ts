/** Requests and caches access tokens with client credentials (RFC 6749 §4.4). */
import { parseJson } from '../base/json/parse-json.ts'
import { shownAddress } from '../base/shown-address.ts'
import type { Egress } from '../net/egress/egress.ts'
import { clientSecretBasic, renewalOf } from '../net/egress/oauth/token-endpoint.ts'
import { issuerFault } from './discovery.ts'

const TIMEOUT_MS = 5_000
const MAX_RESPONSE_BYTES = 256 * 1024

interface CredentialsOptions {
  readonly egress: Egress
  /** An issuer, whose discovery document names the token endpoint (OpenID Connect Discovery 1.0 §4), or the endpoint itself. */
  readonly at: { readonly issuer: string } | { readonly tokenUrl: string }
  readonly clientId: string
  readonly clientSecret: string
  readonly scope?: string | undefined
  /** The settings that hold id and secret, for errors. */
  readonly names: string
  /** Unix ms. */
  readonly now: () => number
}

export class ClientCredentials {
  readonly #options: CredentialsOptions
  #endpoint: string | undefined
  #token: { readonly value: string; readonly untilMs: number } | undefined

  constructor(options: CredentialsOptions) {
    this.#options = options
  }

  /** @throws Error with a reason that holds no secret */
  async token(): Promise<string> {
    const { now, clientId, clientSecret, scope } = this.#options
    if (this.#token !== undefined && this.#token.untilMs > now()) return this.#token.value
    const endpoint = await this.#tokenEndpoint()
    const form = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
    const response = await this.#json('POST', endpoint, form.toString(), [
      'content-type',
      'application/x-www-form-urlencoded',
      'authorization',
      clientSecretBasic(clientId, clientSecret),
    ])
    if (typeof response.access_token !== 'string')
      throw new Error(`${shownAddress(endpoint)} responded without an access_token`)
    const livesMs = typeof response.expires_in === 'number' ? response.expires_in * 1000 : 60_000
    this.#token = { value: response.access_token, untilMs: renewalOf({ livesMs }, now()) }
    return response.access_token
  }

  /** After a refused token: the next one is fetched. */
  discardToken(): void {
    this.#token = undefined
  }

  async #tokenEndpoint(): Promise<string> {
    if (this.#endpoint !== undefined) return this.#endpoint
    const { at } = this.#options
    if ('tokenUrl' in at) return at.tokenUrl
    const { issuer } = at
    const document = await this.#json(
      'GET',
      `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`,
      undefined,
      [],
    )
    if (document.issuer !== issuer)
      throw new Error(`the OpenID discovery document ${issuerFault(document.issuer, issuer)}`)
    const endpoint = document.token_endpoint
    if (typeof endpoint !== 'string' || !/^https?:\/\//.test(endpoint))
      throw new Error(`the OpenID discovery document of ${shownAddress(issuer)} has no token_endpoint`)
    this.#endpoint = endpoint
    return endpoint
  }

  async #json(method: string, url: string, body: string | undefined, headers: readonly string[]) {
    const response = await this.#options.egress.request({
      method,
      url,
      headers: ['accept', 'application/json', ...headers],
      ...(body === undefined ? {} : { body }),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    })
    if (response.kind === 'failure') throw new Error(response.message)
    const label = shownAddress(url)
    // the discovery document is requested without credentials
    if (body !== undefined && (response.status === 401 || response.status === 400))
      throw new Error(
        `${label} does not accept the credentials in ${this.#options.names} (status ${response.status})`,
      )
    if (response.status !== 200) throw new Error(`${label} responded with status ${response.status}`)
    // the error of the parser would repeat the text, which may be a token
    const json = parseJson(response.body)
    if (typeof json !== 'object' || json === null)
      throw new Error(`the response from ${label} is not a JSON object`)
    return json as { readonly [name: string]: unknown }
  }
}
