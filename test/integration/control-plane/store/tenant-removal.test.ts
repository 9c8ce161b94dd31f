/** The queries on usage, and the removal of a tenant, explained on many rows in PGlite: none reads the rows of all tenants. Contents are not compared. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyTemplate } from '../../../contract/store/pglite-template.ts'

const TENANTS = 100
const SUBSCRIPTIONS = 1_000
const DAYS = 30

/** Their rows are few, whatever the age of the installation. */
const FEW_ROWS = ['apis', 'configuration', 'deployments', 'plans', 'products', 'subscriptions']

let dir: string
let db: PGlite
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'toolgate-removal-'))
  await copyTemplate(join(dir, 'postgres'))
  db = new PGlite(join(dir, 'postgres'))
  await db.exec(`select set_config('toolgate.tenant', '*', false);
    insert into tenants (id, name, tier, region, status, settings, created_at, updated_at)
      select 'ten_' || n, 'tenant-' || n, 'enterprise', 'default', 'active', '{}', now(), now() from generate_series(1, ${TENANTS}) n;
    insert into apis (id, tenant_id, name, description, upstream_url, path, version, auth_required, portal_visibility, status, created_at, updated_at)
      select 'api_' || n, 'ten_' || n, 'Api', '', 'http://127.0.0.1:9', '/a' || n, 'v1', true, true, 'active', now(), now()
      from generate_series(1, ${TENANTS}) n;
    insert into subscriptions (id, tenant_id, api_id, plan, application, status, created_at, updated_at)
      select 'sub_' || n, 'ten_' || (n % ${TENANTS} + 1), 'api_' || (n % ${TENANTS} + 1), 'silver', 'app-' || n, 'approved', now(), now()
      from generate_series(1, ${SUBSCRIPTIONS}) n;
    insert into usage_daily (tenant_id, subscription_id, day, requests, errors, last_request_at)
      select s.tenant_id, s.id, to_char(date '2026-03-01' + d, 'YYYY-MM-DD'), 1, 0, now()
      from generate_series(0, ${DAYS - 1}) d, subscriptions s;
    analyze`)
}, 120_000)
afterAll(async () => {
  await db?.close()
  rmSync(dir, { recursive: true, force: true })
})

async function planOf(query: string): Promise<string> {
  const { rows } = await db.query<{ 'QUERY PLAN': string }>(`explain ${query}`)
  return rows.map(row => row['QUERY PLAN']).join('\n')
}

describe('the rows of usage', () => {
  it.each([
    [
      'of a subscription',
      `select sum(requests) from usage_daily where subscription_id = 'sub_7' and day >= '2026-03-05'`,
    ],
    ['of a tenant, a part at a time', `select ctid from usage_daily where tenant_id = 'ten_7' limit 5000`],
    ['of a tenant, by its foreign key', `delete from only usage_daily where 'ten_7' = tenant_id`],
  ])('%s are found by an index', async (_, query) => {
    const plan = await planOf(query)
    expect(plan).toMatch(/Index/)
    expect(plan).not.toMatch(/Seq Scan/)
  })
})

it('each table that grows with time has an index for the removal of a tenant', async () => {
  const { rows } = await db.query<{ name: string }>(`select distinct c.conrelid::regclass::text as name
    from pg_constraint c
    where c.contype = 'f' and c.confrelid = 'tenants'::regclass and not exists (
      select 1 from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1] and i.indpred is null)
    order by 1`)
  expect(rows.map(({ name }) => name)).toEqual(FEW_ROWS)
})
