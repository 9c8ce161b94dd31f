/** Queries on subscriptions, and on the names of their APIs and products. Rules of the life cycle are in `model/subscription.ts`. */
import { type ExpressionBuilder, sql } from 'kysely'
import { OPEN_STATUSES } from '../../../model/subscription.ts'
import type { SubscriptionRepository } from '../repositories.ts'
import { EVERY_TENANT } from '../store.ts'
import { first, given, inScope, isRow, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'
import type { Tables } from './tables.ts'

export function subscriptionRepository({ db, scope, now }: SqlSession): SubscriptionRepository {
  const mine = () => db.selectFrom('subscriptions').where(inScope(scope))
  return {
    async insert(subscription) {
      await db
        .insertInto('subscriptions')
        .values({ ...subscription, metadata: JSON.stringify(subscription.metadata) })
        .execute()
    },
    find: (id, locking) => first(mine().where('id', '=', id).selectAll(), locking),
    async list(filter, request) {
      const { q, onlyApplication, heldBy } = filter
      const { status, apiId, productId, plan, application, tenantId, subscriberTenantId } = filter
      const equal = { status, apiId, productId, plan, application, tenantId, subscriberTenantId }
      const withHeld = heldBy !== undefined && scope !== EVERY_TENANT
      const all = withHeld
        ? db
            .selectFrom('subscriptions')
            .where(eb => eb.or([inScope(scope), eb('subscriberTenantId', '=', scope)]))
        : mine()
      let query = all.where(eb => eb.and(given(equal)))
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('application')], q))
      if (onlyApplication !== undefined) {
        const isHeld = (eb: ExpressionBuilder<Tables, 'subscriptions'>) =>
          eb.and({ subscriberTenantId: scope, application: `${heldBy}/${onlyApplication}` })
        // an application of another tenant may have the same name
        const own = (eb: ExpressionBuilder<Tables, 'subscriptions'>) =>
          eb.and([eb('application', '=', onlyApplication), eb('subscriberTenantId', 'is', null)])
        query = query.where(eb => (withHeld ? eb.or([own(eb), isHeld(eb)]) : own(eb)))
      }
      return page(query, from => from.selectAll('subscriptions'), request)
    },
    async namesOf(subscriptions) {
      const ids = [...new Set(subscriptions.flatMap(({ apiId, productId }) => apiId ?? productId ?? []))]
      if (ids.length === 0) return new Map()
      const nameOf = (table: 'apis' | 'products') =>
        db.selectFrom(table).where('id', 'in', ids).select(['id', 'name'])
      const found = await nameOf('apis').unionAll(nameOf('products')).execute()
      return new Map(found.map(({ id, name }) => [id, name]))
    },
    lastApproved: ({ apiId, productId, application }) =>
      first(
        mine()
          .where(eb => eb.and(apiId === null ? { productId, application } : { apiId, application }))
          .where('approvedAt', 'is not', null)
          .selectAll()
          .orderBy('id', 'desc')
          .limit(1),
      ),
    async openOf(of) {
      return mine()
        .where(eb => eb.and(of))
        .where('status', 'in', OPEN_STATUSES)
        .selectAll()
        .orderBy('id')
        .forNoKeyUpdate()
        .execute()
    },
    async openOfTenant(tenantId) {
      return mine()
        .where('tenantId', '=', tenantId)
        .where('status', 'in', OPEN_STATUSES)
        .selectAll()
        .orderBy('id')
        .forNoKeyUpdate()
        .execute()
    },
    async due(limit) {
      return mine()
        .where('status', 'in', ['approved', 'suspended'])
        .where('expiresAt', '<=', now)
        .selectAll()
        .orderBy('expiresAt')
        .limit(limit)
        .forNoKeyUpdate()
        .skipLocked()
        .execute()
    },
    async listExpiring(noticeMs, limit) {
      return mine()
        .where('status', '=', 'approved')
        .where('expiresAt', '>', now)
        .where('expiryAnnounced', 'is distinct from', eb => eb.ref('expiresAt'))
        .where(
          sql<boolean>`expires_at - least(${noticeMs} * interval '1 millisecond', (expires_at - approved_at) / 2) <= ${now}`,
        )
        .selectAll()
        .orderBy('expiresAt')
        .limit(limit)
        .forNoKeyUpdate()
        .skipLocked()
        .execute()
    },
    async noteAnnounced({ id, tenantId, expiresAt }) {
      await db
        .updateTable('subscriptions')
        .set({ expiryAnnounced: expiresAt })
        .where(isRow(scope, { id, tenantId }))
        .execute()
    },
    async update(subscription) {
      const { id, tenantId, createdAt: _createdAt, revision, ...changed } = subscription
      const fields = { ...changed, metadata: JSON.stringify(changed.metadata) }
      return db
        .updateTable('subscriptions')
        .set({ ...fields, revision: revision + 1, updatedAt: now })
        .where(isRow(scope, { id, tenantId }))
        .returningAll()
        .executeTakeFirstOrThrow()
    },
  }
}
