/** Claims → principal, claim by claim, and that no JSON payload makes the mapping throw. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { principalOf } from '../../../src/identity/claims.ts'

const RULES = { issuer: 'https://idp', audiences: new Set(['gw']), clockSkewMs: 30_000 }
const NOW_MS = 1_800_000_000_000
const BASE = { iss: 'https://idp', aud: 'gw', sub: 'user', exp: NOW_MS / 1000 + 60 }

function map(claims: object) {
  return principalOf(Buffer.from(JSON.stringify({ ...BASE, ...claims })), RULES, NOW_MS)
}

describe('the mapping', () => {
  it('takes roles from the realm, from roles and from groups, without leading slash, sorted and once each', () => {
    expect(
      map({
        realm_access: { roles: ['viewer', 'b'] },
        roles: ['a', 'viewer'],
        groups: ['/tenant-admin', 'devops', '/'],
      }),
    ).toMatchObject({ roles: ['a', 'b', 'devops', 'tenant-admin', 'viewer'] })
  })

  it('takes scopes from scope and scp, as text or list, without the prefix', () => {
    expect(map({ scope: 'openid platform:read  read' })).toMatchObject({ scopes: ['openid', 'read'] })
    expect(map({ scp: ['platform:write', 'execute'] })).toMatchObject({ scopes: ['execute', 'write'] })
    expect(map({ scp: 'a b', scope: ['c'] })).toMatchObject({ scopes: ['a', 'b', 'c'] })
    expect(map({})).toMatchObject({ scopes: [], roles: [] })
  })

  it('names the consumer by azp, else client_id, else sub', () => {
    expect(map({ azp: 'a', client_id: 'b' })).toMatchObject({ consumer: 'a', subject: 'user' })
    expect(map({ azp: '', client_id: 'b' })).toMatchObject({ consumer: 'b' })
    expect(map({ azp: 7 })).toMatchObject({ consumer: 'user' })
    expect(map({ sub: undefined, azp: 'a' })).toMatchObject({ consumer: 'a', subject: 'a' })
  })

  it('names the tenant by tenant_id, else tenant, and refuses one that is not text', () => {
    expect(map({ tenant_id: 't', tenant: 'u' })).toMatchObject({ tenant: 't' })
    expect(map({ tenant: 'u' })).toMatchObject({ tenant: 'u' })
    expect(map({ tenant_id: '' })).toMatchObject({ tenant: undefined })
    for (const tenant of [1, {}, ['t'], true])
      expect(map({ tenant })).toMatchObject({ reason: 'token_claims' })
  })

  it('ignores items that are not text, and values that are not lists', () => {
    expect(
      map({ roles: [1, null, {}, ['x'], 'ok'], groups: 'cpi-admin', realm_access: 'cpi-admin' }),
    ).toMatchObject({
      roles: ['ok'],
    })
  })

  it.each(['exp', 'nbf', 'iat'])('refuses a token whose %s is not a date', name => {
    for (const value of ['1800000000', -1, 1e12 + 1, null, true])
      expect([value, map({ [name]: value })]).toMatchObject([
        value,
        { kind: 'refusal', reason: 'token_claims' },
      ])
  })

  it('never throws, and gives no principal to claims that expired longer ago than the clock skew', () => {
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('https://idp', 'gw', 1.8e9, 1.9e9))
    const names = fc.constantFrom(
      'iss',
      'aud',
      'exp',
      'nbf',
      'iat',
      'sub',
      'azp',
      'tenant_id',
      'roles',
      'realm_access',
      'scope',
      '__proto__',
    )
    fc.assert(
      fc.property(fc.dictionary(names, value), fc.boolean(), (claims, onBase) => {
        const mapped = onBase ? map(claims) : principalOf(Buffer.from(JSON.stringify(claims)), RULES, NOW_MS)
        if (mapped.kind === 'refusal') return
        expect(mapped.expiresAtMs).toBeGreaterThan(NOW_MS - RULES.clockSkewMs)
        expect(mapped.consumer).not.toBe('')
      }),
      { numRuns: 20_000 },
    )
  })
})
