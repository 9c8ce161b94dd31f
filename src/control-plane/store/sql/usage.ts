/** Queries on usage: the counts of subscriptions by day, and those of tenants by hour for the limits of their tiers. */
import { sql } from 'kysely'
import type { UsageCount } from '../../../link/usage-count.ts'
import type { TierUsageRepository, UsageRepository } from '../usage-repositories.ts'
import { inScope } from './listing.ts'
import type { SqlSession } from './session.ts'

export function usageRepository({ db, scope }: SqlSession): UsageRepository {
  return {
    async add(counts) {
      if (counts.length === 0) return
      const column = <T>(pick: (count: UsageCount) => T) => counts.map(pick)
      // Usage of deleted subscriptions is not counted.
      await sql`insert into usage_daily (tenant_id, subscription_id, day, requests, errors, last_request_at)
        select s.tenant_id, s.id, u.day, sum(u.requests), sum(u.errors), max(u.at::timestamptz)
        from unnest(
          ${column(count => count.subscriptionId)}::text[],
          ${column(count => count.day)}::text[],
          ${column(count => count.requests)}::bigint[],
          ${column(count => count.errors)}::bigint[],
          ${column(count => count.lastRequestAt.toISOString())}::text[]
        ) as u (id, day, requests, errors, at)
        join subscriptions s on s.id = u.id
        group by s.tenant_id, s.id, u.day
        -- The same order in every transaction prevents deadlocks.
        order by s.id, u.day
        on conflict (subscription_id, day) do update set
          requests = usage_daily.requests + excluded.requests,
          errors = usage_daily.errors + excluded.errors,
          last_request_at = greatest(usage_daily.last_request_at, excluded.last_request_at)`.execute(db)
    },
    async sum(subscriptionId, from, to) {
      return db
        .selectFrom('usageDaily')
        .where('subscriptionId', '=', subscriptionId)
        .where(inScope(scope))
        .where('day', '>=', from)
        .where('day', '<=', to)
        .select([
          sql<number>`coalesce(sum(requests), 0)::bigint`.as('requests'),
          sql<number>`coalesce(sum(errors), 0)::bigint`.as('errors'),
          sql<Date | null>`max(last_request_at)`.as('lastRequestAt'),
        ])
        .executeTakeFirstOrThrow()
    },
  }
}

export function tierUsageRepository({ db }: SqlSession): TierUsageRepository {
  return {
    async take(tenantId, hour, want, limit) {
      await db
        .insertInto('tierUsage')
        .values({ tenantId, hour, taken: 0 })
        .onConflict(conflict => conflict.columns(['tenantId', 'hour']).doNothing())
        .execute()
      const row = await db
        .selectFrom('tierUsage')
        .where('tenantId', '=', tenantId)
        .where('hour', '=', hour)
        .select('taken')
        .forNoKeyUpdate()
        .executeTakeFirstOrThrow()
      const granted = Math.max(0, Math.min(want, limit - row.taken))
      const taken = row.taken + granted
      if (granted > 0) {
        await db
          .updateTable('tierUsage')
          .set({ taken })
          .where('tenantId', '=', tenantId)
          .where('hour', '=', hour)
          .execute()
      }
      return { granted, taken }
    },
    async giveBack(tenantId, hour, unused) {
      await db
        .updateTable('tierUsage')
        .set(row => ({ taken: sql<number>`greatest(0, ${row.ref('taken')} - ${unused})` }))
        .where('tenantId', '=', tenantId)
        .where('hour', '=', hour)
        .execute()
    },
    async sweep(before) {
      await db.deleteFrom('tierUsage').where('hour', '<', before).execute()
    },
  }
}
