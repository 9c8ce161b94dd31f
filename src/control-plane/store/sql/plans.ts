/** Queries on plans of tenants and on global plans, within the scope of the transaction. */
import { sql } from 'kysely'
import { OPEN_STATUSES } from '../../../model/subscription.ts'
import type { PlanRepository } from '../repositories.ts'
import { EVERY_TENANT } from '../store.ts'
import { first, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'

export function planRepository({ db, scope, now }: SqlSession): PlanRepository {
  const visible = () =>
    scope === EVERY_TENANT
      ? db.selectFrom('plans')
      : db.selectFrom('plans').where(eb => eb.or([eb('tenantId', 'is', null), eb('tenantId', '=', scope)]))
  /** Rows that this scope may change: a tenant's scope its own rows, the platform's scope every row. */
  const mine = () => (scope === EVERY_TENANT ? sql<boolean>`true` : sql<boolean>`tenant_id = ${scope}`)
  return {
    async insert(plan) {
      await db.insertInto('plans').values(plan).execute()
    },
    async bySlug(slug) {
      const query = visible().where('slug', '=', slug).selectAll().orderBy(sql`tenant_id is null`).limit(1)
      // Without a tenant only the global plan is meant.
      return first(scope === EVERY_TENANT ? query.where('tenantId', 'is', null) : query)
    },
    find: (id, locking) => first(visible().where('id', '=', id).selectAll(), locking),
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
        .where(eb => eb.or([eb('plan', '=', plan.slug), eb('requestedPlan', '=', plan.slug)]))
        .where('status', 'in', OPEN_STATUSES)
        .$if(plan.tenantId !== null, query => query.where('tenantId', '=', plan.tenantId))
        .select('id')
      const assigned = db
        .selectFrom('consumers')
        .where('plan', '=', plan.slug)
        .$if(plan.tenantId !== null, query => query.where('tenantId', '=', plan.tenantId))
        .select('id')
      const offered = db
        .selectFrom('products')
        .where('plan', '=', plan.slug)
        .where('deletedAt', 'is', null)
        .$if(plan.tenantId !== null, query => query.where('tenantId', '=', plan.tenantId))
        .select('id')
      const found = await db
        .selectNoFrom(eb =>
          eb.or([eb.exists(subscribed), eb.exists(assigned), eb.exists(offered)]).as('used'),
        )
        .executeTakeFirstOrThrow()
      return Boolean(found.used)
    },
  }
}
