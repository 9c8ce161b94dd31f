/** Makes registered clients public through the admin API of Keycloak, and derives the address of that API. */
import type { Egress, EgressResponse } from '../../../net/egress/egress.ts'
import { parseObject } from './oauth-response.ts'

export interface ProviderAdmin {
  /** Patches one client. Returns why it could not be done, undefined when it is done. Never rejects. */
  makePublic(clientId: string): Promise<string | undefined>
}

interface KeycloakAdminOptions {
  readonly egress: Egress
  /** `AUTH_ADMIN_URL`, e.g. `https://id.example/admin/realms/platform`. */
  readonly adminUrl: string
  /** Where the admin client gets its token. */
  readonly tokenEndpoint: string
  /** A confidential client with a service account that has the role `manage-clients` of `realm-management`. */
  readonly clientId: string
  readonly clientSecret: string
  readonly nowMs: () => number
}

/** `https://id.example/realms/x` → `https://id.example/admin/realms/x`; undefined when the issuer has not the form of a realm. */
export function adminUrlOf(issuer: string): string | undefined {
  const match = /^(.+)\/realms\/([^/]+)$/.exec(issuer)
  return match === null ? undefined : `${match[1]}/admin/realms/${match[2]}`
}

/**
 * What the patch sets. `exclude.issuer.from.auth.response`: clients found this provider through the gateway and recorded the
 * gateway as issuer; the provider's own `iss` in the redirect (RFC 9207) would make them refuse the code.
 */
const ATTRIBUTES = {
  'pkce.code.challenge.method': 'S256',
  'exclude.issuer.from.auth.response': 'true',
} as const

const TIMEOUT_MS = 10_000
const MAX_RESPONSE_BYTES = 1024 * 1024
/** A token is renewed this long before it ends. */
const RENEW_EARLY_MS = 10_000

export function keycloakAdmin(options: KeycloakAdminOptions): ProviderAdmin {
  const { egress, adminUrl, nowMs } = options
  let token: { readonly value: string; readonly untilMs: number } | undefined
  let fetching: Promise<string | undefined> | undefined

  function tokenNow(): Promise<string | undefined> {
    if (token !== undefined && nowMs() < token.untilMs) return Promise.resolve(token.value)
    fetching ??= fetchToken().finally(() => {
      fetching = undefined
    })
    return fetching
  }

  async function fetchToken(): Promise<string | undefined> {
    const { clientId, clientSecret, tokenEndpoint } = options
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const response = await call(
      'POST',
      tokenEndpoint,
      [],
      form.toString(),
      'application/x-www-form-urlencoded',
    )
    const body = response?.status === 200 ? parseObject(response.body) : undefined
    if (typeof body?.access_token !== 'string') return undefined
    const livesMs = typeof body.expires_in === 'number' ? body.expires_in * 1000 : 0
    token = { value: body.access_token, untilMs: nowMs() + livesMs - RENEW_EARLY_MS }
    return body.access_token
  }

  async function call(
    method: string,
    url: string,
    headers: readonly string[],
    body?: string,
    contentType = 'application/json',
  ): Promise<EgressResponse | undefined> {
    const response = await egress.request({
      method,
      url,
      headers: [
        'accept',
        'application/json',
        ...(body === undefined ? [] : ['content-type', contentType]),
        ...headers,
      ],
      ...(body === undefined ? {} : { body }),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    })
    return response.kind === 'response' ? response : undefined
  }

  /** With the token at hand; once more with a new one when it is not taken (revoked, or the realm's keys changed). */
  async function asAdmin(method: string, path: string, body?: object): Promise<EgressResponse | string> {
    for (const lastTry of [false, true]) {
      const bearer = await tokenNow()
      if (bearer === undefined)
        return 'the identity provider issues no token to the admin client; check AUTH_ADMIN_CLIENT_ID and AUTH_ADMIN_CLIENT_SECRET'
      const response = await call(
        method,
        `${adminUrl}${path}`,
        ['authorization', `Bearer ${bearer}`],
        body === undefined ? undefined : JSON.stringify(body),
      )
      if (response === undefined)
        return 'the admin API of the identity provider cannot be reached; check AUTH_ADMIN_URL'
      if (response.status !== 401 || lastTry) return response
      token = undefined
    }
    return 'the admin API of the identity provider does not accept the token for the client in AUTH_ADMIN_CLIENT_ID'
  }

  async function makePublic(clientId: string): Promise<string | undefined> {
    const found = await asAdmin('GET', `/clients?clientId=${encodeURIComponent(clientId)}`)
    if (typeof found === 'string') return found
    const client = found.status === 200 ? clientIn(found.body, clientId) : undefined
    if (client === undefined) {
      // Keycloak leaves clients out of a list for an account that may not view them
      const fix = [200, 403].includes(found.status)
        ? '; the service account of the client in AUTH_ADMIN_CLIENT_ID needs the role manage-clients'
        : ''
      return `the admin API of the identity provider returned ${found.status} when the gateway read the new client${fix}`
    }
    const patched = await asAdmin('PUT', `/clients/${encodeURIComponent(client.id)}`, {
      ...client.representation,
      publicClient: true,
      attributes: { ...client.attributes, ...ATTRIBUTES },
    })
    if (typeof patched === 'string') return patched
    return patched.status >= 200 && patched.status < 300
      ? undefined
      : `the admin API of the identity provider returned ${patched.status} when the gateway updated the new client`
  }

  return { makePublic }
}

interface FoundClient {
  readonly id: string
  readonly representation: Readonly<Record<string, unknown>>
  readonly attributes: object
}

function clientIn(bytes: Uint8Array, clientId: string): FoundClient | undefined {
  let listed: unknown
  try {
    listed = JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
  if (!Array.isArray(listed)) return undefined
  const found = listed.find(one => (one as { clientId?: unknown } | null)?.clientId === clientId)
  if (typeof found?.id !== 'string') return undefined
  const { secret: _, ...representation } = found as Record<string, unknown>
  const attributes = representation.attributes
  return {
    id: found.id,
    representation,
    attributes: typeof attributes === 'object' ? (attributes ?? {}) : {},
  }
}

interface ProviderAdminSettings {
  readonly issuer: string
  readonly adminClientId: string | undefined
  readonly adminClientSecret: string | undefined
  readonly adminUrl: string | undefined
  readonly egress: Egress
  readonly nowMs: () => number
}

/** undefined when the deployment gave no admin client (docs/reference/settings.md, Settings): clients are then left as the provider made them. */
export function providerAdminOf(settings: ProviderAdminSettings): ProviderAdmin | undefined {
  const { issuer, adminClientId, adminClientSecret, egress, nowMs } = settings
  const adminUrl = settings.adminUrl ?? adminUrlOf(issuer)
  if (adminClientId === undefined || adminClientSecret === undefined || adminUrl === undefined)
    return undefined
  const tokenEndpoint = `${issuer}/protocol/openid-connect/token`
  return keycloakAdmin({
    egress,
    adminUrl,
    tokenEndpoint,
    clientId: adminClientId,
    clientSecret: adminClientSecret,
    nowMs,
  })
}
