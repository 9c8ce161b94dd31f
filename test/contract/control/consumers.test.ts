/** Consumers of a tenant, changed by its administrators: block, name, plan, notes; and gateways that are removed and connect again. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

describe.each(DATABASES)('consumers on $name', database => {
  describe.skipIf(database.skip)('of a tenant', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let at: string

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
      const all = `/v1/tenants/${world.acme}/consumers`
      at = `${all}/${(await plane.call('viewer', 'GET', all)).body.items[0].id}`
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    it('are blocked and unblocked in the share of the gateways, each with its event', async () => {
      const blocked = async () => (await plane.store.read('*', tx => tx.share.load())).consumers
      const patch = { name: 'The shop', status: 'blocked', plan: 'gold', notes: 'unpaid' }
      expect((await plane.call('admin', 'PATCH', at, patch)).body).toMatchObject({ ...patch, subject: 'app' })
      expect(await blocked()).toEqual([
        { tenantId: world.acme, subject: 'app', plan: 'gold', status: 'blocked' },
      ])
      await plane.call('admin', 'PATCH', at, { status: 'active', plan: null })
      expect(await blocked()).toEqual([])
      expect((await plane.call('viewer', 'GET', at)).body).toMatchObject({
        name: 'The shop',
        notes: 'unpaid',
        plan: null,
      })
      const events = await plane.store.read(world.acme, tx => tx.events.after(0, 1_000))
      expect(
        events.filter(event => event.kind === 'consumer.updated').map(event => event.data.status),
      ).toEqual(['blocked', 'active'])
    })

    it('are refused by the control plane while they are blocked, at once, and administrators of the platform are not', async () => {
      const mine = `/v1/tenants/${world.acme}/subscriptions`
      const statuses = async () => [
        (await plane.call('app', 'GET', mine)).status,
        (await plane.call('viewer', 'GET', mine)).status,
      ]
      expect(await statuses()).toEqual([200, 200])
      await plane.call('admin', 'PATCH', at, { status: 'blocked' })
      expect(await statuses()).toEqual([403, 200])
      const refused = await plane.call('app', 'GET', mine)
      expect(refused.body.error).toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining('blocked'),
      })
      await plane.call('admin', 'PATCH', at, { status: 'active' })
      expect(await statuses()).toEqual([200, 200])
    })

    it('are refused a plan that does not exist, and other fields', async () => {
      const wrong = await plane.call('admin', 'PATCH', at, { plan: 'nothing' })
      expect([wrong.status, wrong.body.error.details]).toEqual([
        400,
        [{ field: 'plan', message: 'must be the slug of a plan that exists.' }],
      ])
      const renamed = await plane.call('admin', 'PATCH', at, { subject: 'other' })
      expect(renamed.body.error.details).toEqual([{ field: 'subject', message: 'is read-only.' }])
    })

    it('are changed by administrators only', async () => {
      for (const caller of ['app', 'devops', 'viewer', 'subscriber', 'stranger'] as const)
        expect((await plane.call(caller, 'PATCH', at, { notes: caller })).status, caller).toBe(403)
    })

    it('a gateway is removed once it is offline, and appears again when it connects', async () => {
      const hello = { name: 'edge-9', url: '', version: '0.1.0', workers: 1, authConfig: {} }
      const connect = async () => (await plane.control.transport.connect(hello, null)).close()
      const listed = async () => (await plane.call('platform', 'GET', '/v1/gateways?q=edge-9')).body.items
      await connect()
      const [gateway] = await listed()
      const remove = () => plane.call('platform', 'DELETE', `/v1/gateways/${gateway.id}`)
      expect((await remove()).status).toBe(409)
      plane.clock.nowMs += 16_000
      expect((await remove()).status).toBe(204)
      expect(await listed()).toEqual([])
      expect(
        (await plane.call('platform', 'GET', `/v1/deployments?gateway_id=${gateway.id}`)).body.total,
      ).toBe(0)
      await connect()
      expect(await listed()).toHaveLength(1)
    })

    it.each(['2026-02-31', '2026-04-31', '2025-02-29', '1999-12-31', '2026-2-1'])(
      'a report with usage of the day %s gets 400 that names the field',
      async day => {
        const row = { subscription_id: world.subscription, day, requests: 1, errors: 0 }
        const usage = [{ ...row, last_request_at: new Date(plane.clock.nowMs).toISOString() }]
        const { status, body } = await plane.call('gateway', 'POST', '/v1/gateways/gw_any/reports', {
          sequence: 1,
          usage,
        })
        expect([status, body.error?.details]).toEqual([
          400,
          [
            {
              field: 'usage[0].day',
              message: 'must be a date from 2000 to 2099 in the form YYYY-MM-DD.',
            },
          ],
        ])
      },
    )

    it('a report that a gateway repeats after it was removed and connected again is counted once', async () => {
      const hello = { name: 'edge-10', url: '', version: '0.1.0', workers: 1, authConfig: {} }
      const connect = async () => {
        ;(await plane.control.transport.connect(hello, null)).close()
        return (await plane.call('platform', 'GET', '/v1/gateways?q=edge-10')).body.items[0].id as string
      }
      const usage = {
        subscription_id: world.subscription,
        day: '2026-03-01',
        requests: 5,
        errors: 1,
        last_request_at: new Date(plane.clock.nowMs).toISOString(),
      }
      const report = (id: string, sequence: number) =>
        plane.call('gateway', 'POST', `/v1/gateways/${id}/reports`, {
          snapshot_version: null,
          error: null,
          status: 'online',
          workers: 1,
          sequence,
          usage: [usage],
          keys_used: [],
          consumers_seen: [],
        })
      const counted = async () =>
        (
          await plane.call(
            'admin',
            'GET',
            `/v1/tenants/${world.acme}/subscriptions/${world.subscription}/usage`,
          )
        ).body.requests
      const before = await counted()
      let id = await connect()
      expect((await report(id, 7)).status).toBe(204)
      expect(await counted()).toBe(before + 5)
      for (const round of [1, 2]) {
        plane.clock.nowMs += 16_000
        expect((await plane.call('platform', 'DELETE', `/v1/gateways/${id}`)).status).toBe(204)
        id = await connect()
        expect((await report(id, 7)).status).toBe(204)
        expect([round, await counted()]).toEqual([round, before + 5])
      }
      expect((await report(id, 8)).status).toBe(204)
      expect(await counted()).toBe(before + 10)
    })
  })
})
