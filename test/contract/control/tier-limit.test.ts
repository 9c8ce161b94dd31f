/** The hourly limit of a tenant's tier in two instances: what is refused after the hour is exhausted makes no transactions, and a returned lease is found. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TierLimit } from '../../../src/control-plane/api/http/tier-limit.ts'
import { EVERY_TENANT, type Store } from '../../../src/control-plane/store/store.ts'
import type { Tenant } from '../../../src/model/tenant.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane } from './plane.ts'

const LIMIT = 100

describe.each(DATABASES)('the limit of a tier on $name', { timeout: 60_000 }, database => {
  describe.skipIf(database.skip)('that is used up', () => {
    let plane: Plane
    let cluster: Cluster | undefined
    let tenant: Tenant
    let writes = 0
    let here: TierLimit
    let other: TierLimit

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      const { store, clock } = plane
      const made = await plane.call('platform', 'POST', '/v1/tenants', { name: 'small', tier: 'free' })
      tenant = (await store.read(EVERY_TENANT, tx => tx.tenants.find(made.body.id)))!
      const counted: Store = {
        ...store,
        write: (scope, work) => {
          writes++
          return store.write(scope, work)
        },
      }
      here = new TierLimit(counted, () => clock.nowMs)
      other = new TierLimit(store, () => clock.nowMs)
    }, 120_000)
    afterAll(async () => {
      await plane?.close()
      await cluster?.stop()
    })

    /** How many of these are admitted, and with how many transactions. */
    async function take(requests: number) {
      const before = writes
      let admitted = 0
      for (let made = 0; made < requests; made++) if ((await here.take(tenant))!.allowed) admitted++
      return { admitted, transactions: writes - before }
    }

    it('is asked for once in five seconds, and gives what another instance has returned', async () => {
      expect((await other.take(tenant))!.allowed).toBe(true)
      // the other instance has leased two and used one of them
      expect((await take(LIMIT)).admitted).toBe(LIMIT - 2)
      expect(await take(50)).toEqual({ admitted: 0, transactions: 0 })
      plane.clock.nowMs += 4_999
      expect(await take(50)).toEqual({ admitted: 0, transactions: 0 })
      plane.clock.nowMs += 1
      expect(await take(50)).toEqual({ admitted: 0, transactions: 1 })
      await other.close()
      plane.clock.nowMs += 5_000
      expect((await take(50)).admitted).toBe(1)
    })

    it('counts as before in the next hour, and with another limit', async () => {
      expect((await take(1)).admitted).toBe(0)
      plane.clock.nowMs += 3_600_000
      expect((await take(LIMIT + 10)).admitted).toBe(LIMIT)
      tenant = { ...tenant, settings: { ...tenant.settings, rateLimitMultiplier: 1.02 } }
      expect((await take(10)).admitted).toBe(2)
    })
  })
})
