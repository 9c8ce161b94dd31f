/** GatewayBinding objects as configuration trees, and the status of gateway objects; with a cluster in test/services. */
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../src/catalog/kubernetes/api.ts'
import {
  emptyTreeOf,
  ownerOf,
  readBinding,
  treeOf,
} from '../../../src/catalog/kubernetes/gateways/binding.ts'
import {
  isWritten,
  type ShownGateway,
  statusOfBinding,
  statusOfInstance,
} from '../../../src/catalog/kubernetes/gateways/status.ts'

const object = (spec: object, namespace = 'tenant-acme'): KubeObject => ({
  metadata: { name: 'orders', namespace, generation: 3 },
  spec: spec as KubeObject['spec'] & object,
})
const API = { name: 'Orders', version: '1', upstream_url: 'https://orders.example' }
const noConfigMap = () => Promise.reject(new Error('ConfigMap tenant-acme/orders has no key openapi.yaml'))
const NOW = Date.UTC(2026, 0, 1)
const applied = { fault: undefined, apiId: 'api_1', deployment: undefined, appliedAtMs: NOW }

describe('a binding', () => {
  it('is a tree of one API with an owner that no other object has', async () => {
    const one = object({ path: '/orders', api: API })
    const tree = treeOf(one, await readBinding(one, noConfigMap))
    expect(tree).toEqual({
      apiVersion: 'toolgate.dev/v1',
      kind: 'Configuration',
      owner: ownerOf(one.metadata),
      tenants: { acme: { apis: { '/orders': API } } },
    })
    expect(ownerOf(one.metadata)).toMatch(/^[a-z0-9-]{1,63}$/)
    expect(ownerOf({ namespace: 'tenant-other', name: 'orders' })).not.toBe(ownerOf(one.metadata))
    expect(emptyTreeOf(one)).not.toHaveProperty('tenants')
  })

  it('includes the document of a ConfigMap', async () => {
    const spec = { configMapRef: { name: 'orders', key: 'openapi.yaml' } }
    const one = object({ path: '/orders', api: { ...API, spec } })
    const { api } = await readBinding(one, async () => 'openapi: 3.1.0\n')
    expect(api.spec).toEqual({ openapi: '3.1.0' })
    await expect(readBinding(one, noConfigMap)).rejects.toThrow(/has no key openapi\.yaml/)
  })

  it.each([
    [object({ path: '/orders', api: API }, 'platform'), /belongs to no tenant/],
    [object({ path: '/orders', api: API }, 'default'), /belongs to no tenant/],
    [object({ path: 'orders', api: API }), /spec\.path/],
    [object({ path: '/orders' }), /spec\.api/],
    [
      object({ path: '/orders', api: { ...API, spec: { configMapRef: {} } } }),
      /is not complete: write the name and the key/,
    ],
  ])('names field and fix of what cannot be used (%#)', async (one, message) => {
    await expect(readBinding(one, noConfigMap)).rejects.toThrow(message)
  })

  it('is ready when its gateway serves it', () => {
    const one = object({})
    const at = (sync_status: string, error: string | null = null) => ({
      ...applied,
      deployment: { sync_status, desired_version: 'b', actual_version: 'a', error },
    })
    expect(statusOfBinding(one, applied, NOW)).toMatchObject({ phase: 'Ready', observedGeneration: 3 })
    expect(statusOfBinding(one, at('synced'), NOW)).toMatchObject({ phase: 'Ready', lastError: null })
    expect(statusOfBinding(one, at('syncing'), NOW)).toMatchObject({ phase: 'Syncing' })
    expect(statusOfBinding(one, at('error', 'refused'), NOW)).toMatchObject({
      phase: 'Error',
      lastError: 'refused',
      conditions: [{ reason: 'GatewayRefused' }],
    })
  })

  it('keeps the time of a condition that stays, and is not written again', () => {
    const first = statusOfBinding(object({}), applied, NOW)
    const later = { ...object({}), status: first }
    const second = statusOfBinding(later, applied, NOW + 60_000)
    expect(second).toEqual(first)
    expect(isWritten(later, second)).toBe(true)
    expect(isWritten(later, statusOfBinding(later, { ...applied, fault: 'no' }, NOW))).toBe(false)
  })
})

describe('an instance', () => {
  const gateway: ShownGateway = {
    id: 'gw_1',
    name: 'orders',
    status: 'online',
    version: '0.1.0',
    url: 'https://gw.example',
    snapshot_version: 'a',
    workers: 2,
    last_seen_at: '2026-01-01T00:00:00Z',
    error: null,
  }

  it.each([
    ['Online', null, gateway, object({}, 'platform')],
    ['Absent', /No gateway with the name in spec\.gatewayName/, undefined, object({}, 'platform')],
    ['Online', /spec\.url is/, gateway, object({ url: 'https://other.example' }, 'platform')],
    [
      'Online',
      /spec\.url is not an absolute http\(s\) address/,
      gateway,
      object({ url: 'ftp://a' }, 'platform'),
    ],
    ['Online', /refused/, { ...gateway, error: 'refused' }, object({}, 'platform')],
    ['Error', /create the GatewayInstance in the namespace platform/, gateway, object({})],
  ])('is %s, with the reason %s', (phase, reason, shown, one) => {
    const status = statusOfInstance(one, shown, NOW)
    expect(status.phase).toBe(phase)
    expect(status.lastError).toEqual(reason === null ? null : expect.stringMatching(reason))
  })
})
