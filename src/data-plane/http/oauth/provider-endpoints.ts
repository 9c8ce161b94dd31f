/** The identity provider's endpoints: assumed in the form of Keycloak, and corrected by the discovery document that it fetches. */

import { issuerFault } from '../../../identity/discovery.ts'
import type { Egress, EgressFailure } from '../../../net/egress/egress.ts'
import { parseObject } from './oauth-response.ts'

export interface ProviderAddresses {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly jwksUri: string
  /** RFC 7009; undefined when the provider revokes no tokens. */
  readonly revocationEndpoint: string | undefined
  /** undefined when the provider takes no registrations. */
  readonly registrationEndpoint: string | undefined
  /** The address of a document may stand for a registered client (OAuth Client ID Metadata Document, MCP 2025-11-25 and later). */
  readonly acceptsClientDocuments: boolean
}

type DiscoveryDocument = Readonly<Record<string, unknown>>

const TIMEOUT_MS = 5000
/** Between two tries to learn the addresses. */
const RETRY_MS = 10_000
const MAX_DOCUMENT_BYTES = 256 * 1024

/**
 * The addresses come from configuration first: the authorization-server document must be there although the provider is not
 * (a client that misses it gives up on the gateway). Each discovery document that is seen corrects them.
 */
export class ProviderEndpoints {
  readonly issuer: string
  readonly #egress: Egress
  #addresses: ProviderAddresses
  #running: Promise<DiscoveryDocument | string> | undefined
  #learned = false
  #triedAt = Number.NEGATIVE_INFINITY

  constructor(issuer: string, egress: Egress) {
    this.issuer = issuer
    this.#egress = egress
    this.#addresses = keycloakAddresses(issuer)
  }

  /** As far as they are known now. */
  get addresses(): ProviderAddresses {
    return this.#addresses
  }

  /**
   * The addresses as far as they are known. While the provider has not responded with success, it first waits for the request that is in
   * flight, for `TIMEOUT_MS` at most, or makes one unless the last was within `RETRY_MS`: a code sent to a guessed address would be lost.
   */
  async learnt(): Promise<ProviderAddresses> {
    const isDue = performance.now() - this.#triedAt >= RETRY_MS
    if (!this.#learned && (isDue || this.#running !== undefined)) await this.discover()
    return this.#addresses
  }

  /** Fetches the discovery document; concurrent callers share one fetch. A text says why there is none. Never rejects. */
  discover(): Promise<DiscoveryDocument | string> {
    this.#running ??= this.#fetch().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #fetch(): Promise<DiscoveryDocument | string> {
    this.#triedAt = performance.now()
    const response = await this.#egress.request({
      method: 'GET',
      url: `${this.issuer}/.well-known/openid-configuration`,
      headers: ['accept', 'application/json'],
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_DOCUMENT_BYTES,
    })
    if (response.kind === 'failure') return reasonOf(response)
    const document = response.status === 200 ? parseObject(response.body) : undefined
    if (document === undefined) return `it returned ${response.status} without a discovery document`
    if (document.issuer !== this.issuer)
      return `its discovery document ${issuerFault(document.issuer, this.issuer)}`
    this.#addresses = correctedBy(document, keycloakAddresses(this.issuer))
    this.#learned = true
    return document
  }
}

function reasonOf(failure: EgressFailure): string {
  return failure.reason === 'timeout' ? 'it did not respond in time' : 'it cannot be reached'
}

function keycloakAddresses(issuer: string): ProviderAddresses {
  return {
    authorizationEndpoint: `${issuer}/protocol/openid-connect/auth`,
    tokenEndpoint: `${issuer}/protocol/openid-connect/token`,
    jwksUri: `${issuer}/protocol/openid-connect/certs`,
    revocationEndpoint: `${issuer}/protocol/openid-connect/revoke`,
    registrationEndpoint: `${issuer}/clients-registrations/openid-connect`,
    acceptsClientDocuments: false,
  }
}

function correctedBy(document: DiscoveryDocument, fallback: ProviderAddresses): ProviderAddresses {
  return {
    authorizationEndpoint: addressIn(document.authorization_endpoint) ?? fallback.authorizationEndpoint,
    tokenEndpoint: addressIn(document.token_endpoint) ?? fallback.tokenEndpoint,
    jwksUri: addressIn(document.jwks_uri) ?? fallback.jwksUri,
    revocationEndpoint: addressIn(document.revocation_endpoint),
    registrationEndpoint: addressIn(document.registration_endpoint),
    acceptsClientDocuments: document.client_id_metadata_document_supported === true,
  }
}

function addressIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value) ? value : undefined
}
