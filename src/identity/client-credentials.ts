/** Requests and caches access tokens with client credentials (RFC 6749 §4.4). */
import { isObject } from '../base/json/is-object.ts'
import { parseJson } from '../base/json/parse-json.ts'
import { shownAddress } from '../base/shown-address.ts'
import type { Egress } from '../net/egress/egress.ts'
import { renewalOf, requestToken } from '../net/egress/oauth/token-endpoint.ts'
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
    const { egress, now, clientId, clientSecret, scope, names } = this.#options
    if (this.#token !== undefined && this.#token.untilMs > now()) return this.#token.value
    const endpoint = await this.#tokenEndpoint()
    const server = shownAddress(endpoint)
    const client = { tokenUrl: endpoint, clientId, clientAuthentication: 'basic' } as const
    const form = { grant_type: 'client_credentials', scope: scope === '' ? undefined : scope }
    const outcome = await requestToken(egress, { client, secret: clientSecret }, form, server)
    if (outcome.kind === 'token') {
      this.#token = { value: outcome.value, untilMs: renewalOf(outcome, now()) }
      return outcome.value
    }
    const { status, message, detail } = outcome
    if (status === 400 || status === 401)
      throw new Error(`${server} does not accept the credentials in ${names} (status ${status})`)
    throw new Error(detail ?? message.replace(/\.$/, ''))
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
    const document = await this.#discover(`${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`)
    if (document.issuer !== issuer)
      throw new Error(`the OpenID discovery document ${issuerFault(document.issuer, issuer)}`)
    const endpoint = document.token_endpoint
    if (typeof endpoint !== 'string' || !/^https?:\/\//.test(endpoint))
      throw new Error(`the OpenID discovery document of ${shownAddress(issuer)} has no token_endpoint`)
    this.#endpoint = endpoint
    return endpoint
  }

  /** Without credentials. */
  async #discover(url: string) {
    const headers = ['accept', 'application/json']
    const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES }
    const response = await this.#options.egress.request({ method: 'GET', url, headers, ...limits })
    if (response.kind === 'failure') throw new Error(response.message)
    const label = shownAddress(url)
    if (response.status !== 200) throw new Error(`${label} responded with status ${response.status}`)
    const json = parseJson(response.body)
    if (!isObject(json)) throw new Error(`the response from ${label} is not a JSON object`)
    return json
  }
}
