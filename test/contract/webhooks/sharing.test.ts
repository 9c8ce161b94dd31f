/** Instances that send webhooks together, three on PostgreSQL, one on PGlite: each delivery once, four of an endpoint at once, no tenant waits for another. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSealer } from '../../../src/base/secrets/sealer.ts'
import { openMigratedStore } from '../../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT, type Store } from '../../../src/control-plane/store/store.ts'
import { startWebhooks, type Webhooks } from '../../../src/control-plane/webhooks/webhook-sending.ts'
import { newId } from '../../../src/model/id.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { type Receiver, receiver } from '../../fixtures/webhook-receivers.ts'
import { DATABASES } from '../control/plane.ts'
import { copyTemplate } from '../store/pglite-template.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { aTenant } from '../store/rows.ts'
import { until } from './sending.ts'

const SECRET = 'a secret that is long enough to sign with'

describe.each(DATABASES)('instances on $name', database => {
  describe.skipIf(database.skip)('that send together', () => {
    let cluster: Cluster | undefined
    let dataDir: string
    let url: string
    const stores: Store[] = []
    const instances: Webhooks[] = []
    const receivers: Receiver[] = []
    const faults: unknown[] = []
    const egress = createEgress({ allow: [], allowLoopback: true })
    /** Three on PostgreSQL; PGlite has one process. */
    const count = database.name === 'PGlite' ? 1 : 3

    const open = (key = 'shared') =>
      openMigratedStore({ url, dataDir, now: Date.now, onFault: () => {}, sealer: createSealer(key) })
    const send = (store: Store, leaseMs = 15_000) =>
      startWebhooks({
        store,
        egress,
        leaseMs,
        now: Date.now,
        httpsOnly: false,
        userAgent: 'toolgate/test',
        pollMs: 50,
        onOutcome: () => {},
        onFault: (message, error) => faults.push([message, error]),
      })

    beforeAll(async () => {
      cluster = await database.start()
      dataDir = mkdtempSync(join(tmpdir(), 'toolgate-sharing-'))
      if (cluster === undefined) await copyTemplate(join(dataDir, 'postgres'))
      url = (await cluster?.database('sharing')) ?? 'pglite:'
      for (let n = 0; n < count; n++) stores.push(await open())
    })
    afterAll(async () => {
      for (const one of instances) await one.close()
      for (const one of receivers) await one.close()
      for (const store of stores) await store.close()
      await egress.close()
      await cluster?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    })

    /** A tenant with one webhook and `deliveries` waiting for it. */
    async function queue(name: string, behave: Parameters<typeof receiver>[0], deliveries: number) {
      const one = await receiver(behave)
      receivers.push(one)
      const store = stores[0]!
      const tenant = aTenant(name, Date.now())
      await store.write(EVERY_TENANT, tx => tx.tenants.insert(tenant))
      const id = newId('webhook', Date.now())
      await store.write(tenant.id, async tx => {
        const stamps = { revision: 1, createdAt: tx.now, updatedAt: tx.now }
        const fields = {
          url: one.url,
          events: ['*' as const],
          enabled: true,
          customHeaders: {},
          keysOf: null,
          secretNames: {},
          name: 'hook',
          hasSecret: true,
        }
        await tx.webhooks.insert({ id, tenantId: tenant.id, ...fields, ...stamps }, SECRET)
        for (let n = 0; n < deliveries; n++) {
          await tx.deliveries.insert({
            id: newId('delivery', Date.now()),
            tenantId: tenant.id,
            webhookId: id,
            event: 'subscription.created',
            test: false,
            body: `{"n":${n}}`,
          })
        }
      })
      const left = async () => {
        const page = await store.read(tenant.id, tx =>
          tx.deliveries.list(id, { status: 'pending' }, { page: 1, limit: 1 }),
        )
        return page.total
      }
      return { one, left, id, tenantId: tenant.id, tenant }
    }

    it('send each delivery once, and never more than four to one endpoint at once', async () => {
      const slow = await queue('slow', response => setTimeout(() => response.end(), 30), 60)
      for (const store of stores) instances.push(await send(store))
      await until('an empty queue', async () => (await slow.left()) === 0, 60_000)
      expect(slow.one.received).toHaveLength(60)
      expect(new Set(slow.one.received.map(each => each.headers['webhook-id'])).size).toBe(60)
      expect(slow.one.maxAtOnce()).toBeLessThanOrEqual(4)
      expect(slow.one.maxAtOnce()).toBeGreaterThan(1)
    }, 90_000)

    it('let no tenant wait behind the dead endpoints of another', async () => {
      const dead = await queue('dead', () => {}, 200)
      await until('the dead one to be called', () => dead.one.received.length > 0)
      const startMs = performance.now()
      const healthy = await queue('healthy', undefined, 40)
      await until('an empty queue', async () => (await healthy.left()) === 0)
      const tookMs = performance.now() - startMs
      expect(healthy.one.received).toHaveLength(40)
      expect(dead.one.maxAtOnce()).toBeLessThanOrEqual(4)
      expect(await dead.left()).toBe(200)
      // Every attempt at the dead one takes five seconds; its queue would take minutes.
      expect(tookMs).toBeLessThan(20_000)
      await stores[0]!.write(dead.tenantId, tx => tx.webhooks.remove(dead.id))
    }, 60_000)

    it('send nothing of a suspended tenant, and everything when it is active again', async () => {
      const store = stores[0]!
      let release = (): void => {}
      const released = new Promise<void>(resolve => {
        release = resolve
      })
      const held = await queue('held', response => void released.then(() => response.end()), 24)
      await until('the first deliveries', () => held.one.received.length > 0)
      await store.write(EVERY_TENANT, tx => tx.tenants.update({ ...held.tenant, status: 'suspended' }))
      release()
      await until('those that were claimed before', () => instances.every(({ inFlight }) => inFlight === 0))
      const sent = held.one.received.length
      expect(sent).toBeLessThan(24)
      await sleep(600)
      expect(held.one.received).toHaveLength(sent)
      expect(await store.read(EVERY_TENANT, tx => tx.deliveries.depth())).toMatchObject({ waiting: 0 })
      await store.write(EVERY_TENANT, tx => tx.tenants.update({ ...held.tenant, status: 'active' }))
      await until('an empty queue', async () => (await held.left()) === 0)
      expect(held.one.received).toHaveLength(24)
    })

    it('take over what an instance leaves when it dies, once its lease has ended', async () => {
      await Promise.all(instances.splice(0).map(one => one.close()))
      const left = await queue('left', undefined, 3)
      const bounds = {
        slots: 9,
        perWebhook: 4,
        perTenant: 9,
        quickPerTenant: 9,
        slowPerTenant: 9,
        slowAfterMs: 1_000,
        leaseMs: 8_000,
        lease: 'of a dead one',
      }
      const claimed = await stores[0]!.write(EVERY_TENANT, tx => tx.deliveries.claim(bounds))
      expect(claimed).toHaveLength(3)
      expect(claimed.every(each => each.secrets[0] === SECRET && each.unreadable === undefined)).toBe(true)
      instances.push(await send(stores.at(-1)!))
      await sleep(500)
      expect(left.one.received).toHaveLength(0)
      await until('the takeover', async () => (await left.left()) === 0)
      expect(left.one.received).toHaveLength(3)
      // The dead one was only slow: what it has to say counts no more.
      const state = {
        status: 'failed',
        attempt: 1,
        statusCode: 500,
        responseBody: null,
        error: 'late',
      } as const
      const none = { durationMs: 1, nextAttemptAt: null, deliveredAt: null }
      const late = await stores[0]!.write(EVERY_TENANT, tx =>
        tx.deliveries.settle(claimed[0]!.id, 'of a dead one', { ...state, ...none }),
      )
      expect(late).toBe(false)
      expect(faults).toEqual([])
    })

    it('leave alone what was sealed under another key, and say so', async () => {
      await Promise.all(instances.splice(0).map(one => one.close()))
      const foreign = await queue('foreign', undefined, 1)
      if (cluster === undefined) await stores.pop()!.close()
      const other = await open('another key')
      const webhooks = await send(other)
      const message = /encrypted with another key.*SECRETS_KEY/
      await until('the fault', () => message.test(String(faults.flat())))
      await webhooks.close()
      expect(foreign.one.received).toHaveLength(0)
      await other.close()
      if (cluster === undefined) stores.push(await open())
      instances.push(await send(stores[0]!))
      await until('the one with the right key', () => foreign.one.received.length === 1)
    })
  })
})
