/** Queries about subscriptions. No rule of their life cycle lives here. */
import { sql } from 'kysely'
import type { SubscriptionRepository } from '../repositories.ts'
import { inScope, matches, page } from './listing.ts'
import type { Session } from './session.ts'

export function subscriptionRepository({ db, scope, now }: Session): SubscriptionRepository {
  const mine = () => db.selectFrom('subscriptions').where(inScope(scope, sql.ref('tenant_id')))
  return {
    async insert(subscription) {
      await db.insertInto('subscriptions').values(subscription).execute()
    },
    async find(id, locking = 'plain') {
      const query = mine().where('id', '=', id).selectAll()
      return (locking === 'lock' ? query.forUpdate() : query).executeTakeFirst()
    },
    async list({ q, status, apiId, plan, application, tenantId, onlyApplication }, request) {
      let query = mine()
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('application')], q))
      if (status !== undefined) query = query.where('status', '=', status)
      if (apiId !== undefined) query = query.where('apiId', '=', apiId)
      if (plan !== undefined) query = query.where('plan', '=', plan)
      if (application !== undefined) query = query.where('application', '=', application)
      if (tenantId !== undefined) query = query.where('tenantId', '=', tenantId)
      if (onlyApplication !== undefined) query = query.where('application', '=', onlyApplication)
      return page(query, from => from.selectAll('subscriptions'), request)
    },
    async openOf(apiId) {
      return mine()
        .where('apiId', '=', apiId)
        .where('status', 'in', ['pending_approval', 'approved'])
        .selectAll()
        .orderBy('id')
        .forUpdate()
        .execute()
    },
    async due(limit) {
      return mine()
        .where('status', '=', 'approved')
        .where('expiresAt', '<=', now)
        .selectAll()
        .orderBy('expiresAt')
        .limit(limit)
        .forUpdate()
        .skipLocked()
        .execute()
    },
    async update(subscription) {
      const { id, tenantId, apiId: _apiId, createdAt: _createdAt, revision, ...fields } = subscription
      return db
        .updateTable('subscriptions')
        .set({ ...fields, revision: revision + 1, updatedAt: now })
        .where('id', '=', id)
        .where('tenantId', '=', tenantId)
        .where(inScope(scope, sql.ref('tenant_id')))
        .returningAll()
        .executeTakeFirstOrThrow()
    },
  }
}
