/** Who sees what, how much of it, and what happens when several ask at once: catalog, lists, plans, tier limits, names, deletion, seeds, request ids. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { patchConsumer } from '../../../src/control-plane/api/services/consumers.ts'
import { seedTenants } from '../../../src/control-plane/api/services/seed.ts'
import { EVERY_TENANT } from '../../../src/control-plane/store/store.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

describe.each(DATABASES)('the control plane on $name', database => {
  describe.skipIf(database.skip)('in use', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let base: string
    let paths = 0

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
      base = `/v1/tenants/${world.acme}`
    })
    afterAll(async () => {
      await plane?.close()
      await cluster?.stop()
    })
    beforeEach(() => {
      plane.faults.length = 0
      return () => expect(plane.faults).toEqual([])
    })

    async function anApi(fields: object = {}): Promise<string> {
      const body = { name: 'Stock', upstream_url: 'http://127.0.0.1:9', path: `/stock-${++paths}`, ...fields }
      const reply = await plane.call('admin', 'POST', `${base}/apis`, body)
      expect(reply.status).toBe(201)
      return reply.body.id
    }

    async function subscribe(fields: object = {}) {
      const api = await anApi()
      const body = { api_id: api, plan: 'silver', application: 'app', ...fields }
      const reply = await plane.call('app', 'POST', `${base}/subscriptions`, body)
      expect(reply.status, JSON.stringify(reply.body)).toBe(201)
      return {
        api,
        id: reply.body.id as string,
        at: `${base}/subscriptions/${reply.body.id}`,
        body: reply.body,
      }
    }

    it('shows nothing to visitors where they are not admitted', async () => {
      for (const by of [null, 'platform'] as const)
        expect((await plane.call(by, 'GET', '/v1/public/apis')).status).toBe(404)
    })

    it('shows the portal only what is visible and not retired, without its inside; wildcards are literal', async () => {
      await anApi({ name: 'Hidden 100%' })
      const shown = await anApi({ name: 'Shown 100%', portal_visibility: true })
      const retired = await anApi({ name: 'Gone 100%', portal_visibility: true })
      await plane.call('admin', 'PATCH', `${base}/apis/${retired}`, { status: 'retired' })
      const found = (await plane.call('viewer', 'GET', '/v1/portal/apis?q=100%25')).body
      expect(found.items.map((api: { name: string }) => api.name)).toEqual(['Shown 100%'])
      expect(Object.keys(found.items[0])).not.toContain('upstream_url')
      expect((await plane.call('viewer', 'GET', '/v1/portal/apis?q=_%25_')).body.total).toBe(0)
      expect((await plane.call('viewer', 'GET', `/v1/portal/apis/${shown}`)).status).toBe(200)
      expect((await plane.call('viewer', 'GET', `/v1/portal/apis/${retired}`)).status).toBe(404)
    })

    it('exports to a tenant its own things, to the platform all of them or those of X-Tenant-ID', async () => {
      await plane.call('stranger', 'POST', `/v1/tenants/${world.globex}/apis`, {
        name: 'Foreign',
        upstream_url: 'http://127.0.0.1:9',
        path: '/foreign',
      })
      const tenantsOf = async (caller: 'stranger' | 'platform' | 'viewer', headers = {}, query = '') => {
        const reply = await plane.call(caller, 'GET', `/v1/apis?limit=100${query}`, undefined, headers)
        return new Set((reply.body.items ?? []).map((api: { tenant_id: string }) => api.tenant_id))
      }
      expect(await tenantsOf('stranger')).toEqual(new Set([world.globex]))
      expect(await tenantsOf('platform')).toEqual(new Set([world.acme, world.globex]))
      expect(await tenantsOf('platform', {}, `&tenant_id=${world.globex}`)).toEqual(new Set([world.globex]))
      expect(await tenantsOf('platform', { 'x-tenant-id': 'globex' })).toEqual(new Set([world.globex]))
      expect(await tenantsOf('viewer', {}, `&tenant_id=${world.globex}`)).toEqual(new Set())
      const foreign = await plane.call('viewer', 'GET', '/v1/apis', undefined, { 'x-tenant-id': 'globex' })
      expect(foreign.status).toBe(403)
      expect(
        (await plane.call('viewer', 'GET', '/v1/apis', undefined, { 'x-tenant-id': 'acme' })).status,
      ).toBe(200)
    })

    it('lets a tenant have plans that no other tenant sees and that cannot take a global slug', async () => {
      const own = { slug: 'bronze', name: 'Bronze', tenant_id: world.acme, monthly_request_limit: 9 }
      expect((await plane.call('viewer', 'POST', '/v1/plans', own)).status).toBe(403)
      expect((await plane.call('stranger', 'POST', '/v1/plans', own)).status).toBe(403)
      const made = await plane.call('admin', 'POST', '/v1/plans', own)
      expect([made.status, made.body.tenant_id]).toEqual([201, world.acme])
      expect((await plane.call('admin', 'POST', '/v1/plans', { ...own, slug: 'gold' })).status).toBe(409)
      expect((await plane.call('stranger', 'GET', '/v1/plans/bronze')).status).toBe(404)
      expect((await plane.call('stranger', 'GET', `/v1/plans/${made.body.id}`)).status).toBe(404)
      expect(
        (await plane.call('viewer', 'GET', '/v1/plans?limit=100')).body.items.map(
          (plan: { slug: string }) => plan.slug,
        ),
      ).toContain('bronze')
      expect((await plane.call('admin', 'PATCH', '/v1/plans/gold', { burst_limit: 1 })).status).toBe(403)
      await subscribe({ plan: 'bronze' })
      expect((await plane.call('admin', 'DELETE', '/v1/plans/bronze')).status).toBe(409)
    })

    it('changes no global plan for one tenant, and says how it is changed', async () => {
      const forAcme = { 'x-tenant-id': 'acme' }
      const plan = { slug: 'everywhere', name: 'Everywhere' }
      const change = (
        method: 'POST' | 'PATCH' | 'DELETE',
        path: string,
        body: object | undefined,
        headers = {},
      ) => plane.call('platform', method, path, body, headers)
      const refused = [
        await change('POST', '/v1/plans', plan, forAcme),
        await change('PATCH', '/v1/plans/gold', { burst_limit: 2 }, forAcme),
        await change('DELETE', '/v1/plans/gold', undefined, forAcme),
      ]
      for (const reply of refused) {
        expect(reply.status, JSON.stringify(reply.body)).toBe(403)
        expect(JSON.stringify(reply.body)).toContain('without X-Tenant-ID')
      }
      expect((await change('POST', '/v1/plans', plan)).status).toBe(201)
      expect((await change('DELETE', '/v1/plans/everywhere', undefined)).status).toBe(204)
      const theirs = await change('POST', '/v1/plans', { ...plan, tenant_id: world.acme }, forAcme)
      expect([theirs.status, theirs.body.tenant_id]).toEqual([201, world.acme])
      expect((await change('DELETE', '/v1/plans/everywhere', undefined, forAcme)).status).toBe(204)
    })

    it('limits a tenant exactly by the hourly limit of its tier, and reports it in headers', async () => {
      const name = 'metered'
      const tenant = (await plane.call('platform', 'POST', '/v1/tenants', { name, tier: 'free' })).body.id
      const call = () => plane.call('metered', 'GET', '/v1/portal/apis')
      const replies = await Promise.all(Array.from({ length: 110 }, call))
      expect(replies.filter(reply => reply.status === 200).length).toBe(100)
      const refused = replies.find(reply => reply.status !== 200)!
      expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited'])
      expect(refused.headers.get('x-ratelimit-limit')).toBe('100')
      expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
      const hourEnds = Math.floor(plane.clock.nowMs / 3_600_000 + 1) * 3600
      expect(refused.headers.get('x-ratelimit-reset')).toBe(String(hourEnds))
      expect(refused.headers.get('retry-after')).toBe(String(hourEnds - plane.clock.nowMs / 1000))
      await plane.call('platform', 'PATCH', `/v1/tenants/${tenant}`, {
        settings: { rate_limit_multiplier: 1.02 },
      })
      expect([(await call()).status, (await call()).status, (await call()).status]).toEqual([200, 200, 429])
      plane.clock.nowMs += 3_600_000
      const next = await call()
      expect([next.status, next.headers.get('x-ratelimit-remaining')]).toEqual([200, '101'])
    })

    it('accepts one of several concurrent requests for a name, and refuses the others with 409', async () => {
      const attempt = () => plane.call('platform', 'POST', '/v1/tenants', { name: 'contested' })
      const statuses = (await Promise.all(Array.from({ length: 8 }, attempt))).map(reply => reply.status)
      expect(statuses.sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409])
    })

    it('makes one thing of many equal requests with one Idempotency-Key', async () => {
      const attempt = () =>
        plane.call('platform', 'POST', '/v1/tenants', { name: 'only-once' }, { 'idempotency-key': 'once' })
      const replies = await Promise.all(Array.from({ length: 8 }, attempt))
      expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([201]))
      expect(new Set(replies.map(reply => reply.body.id)).size).toBe(1)
      const other = await plane.call(
        'admin',
        'POST',
        `${base}/apis`,
        { name: 'A', upstream_url: 'http://127.0.0.1:9', path: '/once' },
        { 'idempotency-key': 'once' },
      )
      expect(other.status).toBe(201)
    })

    it('refuses an Idempotency-Key again with another query, which may ask for more', async () => {
      const tree = { apiVersion: 'toolgate.dev/v1', kind: 'Configuration', owner: 'once' }
      const apply = (query: string) =>
        plane.call('platform', 'POST', `/v1/config${query}`, tree, { 'idempotency-key': 'applied' })
      expect((await apply('')).status).toBe(200)
      expect((await apply('')).headers.get('idempotency-replayed')).toBe('true')
      const pruned = await apply('?prune=true')
      expect([pruned.status, pruned.body.error.code]).toEqual([409, 'conflict'])
      expect((await apply('')).status).toBe(200)
    })

    it('deletes a tenant that no gateway serves, refuses changes to it meanwhile, and frees its name', async () => {
      const id = (await plane.call('platform', 'POST', '/v1/tenants', { name: 'leaving' })).body.id
      await plane.call('platform', 'POST', `/v1/tenants/${id}/apis`, {
        name: 'A',
        upstream_url: 'http://127.0.0.1:9',
        path: '/a',
      })
      expect((await plane.call('platform', 'DELETE', `/v1/tenants/${id}`)).status).toBe(204)
      expect((await plane.call('platform', 'GET', `/v1/tenants/${id}`)).body.status).toBe('deleting')
      const late = await plane.call('platform', 'POST', `/v1/tenants/${id}/apis`, {
        name: 'B',
        upstream_url: 'http://127.0.0.1:9',
        path: '/b',
      })
      expect(late.status).toBe(409)
      expect((await plane.call('platform', 'PATCH', `/v1/tenants/${id}`, { status: 'active' })).status).toBe(
        409,
      )
      await plane.control.settle()
      expect((await plane.call('platform', 'GET', `/v1/tenants/${id}`)).status).toBe(404)
      expect((await plane.call('platform', 'POST', '/v1/tenants', { name: 'leaving' })).status).toBe(201)
    })

    it('seeds tenants and consumers once, and leaves alone what was changed since', async () => {
      const seed = [
        { name: 'seeded', tier: 'enterprise', consumers: { one: 'gold', two: 'community' } },
      ] as const
      await seedTenants(plane.store, seed)
      const tenant = await plane.store.read(EVERY_TENANT, tx => tx.tenants.resolve('seeded'))
      const plans = () =>
        plane.store.read(tenant!.id, async tx => [
          (await tx.consumers.bySubject('one'))?.plan,
          (await tx.consumers.bySubject('two'))?.plan,
        ])
      expect(await plans()).toEqual(['gold', 'community'])
      await plane.store.write(tenant!.id, async tx =>
        patchConsumer(tx, (await tx.consumers.bySubject('one'))!.id, { plan: 'silver' }, ''),
      )
      await seedTenants(plane.store, seed)
      expect(await plans()).toEqual(['silver', 'community'])
    })

    it('responds at addresses outside the table: health, unknown ones, other methods', async () => {
      expect((await plane.call(null, 'GET', '/health')).body).toMatchObject({
        status: 'ok',
        database: { status: 'available' },
      })
      expect((await plane.call('viewer', 'GET', '/v1/nothing')).status).toBe(404)
      expect((await plane.call(null, 'GET', '/v1/nothing')).status).toBe(401)
      const put = await plane.call('viewer', 'PUT', `${base}/apis`, {})
      expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
      const head = await plane.call('viewer', 'HEAD', `${base}/apis`)
      expect([head.status, head.body]).toEqual([200, ''])
    })

    it('adds a request id and a trace id to every response, and keeps valid ones of the request', async () => {
      const headers = {
        'x-request-id': 'abc-1',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      }
      const reply = await plane.call('viewer', 'GET', '/v1/plans', undefined, headers)
      expect([reply.headers.get('x-request-id'), reply.headers.get('x-trace-id')]).toEqual([
        'abc-1',
        '0af7651916cd43dd8448eb211c80319c',
      ])
      const bad = await plane.call(null, 'GET', '/v1/plans', undefined, { 'x-request-id': '<script>' })
      expect(bad.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    })
  })
})
