/** Tenants, APIs, gateways, deployments and identifiers: their legal moves, limits and derived states. */
import { describe, expect, it } from 'vitest'
import { API_STATUSES, type Api, moveApi, tenantGatewayUrl } from '../../../src/model/api.ts'
import { SYNCING_FOR_MS, syncStatus } from '../../../src/model/deployment.ts'
import { type GatewayInstance, gatewayStatus, OFFLINE_AFTER_MS } from '../../../src/model/gateway-instance.ts'
import { isId, newId } from '../../../src/model/id.ts'
import {
  hourlyLimit,
  moveTenant,
  TENANT_STATUSES,
  type Tenant,
  type TenantStatus,
} from '../../../src/model/tenant.ts'

const T0 = new Date('2026-01-01T00:00:00Z')
const later = (ms: number) => new Date(T0.getTime() + ms)

describe('tenant', () => {
  const legal: readonly (readonly [TenantStatus, TenantStatus])[] = [
    ['provisioning', 'active'],
    ['provisioning', 'suspended'],
    ['provisioning', 'deleting'],
    ['active', 'suspended'],
    ['active', 'deleting'],
    ['suspended', 'active'],
    ['suspended', 'deleting'],
  ]
  const pairs = TENANT_STATUSES.flatMap(from => TENANT_STATUSES.map(to => [from, to] as const))

  it.each(pairs)('%s → %s is legal only as drawn', (from, to) => {
    const result = moveTenant({ status: from } as Tenant, to)
    expect(result.ok).toBe(from === to || legal.some(pair => pair[0] === from && pair[1] === to))
    if (result.ok) expect([result.value.status, result.changed]).toEqual([to, from !== to])
  })

  it.each([
    ['free', {}, 100],
    ['starter', {}, 1_000],
    ['business', { rateLimitMultiplier: 1.5 }, 15_000],
    ['free', { rateLimitMultiplier: 0.001 }, 1],
    ['enterprise', {}, undefined],
    ['enterprise', { apiRequestsPerHour: 7, rateLimitMultiplier: 2 }, 14],
    ['free', { apiRequestsPerHour: 7 }, 100],
  ] as const)('of tier %s with %j may make %s requests an hour', (tier, settings, limit) => {
    expect(hourlyLimit({ tier, settings })).toBe(limit)
  })
})

describe('API', () => {
  it('goes from active over deprecated to retired, and back only from deprecated', () => {
    const allowed = API_STATUSES.flatMap(from =>
      API_STATUSES.filter(to => from !== to && moveApi({ status: from } as Api, to, new Date(0)).ok).map(
        to => `${from}>${to}`,
      ),
    )
    expect(allowed).toEqual([
      'active>deprecated',
      'active>retired',
      'deprecated>active',
      'deprecated>retired',
    ])
  })

  it('has a public address below its tenant', () => {
    expect(tenantGatewayUrl('https://gw.example/', 'acme')).toBe('https://gw.example/t/acme')
  })
})

const gateway = (fields: Partial<GatewayInstance> = {}): GatewayInstance => ({
  id: 'gw_1',
  name: 'edge',
  reportedStatus: 'online',
  version: '0.1.0',
  url: '',
  snapshotVersion: 'v1',
  workers: 1,
  authConfig: {},
  lastError: null,
  lastAckAt: T0,
  resyncRequestedAt: null,
  reportSequence: 0,
  lastSeenAt: T0,
  createdAt: T0,
  updatedAt: T0,
  ...fields,
})

describe('gateway instance', () => {
  it('is what it reported until it has been silent for too long', () => {
    const draining = gateway({ reportedStatus: 'draining' })
    expect(gatewayStatus(draining, later(OFFLINE_AFTER_MS))).toBe('draining')
    expect(gatewayStatus(draining, later(OFFLINE_AFTER_MS + 1))).toBe('offline')
  })
})

describe('deployment', () => {
  const published = { version: 'v2', at: T0 }
  it.each([
    ['pending', { snapshotVersion: null }, 0],
    ['synced', { snapshotVersion: 'v2' }, 0],
    ['syncing', {}, SYNCING_FOR_MS - 1],
    ['drift', {}, SYNCING_FOR_MS],
    ['drift', { lastSeenAt: new Date(0) }, 0],
    ['syncing', { snapshotVersion: 'v2', resyncRequestedAt: T0 }, 0],
    ['error', { lastError: 'plan "x" is missing' }, 0],
  ] as const)('is %s with %j after %d ms', (status, fields, afterMs) => {
    expect(syncStatus(gateway(fields), published, later(afterMs))).toBe(status)
  })
})

describe('identifier', () => {
  it('sorts in the order of the calls, also within a millisecond and when the clock steps back', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => newId('api', T0.getTime() - (index % 3)))
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('carries its time and the version and variant of RFC 9562', () => {
    const at = Date.now() + 1_000_000
    const digits = '0123456789abcdefghjkmnpqrstvwxyz'
    const bits = [...newId('apiKey', at).slice(4)].reduce(
      (sum, c) => sum * 32n + BigInt(digits.indexOf(c)),
      0n,
    )
    expect(Number(bits >> 80n)).toBe(at)
    expect(Number((bits >> 76n) & 15n)).toBe(7)
    expect(Number((bits >> 62n) & 3n)).toBe(2)
  })

  it('is recognized by kind', () => {
    const id = newId('tenant', T0.getTime())
    expect(isId('tenant', id)).toBe(true)
    expect(isId('api', id)).toBe(false)
    for (const bad of [
      '',
      'ten_',
      `${id}0`,
      id.toUpperCase(),
      `${id.slice(0, -1)}\0`,
      `ten_8${id.slice(5)}`,
    ]) {
      expect(isId('tenant', bad)).toBe(false)
    }
  })
})
