/** Queries on tenants, and the deletion of their metering and usage. Rules of the life cycle are in `model/tenant.ts`. */
import { sql } from 'kysely'
import { type Tenant, VISITED_TENANTS } from '../../../model/tenant.ts'
import type { TenantRepository } from '../repositories.ts'
import { first, given, inScope, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'

/** Ids of the tenants whose public APIs and products visitors see. */
export function visitedTenants(db: SqlSession['db']) {
  return db
    .selectFrom('tenants')
    .where('status', 'in', [...VISITED_TENANTS])
    .select('id')
}

export function tenantRepository({ db, scope, now }: SqlSession): TenantRepository {
  const mine = () => db.selectFrom('tenants').where(inScope(scope, 'id'))
  return {
    async insert(tenant) {
      await db
        .insertInto('tenants')
        .values({ ...tenant, settings: JSON.stringify(tenant.settings) })
        .execute()
    },
    find: (id, locking) => first(mine().where('id', '=', id).selectAll(), locking),
    async resolve(reference) {
      return mine()
        .where(eb => eb.or([eb('id', '=', reference), eb('name', '=', reference)]))
        .selectAll()
        .executeTakeFirst()
    },
    async list({ q, status, tier }, request) {
      let query = mine().where(eb => eb.and(given({ status, tier })))
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('name')], q))
      return page(query, from => from.selectAll('tenants'), request)
    },
    async ids(status) {
      const query = mine()
        .where(eb => eb.and(given({ status })))
        .select('id')
        .orderBy('id')
      return (await query.execute()).map(row => row.id)
    },
    async update(tenant) {
      const { id, name: _name, createdAt: _createdAt, settings, revision, ...fields } = tenant
      return (await db
        .updateTable('tenants')
        .set({ ...fields, settings: JSON.stringify(settings), revision: revision + 1, updatedAt: now })
        .where('id', '=', id)
        .where(inScope(scope, 'id'))
        .returningAll()
        .executeTakeFirstOrThrow()) satisfies Tenant
    },
    async removeHistory(id, limit) {
      const ofTenant = sql`tenant_id = ${id} and ${inScope(scope)}`
      let removed = 0
      for (const name of ['metering_latencies', 'metering_hours', 'usage_daily']) {
        const table = sql.table(name)
        const { rows: counted } = await sql<{ count: number }>`with gone as (
            delete from ${table} where ctid = any(array(
              select ctid from ${table} where ${ofTenant} limit ${limit - removed})) returning 1)
          select count(*)::int as count from gone`.execute(db)
        removed += counted[0]?.count ?? 0
        if (removed >= limit) break
      }
      return removed
    },
    async remove(id) {
      await db.deleteFrom('tenants').where('id', '=', id).where(inScope(scope, 'id')).execute()
    },
  }
}
