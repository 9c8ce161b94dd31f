/** Queries about tenants. No rule of their life cycle lives here. */
import { sql } from 'kysely'
import type { Tenant } from '../../../model/tenant.ts'
import type { TenantRepository } from '../repositories.ts'
import { inScope, matches, page } from './listing.ts'
import type { Session } from './session.ts'

export function tenantRepository({ db, scope, now }: Session): TenantRepository {
  const mine = () => db.selectFrom('tenants').where(inScope(scope, sql.ref('id')))
  return {
    async insert(tenant) {
      await db
        .insertInto('tenants')
        .values({ ...tenant, settings: JSON.stringify(tenant.settings) })
        .execute()
    },
    async find(id, locking = 'plain') {
      const query = mine().where('id', '=', id).selectAll()
      return (locking === 'lock' ? query.forUpdate() : query).executeTakeFirst()
    },
    async resolve(reference) {
      return mine()
        .where(eb => eb.or([eb('id', '=', reference), eb('name', '=', reference)]))
        .selectAll()
        .executeTakeFirst()
    },
    async list({ q, status, tier }, request) {
      let query = mine()
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('name')], q))
      if (status !== undefined) query = query.where('status', '=', status)
      if (tier !== undefined) query = query.where('tier', '=', tier)
      return page(query, from => from.selectAll('tenants'), request)
    },
    async ids(status) {
      let query = mine().select('id').orderBy('id')
      if (status !== undefined) query = query.where('status', '=', status)
      return (await query.execute()).map(row => row.id)
    },
    async update(tenant) {
      const { id, name: _name, createdAt: _createdAt, settings, revision, ...fields } = tenant
      return (await db
        .updateTable('tenants')
        .set({ ...fields, settings: JSON.stringify(settings), revision: revision + 1, updatedAt: now })
        .where('id', '=', id)
        .where(inScope(scope, sql.ref('id')))
        .returningAll()
        .executeTakeFirstOrThrow()) satisfies Tenant
    },
    async remove(id) {
      await db
        .deleteFrom('tenants')
        .where('id', '=', id)
        .where(inScope(scope, sql.ref('id')))
        .execute()
    },
  }
}
