/** The share as days pass: what is left out of it without any event, on every instance of the control plane at the same time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Publisher } from '../../../src/control-plane/publisher/publisher.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const DAY_MS = 86_400_000

describe.each(DATABASES)('the share on $name', database => {
  describe.skipIf(database.skip)('as days pass', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    it('is the same on an instance that runs for weeks and on one that has just started', async () => {
      const expires_at = new Date(plane.clock.nowMs + 60_000).toISOString()
      const changed = await plane.call(
        'admin',
        'PATCH',
        `/v1/tenants/${world.acme}/subscriptions/${world.subscription}`,
        { expires_at },
      )
      expect(changed.status).toBe(200)
      plane.clock.nowMs += 120_000
      await plane.control.settle()
      const { publisher } = plane.control
      const inactive = () => publisher.share.tenants.get(world.acme)!.inactive?.map(({ id }) => id)
      expect(inactive()).toEqual([world.subscription])
      for (const days of [1, 28, 1, 1]) {
        plane.clock.nowMs += days * DAY_MS
        const options = { store: plane.store, now: () => plane.clock.nowMs, onFault: () => {} }
        const other = new Publisher(options)
        await Promise.all([other.refresh(), publisher.refresh()])
        expect(publisher.share.version).toBe(other.share.version)
        other.close()
      }
      expect(inactive()).toBeUndefined()
    })
  })
})
