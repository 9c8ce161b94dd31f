/** Queries about plans: a tenant's own and the global ones. They decide nothing about who may change which. */
import { sql } from 'kysely'
import type { PlanRepository } from '../repositories.ts'
import { EVERY_TENANT } from '../store.ts'
import { matches, page } from './listing.ts'
import type { Session } from './session.ts'

export function planRepository({ db, scope, now }: Session): PlanRepository {
  const visible = () =>
    scope === EVERY_TENANT
      ? db.selectFrom('plans')
      : db.selectFrom('plans').where(eb => eb.or([eb('tenantId', 'is', null), eb('tenantId', '=', scope)]))
  /** Rows this scope may change: its own; the platform's scope every one. */
  const mine = () => (scope === EVERY_TENANT ? sql<boolean>`true` : sql<boolean>`tenant_id = ${scope}`)
  return {
    async insert(plan) {
      await db.insertInto('plans').values(plan).execute()
    },
    async bySlug(slug, locking = 'plain') {
      let query = visible().where('slug', '=', slug).selectAll()
      // Without a tenant only the global one is meant.
      if (scope === EVERY_TENANT) query = query.where('tenantId', 'is', null)
      query = query.orderBy(sql`tenant_id is null`).limit(1)
      return (locking === 'lock' ? query.forUpdate() : query).executeTakeFirst()
    },
    async find(id, locking = 'plain') {
      const query = visible().where('id', '=', id).selectAll()
      return (locking === 'lock' ? query.forUpdate() : query).executeTakeFirst()
    },
    async list({ q }, request) {
      let query = visible()
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('slug'), eb.ref('name')], q))
      return page(query, from => from.selectAll('plans'), request)
    },
    async update(plan) {
      const { id, tenantId: _tenantId, slug: _slug, createdAt: _createdAt, revision, ...fields } = plan
      return db
        .updateTable('plans')
        .set({ ...fields, revision: revision + 1, updatedAt: now })
        .where('id', '=', id)
        .where(mine())
        .returningAll()
        .executeTakeFirstOrThrow()
    },
    async remove(id) {
      await db.deleteFrom('plans').where('id', '=', id).where(mine()).execute()
    },
    async inUse(plan) {
      const subscribed = db
        .selectFrom('subscriptions')
        .where('plan', '=', plan.slug)
        .where('status', 'in', ['pending_approval', 'approved'])
        .$if(plan.tenantId !== null, query => query.where('tenantId', '=', plan.tenantId))
        .select('id')
      const assigned = db
        .selectFrom('consumers')
        .where('plan', '=', plan.slug)
        .$if(plan.tenantId !== null, query => query.where('tenantId', '=', plan.tenantId))
        .select('id')
      const found = await db
        .selectNoFrom(eb => eb.or([eb.exists(subscribed), eb.exists(assigned)]).as('used'))
        .executeTakeFirstOrThrow()
      return Boolean(found.used)
    },
  }
}
