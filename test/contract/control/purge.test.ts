/** Deleted tenants and what they leave: many rows of metering, and a purge that fails for one of them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Fleet } from '../../../src/control-plane/publisher/fleet.ts'
import { EVERY_TENANT, type Store } from '../../../src/control-plane/store/store.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const HOUR_MS = 3_600_000

describe.each(DATABASES)('deleted tenants on $name', { timeout: 120_000 }, database => {
  describe.skipIf(database.skip)('are purged', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
    }, 120_000)
    afterAll(async () => {
      await plane?.close()
      await cluster?.stop()
    })

    async function create(name: string): Promise<string> {
      const { status, body } = await plane.call('platform', 'POST', '/v1/tenants', { name })
      expect(status).toBe(201)
      return body.id
    }

    /** Hours with calls of a tenant, and one bucket of latencies in each. */
    const addHours = (tenantId: string, count: number) =>
      plane.store.write(EVERY_TENANT, tx => {
        const hours = Array.from({ length: count }, (_, i) => ({
          ...{ tenantId, apiId: '', requests: 1, errors: 0 },
          hour: new Date(plane.clock.nowMs - i * HOUR_MS),
        }))
        return tx.metering.add(
          hours,
          hours.map(({ requests, ...row }) => ({ ...row, requests, bucket: 3 })),
        )
      })

    it('with their metering and usage in parts of a bounded size', async () => {
      await addHours(world.acme, 600)
      const count = { subscriptionId: world.subscription, day: '2026-03-01', requests: 1, errors: 0 }
      await plane.store.write(EVERY_TENANT, tx =>
        tx.usage.add([{ ...count, lastRequestAt: new Date(plane.clock.nowMs) }]),
      )
      const parts: number[] = []
      for (let i = 0; i < 4; i++)
        parts.push(await plane.store.write(EVERY_TENANT, tx => tx.tenants.removeHistory(world.acme, 500)))
      expect(parts).toEqual([500, 500, 201, 0])
      expect((await plane.call('platform', 'GET', `/v1/tenants/${world.acme}`)).status).toBe(200)
    })

    it('each by itself: a failure of one does not keep the others', async () => {
      const ids = [await create('first-purged'), await create('second-purged'), await create('third-purged')]
      for (const id of ids) await addHours(id, 3_000)
      for (const id of ids) await plane.call('platform', 'DELETE', `/v1/tenants/${id}`)
      await plane.control.refresh()
      let left = 1
      const failing: Store = Object.create(plane.store, {
        write: {
          value: (...args: Parameters<Store['write']>) =>
            left-- > 0
              ? Promise.reject(new Error('canceling statement due to statement timeout'))
              : plane.store.write(...args),
        },
      })
      const { publisher } = plane.control
      const fleet = new Fleet({ store: failing, requestStore: failing, publisher, onAcknowledged() {} })
      await expect(fleet.settleTenants()).rejects.toThrow(
        'tenants that could not be activated or purged: 1; first error: Error: canceling',
      )
      const gone = async () => {
        const statuses = ids.map(id => plane.call('platform', 'GET', `/v1/tenants/${id}`))
        return (await Promise.all(statuses)).map(({ status }) => status)
      }
      expect((await gone()).sort()).toEqual([200, 404, 404])
      await fleet.settleTenants()
      expect(await gone()).toEqual([404, 404, 404])
    })
  })
})
