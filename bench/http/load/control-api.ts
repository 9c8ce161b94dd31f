/** What a load run requests of the control plane and the identity provider: tokens and keys, an API with its key, plans. */
import { setTimeout as sleep } from 'node:timers/promises'

type Json = Record<string, string>

/** @param client one of the embedded provider's, whose secret is its name */
export async function tokenOf(authUrl: string, client: string): Promise<string> {
  const response = await fetch(`${authUrl}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client,
      client_secret: `${client}-secret`,
    }),
  })
  if (!response.ok) throw new Error(`no token for ${client}: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { access_token: string }).access_token
}

export class ControlApi {
  readonly #apiUrl: string
  readonly #token: string
  #tenant = ''
  #apiId = ''

  constructor(apiUrl: string, token: string) {
    this.#apiUrl = apiUrl
    this.#token = token
  }

  /** The plan of demo-agent and demo-viewer: so many calls a month, 0 without end, and no other limit. */
  async limitAgents(perMonth: number): Promise<void> {
    await this.#send('PATCH', '/plans/community', {
      rate_limit_per_second: 0,
      rate_limit_per_minute: 0,
      daily_request_limit: 0,
      monthly_request_limit: perMonth,
      burst_limit: 0,
    })
  }

  async createPlan(slug: string, perMonth: number): Promise<void> {
    await this.#send('POST', '/plans', { slug, name: slug, monthly_request_limit: perMonth })
  }

  /** An API at `/t/acme/bench` that needs a key. */
  async publish(upstream: string): Promise<void> {
    const { items } = (await this.#send('GET', '/tenants')) as unknown as {
      items: { id: string; name: string }[]
    }
    this.#tenant = `/tenants/${items.find(({ name }) => name === 'acme')!.id}`
    const created = await this.#send('POST', `${this.#tenant}/apis`, {
      name: 'Bench',
      upstream_url: upstream,
      path: '/bench',
      version: '1',
      auth_required: true,
    })
    this.#apiId = created.id!
  }

  /** @returns the key of an application's subscription to the published API, once the gateway takes it: one call of its limit is used */
  async subscribe(gatewayUrl: string, application: string, plan: string): Promise<string> {
    const subscription = await this.#send('POST', `${this.#tenant}/subscriptions`, {
      api_id: this.#apiId,
      plan,
      application,
    })
    const path = `${this.#tenant}/subscriptions/${subscription.id}/approve`
    const { api_key } = await this.#send('POST', path, {})
    const url = `${gatewayUrl}/t/acme/bench/products/P-1001`
    for (let attempt = 0; attempt < 200; attempt++) {
      const response = await fetch(url, { headers: { 'x-api-key': api_key! } })
      await response.arrayBuffer()
      if (response.status === 200) return api_key!
      await sleep(50)
    }
    throw new Error('the gateway does not take the key of the new subscription')
  }

  async #send(method: string, path: string, body?: object): Promise<Json> {
    const response = await fetch(`${this.#apiUrl}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        'content-type': 'application/json',
        // a global plan belongs to no tenant
        ...(path.startsWith('/plans') ? {} : { 'x-tenant-id': 'acme' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Json
  }
}

/** The public keys of an identity provider: the text of its JWK set (RFC 7517). */
export async function keysOf(issuer: string): Promise<string> {
  const discovery = await fetch(`${issuer}/.well-known/openid-configuration`)
  const { jwks_uri } = (await discovery.json()) as { readonly jwks_uri: string }
  return (await fetch(jwks_uri)).text()
}
