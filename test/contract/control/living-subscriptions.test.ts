/** Subscriptions while they live: changed, suspended, resumed, rejected, approved together, announced before they expire, with two keys; and their events. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { announceExpiring } from '../../../src/control-plane/api/services/notices.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { type Caller, DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const DAY_MS = 86_400_000

describe.each(DATABASES)('a subscription on $name', database => {
  describe.skipIf(database.skip)('while it lives', () => {
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
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    async function subscribe(fields: object = {}, approved = true) {
      const api = { name: 'A', upstream_url: 'http://127.0.0.1:9', path: `/living-${++paths}` }
      const made = await plane.call('admin', 'POST', `${base}/apis`, api)
      const body = { api_id: made.body.id, plan: 'silver', application: 'app', ...fields }
      const reply = await plane.call('app', 'POST', `${base}/subscriptions`, body)
      expect(reply.status, JSON.stringify(reply.body)).toBe(201)
      const id: string = reply.body.id
      const at = `${base}/subscriptions/${id}`
      const key = approved ? (await plane.call('admin', 'POST', `${at}/approve`, {})).body.api_key : undefined
      return { id, at, key: key as string, api: made.body.id as string }
    }
    const send = (caller: Caller, method: string, path: string, body?: object) =>
      plane.call(caller, method, path, body)
    const eventsOf = async (id: string) => {
      const events = await plane.store.read(world.acme, tx => tx.events.after(0, 10_000))
      return events.filter(event => event.resourceId === id).slice(2)
    }

    it('changes plan, limits and expiry without a new key', async () => {
      const { id, at, key } = await subscribe()
      const patch = { plan: 'gold', rate_limit: 7, quota: 70, expires_at: '2027-01-01T00:00:00Z' }
      const reply = await send('admin', 'PATCH', at, patch)
      expect(reply.body).toMatchObject({
        ...patch,
        expires_at: '2027-01-01T00:00:00.000Z',
        status: 'approved',
      })
      expect(reply.body.api_key).toBe(key.slice(0, 12))
      const events = await eventsOf(id)
      expect(events.map(({ kind, data }) => [kind, data.plan, data.changed])).toEqual([
        [
          'subscription.updated',
          'gold',
          expect.arrayContaining(['plan', 'rate_limit', 'quota', 'expires_at']),
        ],
      ])
      const cleared = await send('admin', 'PATCH', at, { rate_limit: null, quota: null, expires_at: null })
      expect(cleared.body).toMatchObject({ rate_limit: null, quota: null, expires_at: null })
    })

    it('lets the application change its own data and request a plan, which the owner approves or rejects', async () => {
      const { id, at } = await subscribe()
      const own = await send('app', 'PATCH', at, { metadata: { contact: 'a@example.com' }, plan: 'gold' })
      expect(own.body).toMatchObject({
        plan: 'silver',
        requested_plan: 'gold',
        metadata: { contact: 'a@example.com' },
      })
      for (const body of [{ rate_limit: 1 }, { quota: 1 }, { expires_at: null }])
        expect((await send('app', 'PATCH', at, body)).status).toBe(403)
      const rejected = await send('admin', 'POST', `${at}/reject`, { reason: 'too many calls' })
      expect(rejected.body).toMatchObject({ plan: 'silver', requested_plan: null, status: 'approved' })
      await send('app', 'PATCH', at, { plan: 'gold' })
      const approved = await send('admin', 'POST', `${at}/approve`, { quota: 5 })
      expect(approved.body).toMatchObject({
        plan: 'gold',
        requested_plan: null,
        quota: 5,
        status: 'approved',
      })
      expect((await eventsOf(id)).map(({ kind, data }) => [kind, data.reason ?? data.changed])).toEqual([
        ['subscription.updated', ['metadata', 'requested_plan']],
        ['subscription.rejected', 'too many calls'],
        ['subscription.updated', ['requested_plan']],
        ['subscription.updated', ['plan']],
      ])
      await plane.call('platform', 'POST', '/v1/plans', {
        slug: 'free',
        name: 'Free',
        requires_approval: false,
      })
      expect((await send('app', 'PATCH', at, { plan: 'free' })).body).toMatchObject({
        plan: 'free',
        requested_plan: null,
      })
    })

    it('is suspended and resumed with the same key, and keeps its place meanwhile', async () => {
      const { id, at, key, api } = await subscribe()
      const suspended = await send('admin', 'POST', `${at}/suspend`, { reason: 'unpaid' })
      expect(suspended.body).toMatchObject({
        status: 'suspended',
        reason: 'unpaid',
        api_key: key.slice(0, 12),
      })
      const again = { api_id: api, plan: 'silver', application: 'app' }
      expect((await send('app', 'POST', `${base}/subscriptions`, again)).status).toBe(409)
      const share = await plane.store.read('*', tx => tx.share.load())
      expect(share.subscriptions.map(each => each.id)).not.toContain(id)
      expect(share.inactive).toContainEqual(expect.objectContaining({ id, status: 'suspended' }))
      const resumed = await send('admin', 'POST', `${at}/resume`)
      expect(resumed.body).toMatchObject({ status: 'approved', reason: null, suspended_at: null })
      expect((await send('admin', 'POST', `${at}/resume`)).status).toBe(200)
      expect((await eventsOf(id)).map(event => event.kind)).toEqual([
        'subscription.suspended',
        'subscription.resumed',
      ])
    })

    it('is rejected with a reason, and may be requested again', async () => {
      const { id, at, api } = await subscribe({}, false)
      const rejected = await send('admin', 'POST', `${at}/reject`, { reason: 'unknown application' })
      expect(rejected.body).toMatchObject({
        status: 'rejected',
        reason: 'unknown application',
        api_key: null,
      })
      expect((await send('admin', 'POST', `${at}/approve`, {})).status).toBe(409)
      const again = { api_id: api, plan: 'silver', application: 'app' }
      expect((await send('app', 'POST', `${base}/subscriptions`, again)).status).toBe(201)
      const { data } = (await plane.store.read(world.acme, tx => tx.events.after(0, 10_000))).find(
        event => event.resourceId === id && event.kind === 'subscription.rejected',
      )!
      expect(data).toMatchObject({ reason: 'unknown application', status: 'rejected' })
    })

    it('is approved with others, all or none', async () => {
      const pending = [await subscribe({}, false), await subscribe({}, false)]
      const ids = pending.map(each => each.id)
      const refused = await send('admin', 'POST', `${base}/subscriptions/approve`, {
        ids: [...ids, world.subscription, 'sub_x'],
      })
      expect([
        refused.status,
        refused.body.error.details.map((each: { field: string }) => each.field).sort(),
      ]).toEqual([409, [world.subscription, 'sub_x'].sort()])
      expect((await send('admin', 'GET', pending[0]!.at)).body.status).toBe('pending_approval')
      const { status, body, headers } = await send('admin', 'POST', `${base}/subscriptions/approve`, { ids })
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
      expect(body.items.map((each: { id: string }) => each.id).sort()).toEqual([...ids].sort())
      for (const { api_key } of body.items) expect(api_key).toMatch(/^tgk_.{41}$/)
    })

    it('is announced once before each expiry date, and expires while it is suspended', async () => {
      const { id, at } = await subscribe()
      const inDays = (days: number) => new Date(plane.clock.nowMs + days * DAY_MS).toISOString()
      await send('admin', 'PATCH', at, { expires_at: inDays(30) })
      const announced = async () =>
        (await eventsOf(id))
          .filter(({ kind }) => kind === 'subscription.expiring')
          .map(({ data }) => data.expires_at)
      await announceExpiring(plane.store, 10)
      expect(await announced()).toEqual([])
      plane.clock.nowMs += 24 * DAY_MS
      const seen = await send('admin', 'GET', at)
      await Promise.all([announceExpiring(plane.store, 10), announceExpiring(plane.store, 10)])
      await announceExpiring(plane.store, 10)
      const first = inDays(6)
      expect(await announced()).toEqual([first])
      // the subscription has not changed: a client's ETag stays valid
      expect((await send('admin', 'GET', at)).body).toEqual(seen.body)
      const ifMatch = { 'if-match': seen.headers.get('etag')! }
      expect((await plane.call('admin', 'PATCH', at, { quota: 7 }, ifMatch)).status).toBe(200)
      await send('admin', 'PATCH', at, { expires_at: inDays(5) })
      await announceExpiring(plane.store, 10)
      expect(await announced()).toEqual([first, inDays(5)])
      await send('admin', 'POST', `${at}/suspend`)
      plane.clock.nowMs += 6 * DAY_MS
      await plane.control.settle()
      expect((await send('admin', 'GET', at)).body.status).toBe('expired')
    })

    it('has two keys side by side, each with its last use', async () => {
      const { id } = await subscribe()
      const second = await send('app', 'POST', `${base}/apikeys`, { subscription_id: id, name: 'new' })
      const used = new Date(plane.clock.nowMs)
      await plane.store.write('*', tx => tx.keys.touch([{ id: second.body.id, at: used }]))
      const { items } = (await send('app', 'GET', `${base}/apikeys?subscription_id=${id}`)).body
      expect(items.map((key: Record<string, unknown>) => [key.name, key.status, key.last_used_at])).toEqual([
        ['default', 'active', null],
        ['new', 'active', used.toISOString()],
      ])
    })
  })
})
