/** What the endpoints of subscriptions, keys and APIs do in each state: approval, rotation, expiry, revocation, deletion, documents, usage against limits. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expireDue } from '../../../src/control-plane/api/services/subscriptions.ts'
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

    async function subscribe(fields: object = {}, caller: 'app' | 'admin' = 'app') {
      const api = await anApi()
      const body = { api_id: api, plan: 'silver', application: 'app', ...fields }
      const reply = await plane.call(caller, 'POST', `${base}/subscriptions`, body)
      expect(reply.status, JSON.stringify(reply.body)).toBe(201)
      return {
        api,
        id: reply.body.id as string,
        at: `${base}/subscriptions/${reply.body.id}`,
        body: reply.body,
      }
    }

    const eventsOf = async (resourceId: string) => {
      const events = await plane.store.read(world.acme, tx => tx.events.after(0, 10_000))
      return events.filter(event => event.resourceId === resourceId)
    }

    it('walks from request over approval, rotation and revocation, each with its event', async () => {
      const { id, at, body } = await subscribe({ callback_url: 'https://app.example/cb' })
      expect(body).toMatchObject({ status: 'pending_approval', api_key: null, plan: 'silver' })

      const approved = await plane.call('admin', 'POST', `${at}/approve`, { rate_limit: 7, quota: 70 })
      expect(approved.body).toMatchObject({ status: 'approved', rate_limit: 7, quota: 70 })
      expect(approved.body.api_key).toMatch(/^tgk_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/)
      expect(approved.headers.get('cache-control')).toBe('no-store')

      const key = (await plane.call('admin', 'GET', `${base}/apikeys?subscription_id=${id}`)).body.items[0]
      expect(key).toMatchObject({ status: 'active', prefix: approved.body.api_key.slice(0, 12) })
      expect((await plane.call('viewer', 'GET', at)).body.api_key).toBe(key.prefix)

      const rotated = await plane.call('app', 'POST', `${base}/apikeys/${key.id}/rotate`, {
        grace_period_hours: 2,
      })
      expect(rotated.body).toMatchObject({
        id: key.id,
        status: 'rotating',
        previous_key_expires_at: '2026-03-01T12:20:00.000Z',
      })
      expect(rotated.body.key).not.toBe(approved.body.api_key)

      expect((await plane.call('admin', 'DELETE', `${at}?reason=unpaid`)).status).toBe(204)
      expect((await plane.call('viewer', 'GET', at)).body).toMatchObject({
        status: 'revoked',
        reason: 'unpaid',
        api_key: null,
      })
      const over = await plane.call('admin', 'POST', `${base}/apikeys/${key.id}/rotate`, {})
      expect([over.status, over.body.error.code]).toEqual([409, 'conflict'])

      const events = await eventsOf(id)
      expect(events.map(event => event.kind)).toEqual([
        'subscription.created',
        'subscription.approved',
        'subscription.key_rotated',
        'subscription.revoked',
      ])
      expect(events[1]!.data).toMatchObject({
        subscription_id: id,
        api_name: 'Stock',
        plan: 'silver',
        status: 'approved',
        key_prefix: key.prefix,
      })
      expect(events[1]!.data.consumer_id).toMatch(/^con_/)
      expect(events[2]!.data.key_prefix).toBe(rotated.body.prefix)
      expect(events[3]!.data.reason).toBe('unpaid')
    })

    it('stores no key in the share, the events or the list of keys, and repeats it in a replayed response', async () => {
      const { at } = await subscribe()
      const headers = { 'idempotency-key': 'keep-nothing' }
      const first = await plane.call('admin', 'POST', `${at}/approve`, {}, headers)
      const secret = first.body.api_key.slice(13)
      expect((await plane.call('admin', 'POST', `${at}/approve`, {}, headers)).body.api_key).toBe(
        first.body.api_key,
      )
      const tables = await plane.rows()
      expect(JSON.stringify(tables)).not.toContain(secret)
      const responses = tables.flatMap(({ table, rows }) => (table === 'idempotency' ? rows : []))
      const stored = responses.map(row => JSON.parse(row))
      expect(stored).toContainEqual(expect.objectContaining({ status: 200, body: expect.any(String) }))
      const share = await plane.store.read(EVERY_TENANT, tx => tx.share.load())
      const hash = createHash('sha256').update(first.body.api_key).digest('hex')
      expect(share.keys.some(key => key.hash === hash)).toBe(true)
    })

    it('approves at once where the plan asks for no approval', async () => {
      await plane.call('platform', 'POST', '/v1/plans', {
        slug: 'self-service',
        name: 'Self',
        requires_approval: false,
      })
      const { id, body } = await subscribe({ plan: 'self-service' })
      expect(body.status).toBe('approved')
      expect(body.api_key).toMatch(/^tgk_.{41}$/)
      expect((await eventsOf(id)).map(event => event.kind)).toEqual([
        'subscription.created',
        'subscription.approved',
      ])
    })

    it('expires a subscription when its life, counted from the approval, is over', async () => {
      const { id, at } = await subscribe({ ttl: '1h' })
      plane.clock.nowMs += 30 * 60_000
      expect((await plane.call('admin', 'POST', `${at}/approve`, {})).body.expires_at).toBe(
        new Date(plane.clock.nowMs + 3_600_000).toISOString(),
      )
      await plane.store.read(world.acme, async tx =>
        expect((await tx.subscriptions.find(id))?.status).toBe('approved'),
      )
      plane.clock.nowMs += 3_600_000
      expect(await Promise.all([expireDue(plane.store, 10), expireDue(plane.store, 10)])).toEqual(
        expect.arrayContaining([1, 0]),
      )
      expect((await plane.call('viewer', 'GET', at)).body.status).toBe('expired')
      const events = (await eventsOf(id)).filter(event => event.kind === 'subscription.expired')
      expect(events.map(event => event.data.expires_at)).toEqual([new Date(plane.clock.nowMs).toISOString()])
    })

    it('takes a new subscription after the old one was revoked, but not beside it', async () => {
      const { api, at } = await subscribe()
      const again = () =>
        plane.call('app', 'POST', `${base}/subscriptions`, { api_id: api, plan: 'gold', application: 'app' })
      expect((await again()).status).toBe(409)
      await plane.call('admin', 'DELETE', at)
      expect((await again()).status).toBe(201)
    })

    it.each([
      ['api_id', { api_id: 'api_nothing' }],
      ['plan', { plan: 'nothing' }],
      ['expires_at', { expires_at: '2026-01-01T00:00:00Z' }],
      ['ttl', { ttl: '1h', expires_at: '2027-01-01T00:00:00Z' }],
    ])('refuses a subscription whose %s cannot be', async (field, change) => {
      const body = { api_id: world.api, plan: 'gold', application: 'other', ...change }
      const reply = await plane.call('admin', 'POST', `${base}/subscriptions`, body)
      expect([reply.status, reply.body.error.details.map((fault: { field: string }) => fault.field)]).toEqual(
        [400, [field]],
      )
    })

    it('revokes the subscriptions of an API that is deleted', async () => {
      const { api, at } = await subscribe()
      expect((await plane.call('admin', 'DELETE', `${base}/apis/${api}`)).status).toBe(204)
      expect((await plane.call('viewer', 'GET', at)).body).toMatchObject({
        status: 'revoked',
        reason: 'The API was deleted.',
      })
    })

    it('moves an API between active and deprecated and on to retired, and not back from there', async () => {
      const id = await anApi()
      const move = async (status: string) =>
        (await plane.call('admin', 'PATCH', `${base}/apis/${id}`, { status })).status
      expect([
        await move('deprecated'),
        await move('active'),
        await move('retired'),
        await move('active'),
      ]).toEqual([200, 200, 200, 409])
      const late = await plane.call('app', 'POST', `${base}/subscriptions`, {
        api_id: id,
        plan: 'gold',
        application: 'app',
      })
      expect(late.status).toBe(409)
    })

    it('keeps and serves an OpenAPI document as it was given, where one API is read', async () => {
      const spec = {
        openapi: '3.1.0',
        info: { title: 'é\u0000𝄞' },
        __proto__: null,
        deep: { a: [1, null, { b: '' }] },
      }
      const text = 'openapi: 3.0.3\ninfo: {title: X}'
      const [asObject, asText] = [await anApi({ spec }), await anApi({ spec: text })]
      expect((await plane.call('viewer', 'GET', `/v1/apis/${asObject}`)).body.spec).toEqual(
        JSON.parse(JSON.stringify(spec)),
      )
      expect((await plane.call('viewer', 'GET', `${base}/apis/${asText}`)).body.spec).toBe(text)
      const listed = (await plane.call('viewer', 'GET', `${base}/apis?limit=100`)).body.items
      expect(listed.every((api: object) => !('spec' in api))).toBe(true)
      await plane.call('admin', 'PATCH', `${base}/apis/${asText}`, { spec: null })
      expect((await plane.call('viewer', 'GET', `${base}/apis/${asText}`)).body.spec).toBeNull()
    })

    it('lets an application rotate its own key without a role, and no other application', async () => {
      const { at } = await subscribe({ application: 'another-app' }, 'admin')
      const id = (await plane.call('admin', 'POST', `${at}/approve`, {})).body.id
      const key = (await plane.call('admin', 'GET', `${base}/apikeys?subscription_id=${id}`)).body.items[0].id
      expect((await plane.call('app', 'POST', `${base}/apikeys/${key}/rotate`, {})).status).toBe(403)
      expect((await plane.call('app', 'POST', `${base}/apikeys/${world.key}/rotate`, {})).status).toBe(201)
    })

    it('reports the usage of the month and the day against the current limits', async () => {
      const { id, at } = await subscribe()
      await plane.call('admin', 'POST', `${at}/approve`, { quota: 100 })
      const today = new Date(plane.clock.nowMs).toISOString().slice(0, 10)
      const count = (day: string, requests: number) => ({
        subscriptionId: id,
        day,
        requests,
        errors: 2,
        lastRequestAt: new Date(plane.clock.nowMs),
      })
      plane.clock.nowMs += 24 * 3_600_000
      const tomorrow = new Date(plane.clock.nowMs).toISOString().slice(0, 10)
      await plane.store.write(EVERY_TENANT, tx => tx.usage.add([count(today, 60), count(tomorrow, 30)]))
      const { body } = await plane.call('viewer', 'GET', `${at}/usage`)
      expect(body).toMatchObject({
        requests: 90,
        errors: 4,
        period_start: '2026-03-01T00:00:00.000Z',
        period_end: '2026-04-01T00:00:00.000Z',
      })
      expect(body.limits).toMatchObject({ rate_limit_per_minute: 300, monthly_request_limit: 100 })
      expect(body.daily).toMatchObject({ count: 30, limit: 50_000, remaining: 49_970 })
      expect(body.monthly).toMatchObject({
        count: 90,
        limit: 100,
        remaining: 10,
        resets_at: '2026-04-01T00:00:00.000Z',
      })
    })
  })
})
