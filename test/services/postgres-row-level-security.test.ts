/** Row-level security by itself: what queries without a filter see, past the repositories; and `db migrate`, which switches it on for privileged users. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMigratedStore, openStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT } from '../../src/control-plane/store/store.ts'
import { newId } from '../../src/model/id.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  run,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { anApi, aTenant } from '../contract/store/rows.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')

describe.skipIf(WITHOUT_POSTGRES)(`row-level security on PostgreSQL${POSTGRES_HINT}`, () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(() => cluster?.stop())

  it.each([
    ['superuser', undefined],
    ['plain owner', 'tables_owner'],
  ])('hides other tenants from the %s', async (_name, owner) => {
    const url = await cluster.database(owner === undefined ? 'by_superuser' : 'by_owner', owner)
    const store = await openMigratedStore({ url, dataDir: '.', now: () => NOW, onFault: () => {} })
    const [a, b] = [aTenant('a', NOW), aTenant('b', NOW)]
    await store.write(EVERY_TENANT, async tx => {
      for (const tenant of [a, b]) {
        await tx.tenants.insert(tenant)
        await tx.apis.insert(anApi(tenant.id, NOW))
        // of both, only one is shared with the other
        const sharing = tenant === b ? { by: 'b', with: [a.id] } : null
        await tx.apis.insert(anApi(tenant.id, NOW, { path: '/shared', sharing }))
        const fields = {
          url: 'https://x.example',
          events: ['*' as const],
          enabled: true,
          customHeaders: {},
          keysOf: null,
          secretNames: {},
          name: 'hook',
        }
        const stamps = { revision: 1, createdAt: tx.now, updatedAt: tx.now }
        const id = newId('webhook', NOW)
        await tx.webhooks.insert(
          { id, tenantId: tenant.id, ...fields, hasSecret: false, ...stamps },
          undefined,
        )
        // Becomes an event and a delivery.
        const event = {
          kind: 'subscription.created',
          tenantId: tenant.id,
          resourceId: 'x',
          data: {},
        } as const
        tx.events.append(event)
      }
    })
    await store.close()

    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const seen = async (tenant: string | undefined, statement: string) => {
      await client.query('begin')
      if (owner === undefined) await client.query('set local role toolgate_app')
      if (tenant !== undefined) await client.query(`select set_config('toolgate.tenant', $1, true)`, [tenant])
      const result = await client.query(statement).finally(() => client.query('rollback'))
      return result.command === 'SELECT' ? result.rows.map(row => Object.values(row)[0]) : result.rowCount
    }
    try {
      expect(await seen(undefined, 'select id from tenants')).toEqual([])
      expect(await seen(undefined, 'select tenant_id from apis')).toEqual([])
      expect(await seen(a.id, 'select tenant_id from apis order by id')).toEqual([a.id, a.id, b.id])
      expect(await seen(b.id, 'select tenant_id from apis order by id')).toEqual([b.id, b.id])
      for (const table of ['events', 'webhooks', 'deliveries']) {
        expect(await seen(undefined, `select tenant_id from ${table}`)).toEqual([])
        expect(await seen(a.id, `select tenant_id from ${table}`)).toEqual([a.id])
        expect(await seen(a.id, `delete from ${table}`)).toBe(1)
      }
      // a shared one can be read, not changed
      expect(await seen(a.id, 'update apis set name = name')).toBe(2)
      expect(await seen(a.id, 'delete from tenants')).toBe(1)
      expect(await seen(a.id, 'delete from plans')).toBe(0)
      expect(await seen(a.id, 'select count(*)::int from plans')).toEqual([4])
      expect(await seen(EVERY_TENANT, 'select count(*)::int from apis')).toEqual([4])
    } finally {
      await client.end()
    }
  })
  it.each([
    ['superuser', 'superuser', 'first_owner'],
    ['user with BYPASSRLS that may create roles', 'bypassrls createrole', 'second_owner'],
  ])('is switched on by `db migrate` for a %s where a plain user has migrated', async (_, rights, owner) => {
    const options = { dataDir: '.', now: () => NOW, onFault: () => {} }
    const [name, user] = [`by_${owner}`, `user_of_${owner}`]
    const url = await cluster.database(name, owner)
    const admin = cluster.address('postgres')
    // as in a cluster in which no such user has migrated yet
    for (const { datname } of await run(admin, `select datname from pg_database where datname like 'by_%'`))
      await run(cluster.address(String(datname)), DROP_GRANTS)
    await run(admin, 'drop role if exists toolgate_app')
    const plain = await openMigratedStore({ url, ...options })
    const tenant = aTenant('a', NOW)
    await plain.write(EVERY_TENANT, tx => tx.tenants.insert(tenant))
    await plain.close()
    await run(admin, `create role ${user} login ${rights} in role ${owner}`)

    const opened = await openStore({ url: cluster.address(name, user), ...options })
    try {
      const names = (scope: string) =>
        opened.store.read(scope, async tx =>
          (await tx.tenants.list({}, { page: 1, limit: 9 })).items.map(each => each.name),
        )
      await expect(names(EVERY_TENANT)).rejects.toThrow('Run `toolgate db migrate`')
      expect(await opened.migrator.migrate()).toEqual([])
      expect(await names(EVERY_TENANT)).toEqual(['a'])
      expect(await names('ten_other')).toEqual([])
      expect(await opened.migrator.migrate()).toEqual([])
    } finally {
      await opened.store.close()
    }
  })
})

const DROP_GRANTS = `do $$ begin
  if exists (select from pg_roles where rolname = 'toolgate_app') then drop owned by toolgate_app; end if;
end $$`
