/** Queries of configuration as code. Which change follows from two configurations is decided in `model/configuration.ts`. */
import { sql } from 'kysely'
import type { ConfigurationRepository } from '../configuration-repository.ts'
import { API_COLUMNS } from './apis.ts'
import { inScope } from './listing.ts'
import { PRODUCT_COLUMNS } from './products.ts'
import type { SqlSession } from './session.ts'
import { withHasSecret } from './webhooks.ts'

/** Advisory lock of applies: an arbitrary number, the same in every instance. */
const LOCK = 7_270_736_902

export function configurationRepository({ db, scope, now }: SqlSession): ConfigurationRepository {
  return {
    async lock() {
      await sql`select pg_advisory_xact_lock(${LOCK}::bigint)`.execute(db)
    },

    async load({ tenants: wanted, subjects = [], limit, maxDocumentBytes }) {
      const max = limit + 1
      const namesOf = (of: NonNullable<typeof wanted>) =>
        sql<boolean>`(name = any(${[...of.names]}::text[])
          or id in (select tenant_id from configuration where owner = ${of.owner}))`
      const tenants = await db
        .selectFrom('tenants')
        .where(inScope(scope, 'id'))
        .where('status', '!=', 'deleting')
        .$if(wanted !== undefined, query => query.where(namesOf(wanted!)))
        .selectAll()
        .orderBy('name')
        .limit(max)
        .execute()
      const ids = tenants.map(tenant => tenant.id)
      const ofTenants = sql<boolean>`tenant_id = any(${ids}::text[])`
      const { bytes } = await db
        .selectFrom('apis')
        .where('deletedAt', 'is', null)
        .where(ofTenants)
        .select(sql<number>`coalesce(sum(octet_length(spec)), 0)::float8`.as('bytes'))
        .executeTakeFirstOrThrow()
      if (bytes > maxDocumentBytes) return undefined
      const plans = await db
        .selectFrom('plans')
        .where(eb => eb.or([eb('tenantId', 'is', null), ofTenants]))
        .selectAll()
        .orderBy('slug')
        .limit(max)
        .execute()
      const apis = await db
        .selectFrom('apis')
        .where('deletedAt', 'is', null)
        .where(ofTenants)
        .select(API_COLUMNS)
        .orderBy('path')
        .limit(max)
        .execute()
      const products = await db
        .selectFrom('products')
        .where('deletedAt', 'is', null)
        .where(ofTenants)
        .select(PRODUCT_COLUMNS)
        .orderBy('slug')
        .limit(max)
        .execute()
      const managed = sql<boolean>`exists (select from configuration
        where kind = 'consumer' and key = subject and configuration.tenant_id = consumers.tenant_id)`
      const configured = sql<boolean>`(plan is not null or status <> 'active' or name <> subject or notes <> ''
        or subject = any(${[...subjects]}::text[]) or ${managed})`
      const consumers = await db
        .selectFrom('consumers')
        .where(ofTenants)
        .where(configured)
        .selectAll()
        .orderBy('subject')
        .limit(max)
        .execute()
      const webhooks = await withHasSecret(db.selectFrom('webhooks').where(ofTenants))
        .orderBy('name')
        .limit(max)
        .execute()
      const applied = await db
        .selectFrom('configuration')
        .where(eb => eb.or([eb('tenantId', 'is', null), ofTenants]))
        .where(inScope(scope))
        .select(['tenantId', 'kind', 'key', 'owner', 'fields', 'appliedBy'])
        .orderBy('key')
        .execute()
      return { tenants, plans, apis, products, consumers, webhooks, applied }
    },

    async record(resources) {
      if (resources.length === 0) return
      const rows = resources.map(({ tenantId, appliedBy, fields, ...rest }) => ({
        tenant_id: tenantId,
        applied_by: appliedBy,
        fields: JSON.stringify(fields),
        ...rest,
      }))
      await sql`insert into configuration (tenant_id, kind, key, owner, fields, applied_by, applied_at)
        select tenant_id, kind, key, owner, fields::jsonb, applied_by, ${now}::timestamptz
        from json_to_recordset(${JSON.stringify(rows)}::json)
          as r (tenant_id text, kind text, key text, owner text, fields text, applied_by text)
        on conflict (coalesce(tenant_id, ''), kind, key) do update
          set owner = excluded.owner, fields = excluded.fields, applied_by = excluded.applied_by,
            applied_at = excluded.applied_at`.execute(db)
    },

    async release(resources) {
      for (const { tenantId, kind, key } of resources)
        await db
          .deleteFrom('configuration')
          .where('kind', '=', kind)
          .where('key', '=', key)
          .where('tenantId', 'is not distinct from', tenantId)
          .where(inScope(scope))
          .execute()
    },
  }
}
