/** What every store must do, run on the embedded database and on a real PostgreSQL server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MIGRATIONS } from '../../../src/control-plane/store/migrations/index.ts'
import { openStore } from '../../../src/control-plane/store/open-store.ts'
import type { OpenedStore } from '../../../src/control-plane/store/opened-store.ts'
import {
  EVERY_TENANT,
  type Signal,
  type Store,
  StoreConflict,
} from '../../../src/control-plane/store/store.ts'
import { keyStatus } from '../../../src/model/api-key.ts'
import { newId } from '../../../src/model/id.ts'
import { copyEmptyTemplate } from './pglite-template.ts'
import { type Cluster, POSTGRES_HINT, startCluster, WITHOUT_POSTGRES } from './postgres-cluster.ts'
import { aKey, anApi, aPlan, aSubscription, aTenant } from './rows.ts'

const clock = { nowMs: Date.parse('2026-03-01T00:00:00Z') }

interface Adapter {
  readonly name: string
  readonly skip: boolean
  open(): Promise<{ opened: OpenedStore; stop(): Promise<void> }>
}

const options = (url: string, dataDir: string) => ({
  url,
  dataDir,
  now: () => clock.nowMs,
  onFault: () => {},
})

const postgres = (name: string, owner?: string): Adapter => ({
  name,
  skip: WITHOUT_POSTGRES,
  async open() {
    const cluster: Cluster = await startCluster()
    const url = await cluster.database('toolgate', owner)
    const opened = await openStore(options(url, tmpdir()))
    return { opened, stop: () => cluster.stop() }
  },
})

const ADAPTERS: readonly Adapter[] = [
  {
    name: 'PGlite in a directory',
    skip: false,
    async open() {
      const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-pglite-'))
      await copyEmptyTemplate(join(dataDir, 'postgres'))
      const opened = await openStore(options('pglite:', dataDir))
      return { opened, stop: async () => rmSync(dataDir, { recursive: true, force: true }) }
    },
  },
  postgres(`PostgreSQL as its superuser${POSTGRES_HINT}`),
  postgres(`PostgreSQL as a plain owner${POSTGRES_HINT}`, 'plain_owner'),
]

describe.each(ADAPTERS)('store on $name', adapter => {
  describe.skipIf(adapter.skip)('with its schema', () => {
    let opened: OpenedStore
    let store: Store
    let stop: () => Promise<void>

    beforeAll(async () => {
      ;({ opened, stop } = await adapter.open())
      store = opened.store
    })
    afterAll(async () => {
      await store?.close()
      await stop?.()
    })

    it('migrates once, also when two start together, and lists the applied migrations', async () => {
      expect((await opened.migrator.status()).every(each => each.appliedAt === undefined)).toBe(true)
      const runs = await Promise.all([opened.migrator.migrate(), opened.migrator.migrate()])
      expect(runs.map(run => run.length).sort()).toEqual([0, MIGRATIONS.length])
      expect((await opened.migrator.status()).every(each => each.appliedAt !== undefined)).toBe(true)
    })

    it('begins with the four global plans', async () => {
      const plans = await store.read(EVERY_TENANT, tx => tx.plans.list({}, { page: 1, limit: 10 }))
      expect(plans.items.map(plan => plan.slug)).toEqual(['community', 'silver', 'gold', 'enterprise'])
      expect(plans.items[1]).toMatchObject({
        perSecond: 20,
        perMinute: 300,
        perDay: 50_000,
        perMonth: 1_000_000,
      })
    })

    /** A tenant with one API, written in one transaction. */
    async function seed(name: string) {
      const tenant = aTenant(name, clock.nowMs)
      const api = anApi(tenant.id, clock.nowMs)
      await store.write(EVERY_TENANT, async tx => {
        await tx.tenants.insert(tenant)
        await tx.apis.insert(api)
        tx.events.append({
          kind: 'tenant.created',
          tenantId: tenant.id,
          resourceId: tenant.id,
          data: { name },
        })
      })
      return { tenant, api }
    }

    it('gives back what was written, field by field', async () => {
      const { tenant, api } = await seed('field-by-field')
      const subscription = aSubscription(api, clock.nowMs, { quota: 5, expiresAt: new Date(clock.nowMs + 1) })
      const key = aKey(subscription, clock.nowMs)
      const plan = aPlan('own', tenant.id, clock.nowMs)
      await store.write(tenant.id, async tx => {
        await tx.subscriptions.insert(subscription)
        await tx.keys.insert(key)
        await tx.plans.insert(plan)
      })
      await store.read(tenant.id, async tx => {
        expect(await tx.tenants.find(tenant.id)).toEqual(tenant)
        expect(await tx.tenants.resolve('field-by-field')).toEqual(tenant)
        expect(await tx.apis.find(api.id)).toEqual(api)
        expect(await tx.subscriptions.find(subscription.id)).toEqual(subscription)
        expect(await tx.keys.find(key.id)).toEqual(key)
        expect(await tx.plans.bySlug('own')).toEqual(plan)
      })
    })

    it('reports an error of the database without the values of the statement', async () => {
      const row = {
        ...aTenant('no-name', clock.nowMs),
        name: null as never,
        adminEmail: 'canary@example.com',
      }
      const error = await store
        .write(EVERY_TENANT, tx => tx.tenants.insert(row))
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: '23502', message: expect.stringContaining('null value') })
      expect(inspect(error, { depth: 8 })).not.toContain('canary')
    })

    it('counts the revision up and stamps the moment on every update', async () => {
      const { tenant, api } = await seed('revisions')
      clock.nowMs += 1000
      const updated = await store.write(tenant.id, tx => tx.apis.update({ ...api, description: 'new' }))
      expect(updated).toEqual({ ...api, description: 'new', revision: 2, updatedAt: new Date(clock.nowMs) })
    })

    it('shows a tenant nothing of another, neither through a repository nor through the database itself', async () => {
      const a = await seed('wall-a')
      const b = await seed('wall-b')
      await store.read(a.tenant.id, async tx => {
        expect(await tx.apis.find(b.api.id)).toBeUndefined()
        expect(await tx.tenants.find(b.tenant.id)).toBeUndefined()
        expect((await tx.apis.list({}, { page: 1, limit: 100 })).items.map(api => api.id)).toEqual([a.api.id])
        expect((await tx.events.after(0, 1000)).every(event => event.tenantId === a.tenant.id)).toBe(true)
      })
      await expect(
        store.write(a.tenant.id, tx => tx.apis.insert(anApi(b.tenant.id, clock.nowMs, { path: '/stolen' }))),
      ).rejects.toThrow(/row-level security/)
      await expect(
        store.write(a.tenant.id, tx => tx.plans.insert(aPlan('for-all', null, clock.nowMs))),
      ).rejects.toThrow(/row-level security/)
      await expect(
        store.write(a.tenant.id, tx => tx.tenants.insert(aTenant('smuggled', clock.nowMs))),
      ).rejects.toThrow(/row-level security/)
    })

    it('keeps a tenant from deleting a global plan', async () => {
      const { tenant } = await seed('plan-thief')
      const gold = (await store.read(tenant.id, tx => tx.plans.bySlug('gold')))!
      await store.write(tenant.id, tx => tx.plans.remove(gold.id))
      expect(await store.read(tenant.id, tx => tx.plans.bySlug('gold'))).toEqual(gold)
    })

    it('leaves nothing of a transaction that failed, its events included', async () => {
      const tenant = aTenant('half-done', clock.nowMs)
      const before = await store.read(EVERY_TENANT, tx => tx.events.lastSeq())
      const failing = store.write(EVERY_TENANT, async tx => {
        await tx.tenants.insert(tenant)
        tx.events.append({ kind: 'tenant.created', tenantId: tenant.id, resourceId: tenant.id, data: {} })
        throw new Error('stop here')
      })
      await expect(failing).rejects.toThrow('stop here')
      await store.read(EVERY_TENANT, async tx => {
        expect(await tx.tenants.find(tenant.id)).toBeUndefined()
        expect(await tx.events.lastSeq()).toBe(before)
      })
    })

    it('refuses to write in a reading transaction', async () => {
      await expect(
        store.read(EVERY_TENANT, tx => tx.tenants.insert(aTenant('read-only', clock.nowMs))),
      ).rejects.toThrow(/read-only/)
    })

    it('writes as many events as a transaction makes, and lists APIs without their documents', async () => {
      const { tenant, api } = await seed('many-events')
      const before = await store.read(EVERY_TENANT, tx => tx.events.lastSeq())
      await store.write(tenant.id, async tx => {
        await tx.apis.update({ ...api, spec: '{"openapi":"3.1.0"}' })
        for (let made = 0; made < 10_000; made++)
          tx.events.append({ kind: 'api.updated', tenantId: tenant.id, resourceId: api.id, data: {} })
      })
      await store.read(tenant.id, async tx => {
        expect(await tx.events.lastSeq()).toBe(before + 10_000)
        const { items } = await tx.apis.list({}, { page: 1, limit: 10 })
        expect(items).toMatchObject([{ id: api.id, spec: null }])
        expect((await tx.apis.find(api.id))?.spec).toBe('{"openapi":"3.1.0"}')
      })
    })

    it('numbers events in the order of commits, without gaps, under concurrent writers', async () => {
      const before = await store.read(EVERY_TENANT, tx => tx.events.lastSeq())
      await Promise.all(Array.from({ length: 20 }, (_, index) => seed(`parallel-${index}`)))
      const events = await store.read(EVERY_TENANT, tx => tx.events.after(before, 1000))
      expect(events.map(event => event.seq)).toEqual(
        Array.from({ length: 20 }, (_, index) => before + index + 1),
      )
      expect(new Set(events.map(event => event.id)).size).toBe(20)
      expect(events[0]).toMatchObject({
        kind: 'tenant.created',
        data: { name: expect.stringMatching(/^parallel-/) },
      })
    })

    it('notifies listeners of a committed change, and of none that was rolled back', async () => {
      const heard: Signal[] = []
      const unsubscribe = store.onSignal(signal => heard.push(signal))
      const placeOf = (text: string) =>
        heard.findIndex(signal => signal.kind === 'message' && signal.text === text)
      /** @returns the signals between the two marks; those of earlier transactions come before the second */
      async function readUntil(mark: string, from: string): Promise<readonly Signal[]> {
        await store.notify([mark])
        await expect.poll(() => placeOf(mark)).toBeGreaterThan(-1)
        return heard.slice(placeOf(from) + 1, placeOf(mark))
      }
      // listening begins in the background
      const listens = async () => {
        await store.notify(['listening'])
        return heard.length
      }
      await expect.poll(listens).toBeGreaterThan(0)
      await readUntil('begun', 'listening')
      const rolledBack = store.write(EVERY_TENANT, async tx => {
        tx.events.append({ kind: 'plan.updated', tenantId: null, resourceId: 'x', data: {} })
        throw new Error('rolled back')
      })
      await expect(rolledBack).rejects.toThrow('rolled back')
      expect(await readUntil('rolled back', 'begun')).toEqual([])
      await seed('committed')
      expect(await readUntil('committed', 'rolled back')).toEqual([{ kind: 'changed' }])
      unsubscribe()
    })

    it('names the taken name, path, slug and application', async () => {
      const { tenant, api } = await seed('taken')
      const cases: [string, (s: Store) => Promise<unknown>][] = [
        [
          'tenants_name_key',
          s => s.write(EVERY_TENANT, tx => tx.tenants.insert(aTenant('taken', clock.nowMs))),
        ],
        ['apis_path_key', s => s.write(tenant.id, tx => tx.apis.insert(anApi(tenant.id, clock.nowMs)))],
        [
          'plans_slug_key',
          s => s.write(EVERY_TENANT, tx => tx.plans.insert(aPlan('gold', null, clock.nowMs))),
        ],
      ]
      for (const [constraint, attempt] of cases) {
        await expect(attempt(store)).rejects.toEqual(new StoreConflict(constraint as never))
      }
      const first = aSubscription(api, clock.nowMs)
      await store.write(tenant.id, tx => tx.subscriptions.insert(first))
      await expect(
        store.write(tenant.id, tx => tx.subscriptions.insert(aSubscription(api, clock.nowMs))),
      ).rejects.toEqual(new StoreConflict('subscriptions_application_key'))
      await store.write(tenant.id, tx => tx.subscriptions.update({ ...first, status: 'revoked' }))
      await store.write(tenant.id, tx => tx.subscriptions.insert(aSubscription(api, clock.nowMs)))
    })

    it('frees the path of a removed API and finds the API no more', async () => {
      const { tenant, api } = await seed('removal')
      await store.write(tenant.id, tx => tx.apis.remove(api.id))
      await store.write(tenant.id, tx => tx.apis.insert(anApi(tenant.id, clock.nowMs)))
      expect(await store.read(tenant.id, tx => tx.apis.find(api.id))).toBeUndefined()
    })

    it('takes wildcards of a search literally and ignores case', async () => {
      const { tenant } = await seed('search')
      const names = ['100% Orders', '100 orders', 'a_b', 'axb', 'back\\slash']
      await store.write(tenant.id, async tx => {
        for (const [index, name] of names.entries()) {
          await tx.apis.insert(anApi(tenant.id, clock.nowMs, { name, path: `/s${index}`, description: '' }))
        }
      })
      const find = async (q: string) =>
        (await store.read(tenant.id, tx => tx.apis.list({ q }, { page: 1, limit: 50 }))).items.map(
          api => api.name,
        )
      expect(await find('%')).toEqual(['100% Orders'])
      expect(await find('_')).toEqual(['a_b'])
      expect(await find('\\')).toEqual(['back\\slash'])
      expect(await find('ORDERS')).toEqual(['Orders', '100% Orders', '100 orders'])
      expect(await find("'; drop table apis; --")).toEqual([])
    })

    it('pages without losing or repeating a row and returns the total', async () => {
      const { tenant } = await seed('pages')
      await store.write(tenant.id, async tx => {
        for (let index = 0; index < 24; index++) {
          await tx.apis.insert(anApi(tenant.id, clock.nowMs, { path: `/p${index}` }))
        }
      })
      const seen: string[] = []
      for (let page = 1; page <= 4; page++) {
        const { items, total } = await store.read(tenant.id, tx => tx.apis.list({}, { page, limit: 7 }))
        expect(total).toBe(25)
        seen.push(...items.map(api => api.id))
      }
      expect(new Set(seen).size).toBe(25)
      expect([...seen].sort()).toEqual(seen)
    })

    it('filters keys by the same status as the model', async () => {
      const { tenant, api } = await seed('key-states')
      const subscription = aSubscription(api, clock.nowMs)
      const at = (ms: number) => new Date(clock.nowMs + ms)
      const keys = [
        aKey(subscription, clock.nowMs),
        aKey(subscription, clock.nowMs, { previousExpiresAt: at(1) }),
        aKey(subscription, clock.nowMs, { previousExpiresAt: at(0) }),
        aKey(subscription, clock.nowMs, { expiresAt: at(0), previousExpiresAt: at(9) }),
        aKey(subscription, clock.nowMs, { expiresAt: at(1) }),
        aKey(subscription, clock.nowMs, { revokedAt: at(-1), expiresAt: at(-1) }),
      ]
      await store.write(tenant.id, async tx => {
        await tx.subscriptions.insert(subscription)
        for (const key of keys) await tx.keys.insert(key)
      })
      for (const status of ['active', 'rotating', 'expired', 'revoked'] as const) {
        const found = await store.read(tenant.id, tx => tx.keys.list({ status }, { page: 1, limit: 50 }))
        const expected = keys.filter(key => keyStatus(key, new Date(clock.nowMs)) === status)
        expect(found.items.map(key => key.id)).toEqual(expected.map(key => key.id))
        expect(expected.length).toBeGreaterThan(0)
      }
    })

    it('finds the subscriptions whose time has come, and only those', async () => {
      const { tenant, api } = await seed('due')
      const at = (ms: number) => new Date(clock.nowMs + ms)
      const due = aSubscription(api, clock.nowMs, { status: 'approved', application: 'a', expiresAt: at(0) })
      const others = [
        aSubscription(api, clock.nowMs, { status: 'approved', application: 'b', expiresAt: at(1) }),
        aSubscription(api, clock.nowMs, { status: 'approved', application: 'c' }),
        aSubscription(api, clock.nowMs, { status: 'revoked', application: 'd', expiresAt: at(-1) }),
        aSubscription(api, clock.nowMs, { application: 'e', expiresAt: at(-1) }),
      ]
      await store.write(tenant.id, async tx => {
        for (const each of [due, ...others]) await tx.subscriptions.insert(each)
      })
      const found = await store.write(EVERY_TENANT, tx => tx.subscriptions.due(100))
      expect(found.map(each => each.id)).toEqual([due.id])
      await store.write(tenant.id, tx => tx.subscriptions.update({ ...due, status: 'expired' }))
    })

    it('adds usage up by day and keeps the latest moment', async () => {
      const { tenant, api } = await seed('usage')
      const subscription = aSubscription(api, clock.nowMs)
      await store.write(tenant.id, tx => tx.subscriptions.insert(subscription))
      const count = (day: string, requests: number, lastMs: number) => ({
        subscriptionId: subscription.id,
        day,
        requests,
        errors: 1,
        lastRequestAt: new Date(lastMs),
      })
      await store.write(EVERY_TENANT, tx =>
        tx.usage.add([count('2026-03-01', 5, 200), count('2026-03-02', 7, 300)]),
      )
      await store.write(EVERY_TENANT, tx =>
        tx.usage.add([
          count('2026-03-01', 3, 100),
          { ...count('2026-03-01', 9, 1), subscriptionId: 'sub_gone' },
        ]),
      )
      const sum = (from: string, to: string) =>
        store.read(tenant.id, tx => tx.usage.sum(subscription.id, from, to))
      expect(await sum('2026-03-01', '2026-03-01')).toEqual({
        requests: 8,
        errors: 2,
        lastRequestAt: new Date(200),
      })
      expect(await sum('2026-03-01', '2026-03-31')).toEqual({
        requests: 15,
        errors: 3,
        lastRequestAt: new Date(300),
      })
      expect(await sum('2027-01-01', '2027-01-01')).toEqual({ requests: 0, errors: 0, lastRequestAt: null })
    })

    it('never grants more requests of an hour than its limit, however many ask at once', async () => {
      const { tenant } = await seed('hourly')
      const hour = new Date('2026-03-01T00:00:00Z')
      const grants = await Promise.all(
        Array.from({ length: 30 }, () =>
          store.write(EVERY_TENANT, tx => tx.tierUsage.take(tenant.id, hour, 7, 100)),
        ),
      )
      expect(grants.reduce((sum, grant) => sum + grant.granted, 0)).toBe(100)
      await store.write(EVERY_TENANT, tx => tx.tierUsage.giveBack(tenant.id, hour, 4))
      expect(await store.write(EVERY_TENANT, tx => tx.tierUsage.take(tenant.id, hour, 7, 100))).toEqual({
        granted: 4,
        taken: 100,
      })
    })

    it('stores a response for 24 hours, and one of two concurrent claims waits for the other', async () => {
      const work = (key: string) =>
        store.write(EVERY_TENANT, async tx => {
          const cached = await tx.idempotency.claim(key, 'hash')
          if (cached !== undefined) return `again ${cached.body}`
          await tx.idempotency.settle({ key, requestHash: 'hash', status: 201, body: 'first' })
          return 'first'
        })
      expect((await Promise.all([work('k'), work('k')])).sort()).toEqual(['again first', 'first'])
      clock.nowMs += 24 * 3_600_000 - 1
      expect(await work('k')).toBe('again first')
      clock.nowMs += 1
      expect(await work('k')).toBe('first')
    })

    it('makes a deployment for every API on every gateway, once', async () => {
      const { tenant, api } = await seed('deployments')
      const gateway = await store.write(EVERY_TENANT, async tx => {
        const registered = await tx.gateways.register(newId('gateway', clock.nowMs), {
          name: 'edge',
          reportedStatus: 'online',
          version: '0.1.0',
          url: 'http://127.0.0.1:1',
          workers: 2,
          authConfig: { issuer: 'http://issuer' },
        })
        await tx.deployments.complete({ gatewayId: registered.id })
        await tx.deployments.complete({ apiId: api.id })
        return registered
      })
      const mine = await store.read(tenant.id, tx => tx.deployments.list({}, { page: 1, limit: 10 }))
      expect(mine).toMatchObject({
        total: 1,
        items: [{ apiId: api.id, gatewayId: gateway.id, tenantId: tenant.id }],
      })
      expect(await store.read(EVERY_TENANT, tx => tx.gateways.find(gateway.id))).toEqual(gateway)
    })

    it('removes a tenant with everything it owns', async () => {
      const { tenant, api } = await seed('removed')
      const subscription = aSubscription(api, clock.nowMs)
      await store.write(tenant.id, async tx => {
        await tx.subscriptions.insert(subscription)
        await tx.keys.insert(aKey(subscription, clock.nowMs))
      })
      await store.write(EVERY_TENANT, tx => tx.tenants.remove(tenant.id))
      await store.read(EVERY_TENANT, async tx => {
        expect(await tx.tenants.find(tenant.id)).toBeUndefined()
        expect(await tx.subscriptions.find(subscription.id)).toBeUndefined()
        expect(await tx.apis.find(api.id)).toBeUndefined()
      })
    })
  })
})
