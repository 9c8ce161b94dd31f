/** Verified payload → Principal: the claims that must hold, and the mapping of docs/reference/http.md, Claims. */
import { canonicalResource } from '../base/canonical-resource.ts'
import { isObject } from '../base/json/is-object.ts'
import { type Principal, principal } from '../model/principal.ts'
import { type Refusal, refuse } from '../model/refusal.ts'

export interface ClaimRules {
  /** Compared exactly. */
  readonly issuer: string
  /** One of them must be in `aud`, addresses as `canonicalResource` writes them; undefined switches the check off. */
  readonly audiences: ReadonlySet<string> | undefined
  /** An audience of this beginning and one more segment is meant for us, too. */
  readonly audienceBase?: string | undefined
  readonly clockSkewMs: number
  /** `intersection`: see `Principal.rights`. */
  readonly rights?: 'intersection' | undefined
}

type Claims = Readonly<Record<string, unknown>>

const ONE_SEGMENT = /^[A-Za-z0-9._-]{1,128}$/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Never throws. The order of checks: shape, issuer, audience, time (RFC 7519 §4.1). */
export function principalOf(payload: Uint8Array, rules: ClaimRules, nowMs: number): Principal | Refusal {
  const claims = parseClaims(payload)
  if (claims === undefined) return refuse('token_malformed')
  if (typeof claims.iss !== 'string') return refuse('token_claims')
  if (claims.iss !== rules.issuer) return refuse('invalid_issuer')
  // ID tokens of Keycloak. Claims that only those of others have, such as `at_hash`, are in the access tokens of Dex too
  if (claims.typ === 'ID') return refuse('token_malformed')
  if (rules.audiences !== undefined && !isMeantFor(claims.aud, rules)) return refuse('invalid_audience')
  return refusedByTime(claims, rules.clockSkewMs, nowMs) ?? mapClaims(claims, rules.rights)
}

function parseClaims(payload: Uint8Array): Claims | undefined {
  try {
    const claims: unknown = JSON.parse(UTF8.decode(payload))
    return isObject(claims) ? (claims as Claims) : undefined
  } catch {
    return undefined
  }
}

/** RFC 7519 §4.1.3: one string or an array of them. */
function isMeantFor(aud: unknown, rules: ClaimRules): boolean {
  if (typeof aud === 'string') return isOurs(aud, rules)
  return Array.isArray(aud) && aud.some(one => typeof one === 'string' && isOurs(one, rules))
}

function isOurs(given: string, { audiences, audienceBase }: ClaimRules): boolean {
  const audience = canonicalResource(given)
  if (audiences?.has(audience) === true) return true
  return (
    audienceBase !== undefined &&
    audience.startsWith(audienceBase) &&
    ONE_SEGMENT.test(audience.slice(audienceBase.length))
  )
}

/** RFC 7519 §4.1.4 to 4.1.6. A token without `exp` would never expire, so it is refused. */
function refusedByTime(claims: Claims, skewMs: number, nowMs: number): Refusal | undefined {
  const { exp, nbf, iat } = claims
  if (!isDate(exp) || (nbf !== undefined && !isDate(nbf)) || (iat !== undefined && !isDate(iat)))
    return refuse('token_claims')
  if (exp * 1000 + skewMs <= nowMs) return refuse('token_expired')
  if (nbf !== undefined && nbf * 1000 - skewMs > nowMs) return refuse('token_not_yet_valid')
  if (iat !== undefined && iat * 1000 - skewMs > nowMs) return refuse('token_not_yet_valid')
  return undefined
}

/** Seconds since 1970, in a range whose milliseconds are still exact. */
function isDate(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1e12
}

function mapClaims(claims: Claims, rights: ClaimRules['rights']): Principal | Refusal {
  const consumer = text(claims.azp) ?? text(claims.client_id) ?? text(claims.sub)
  const tenant = claims.tenant_id ?? claims.tenant
  if (consumer === undefined || (tenant !== undefined && tenant !== null && typeof tenant !== 'string'))
    return refuse('token_claims')
  return principal({
    kind: 'token',
    subject: text(claims.sub) ?? consumer,
    consumer,
    name: text(claims.preferred_username) ?? text(claims.email),
    tenant: text(tenant),
    roles: rolesOf(claims),
    scopes: scopesOf(claims),
    ...(rights === undefined ? undefined : { rights }),
    subscriptionId: undefined,
    expiresAtMs: (claims.exp as number) * 1000,
  })
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Keycloak's realm roles, plain `roles`, and group paths such as `/tenant-admin`. */
function rolesOf(claims: Claims): string[] {
  const roles: string[] = []
  addStrings((claims.realm_access as { roles?: unknown } | null | undefined)?.roles, '/', roles)
  addStrings(claims.roles, '/', roles)
  addStrings(claims.groups, '/', roles)
  return roles
}

/** `scope` (RFC 8693 §4.2) or `scp`, as a list or a text; `platform:read` and `read` are the same scope. */
function scopesOf(claims: Claims): string[] {
  const scopes: string[] = []
  for (const value of [claims.scope, claims.scp])
    addStrings(typeof value === 'string' ? value.split(' ') : value, 'platform:', scopes)
  return scopes
}

/** A value that is not a list of strings adds nothing. */
function addStrings(value: unknown, prefix: string, to: string[]): void {
  if (!Array.isArray(value)) return
  for (const one of value) {
    if (typeof one !== 'string') continue
    const bare = one.startsWith(prefix) ? one.slice(prefix.length) : one
    if (bare !== '') to.push(bare)
  }
}
