/** Queries on API keys. Their life cycle is in `model/api-key.ts`; the rule of the status is repeated here in SQL. */
import { sql } from 'kysely'
import type { ApiKeyRepository } from '../repositories.ts'
import { first, inScope, isRow, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'

export function apiKeyRepository({ db, scope, now }: SqlSession): ApiKeyRepository {
  const mine = () => db.selectFrom('apiKeys').where(inScope(scope))
  /** `keyStatus` of model/api-key.ts in SQL; the contract test of the store compares the two. */
  const status = sql<string>`case
    when revoked_at is not null then 'revoked'
    when expires_at <= ${now} then 'expired'
    when previous_expires_at > ${now} then 'rotating'
    else 'active' end`
  return {
    async insert(key) {
      await db.insertInto('apiKeys').values(key).execute()
    },
    find: (id, locking) => first(mine().where('id', '=', id).selectAll(), locking),
    async list({ q, status: wanted, subscriptionId, onlyApplication, subscriberTenantId }, request) {
      let query = mine()
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('name'), eb.ref('prefix')], q))
      if (wanted !== undefined) query = query.where(status, '=', wanted)
      if (subscriptionId !== undefined) query = query.where('subscriptionId', '=', subscriptionId)
      if (onlyApplication !== undefined || subscriberTenantId !== undefined) {
        const own = db
          .selectFrom('subscriptions')
          .where('subscriberTenantId', 'is not distinct from', subscriberTenantId ?? null)
          .$if(onlyApplication !== undefined, all => all.where('application', '=', onlyApplication!))
          .select('id')
        query = query.where('subscriptionId', 'in', own)
      }
      return page(query, from => from.selectAll('apiKeys'), request)
    },
    async prefixesOf(subscriptionIds) {
      if (subscriptionIds.length === 0) return new Map()
      const rows = await mine()
        .where('subscriptionId', 'in', subscriptionIds)
        .where('revokedAt', 'is', null)
        .select(['subscriptionId', 'prefix'])
        .orderBy('id')
        .execute()
      return new Map(rows.map(row => [row.subscriptionId, row.prefix]))
    },
    async ofSubscription(subscriptionId) {
      return mine()
        .where('subscriptionId', '=', subscriptionId)
        .selectAll()
        .orderBy('id')
        .forNoKeyUpdate()
        .execute()
    },
    async listExpiring(noticeMs, limit) {
      const approved = db.selectFrom('subscriptions').where('status', '=', 'approved').select('id')
      return mine()
        .where('revokedAt', 'is', null)
        .where('expiresAt', '>', now)
        .where('expiryAnnounced', 'is distinct from', eb => eb.ref('expiresAt'))
        .where(
          sql<boolean>`expires_at - least(${noticeMs} * interval '1 millisecond', (expires_at - created_at) / 2) <= ${now}`,
        )
        .where('subscriptionId', 'in', approved)
        .selectAll()
        .orderBy('expiresAt')
        .limit(limit)
        .forNoKeyUpdate()
        .skipLocked()
        .execute()
    },
    async update(key) {
      const { id, tenantId, subscriptionId: _subscription, createdAt: _createdAt, revision, ...fields } = key
      return db
        .updateTable('apiKeys')
        .set({ ...fields, revision: revision + 1, updatedAt: now })
        .where(isRow(scope, { id, tenantId }))
        .returningAll()
        .executeTakeFirstOrThrow()
    },
    async noteAnnounced({ id, tenantId, expiresAt }) {
      await db
        .updateTable('apiKeys')
        .set({ expiryAnnounced: expiresAt })
        .where(isRow(scope, { id, tenantId }))
        .execute()
    },
    async touch(uses) {
      if (uses.length === 0) return
      const ids = uses.map(use => use.id)
      // an update locks its rows in any order; the same order in every transaction prevents deadlocks
      await sql`with locked as materialized (
          select id from api_keys where id = any(${ids}::text[]) and ${inScope(scope)} order by id for no key update
        )
        update api_keys set last_used_at = greatest(last_used_at, u.at)
        from locked join (
          select id, max(at::timestamptz) as at
          from unnest(${ids}::text[], ${uses.map(use => use.at.toISOString())}::text[]) as t (id, at)
          group by id
        ) as u using (id)
        where api_keys.id = locked.id`.execute(db)
    },
  }
}
