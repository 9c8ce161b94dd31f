/** Queries on quotas that subscriptions have reached, and on their notices. Which kind of event follows is decided in `model/quota-notice.ts`. */
import { sql } from 'kysely'
import { QUOTA_THRESHOLDS, type ReachedQuota, windowStart } from '../../../model/quota-notice.ts'
import type { NoticeRepository } from '../notice-repositories.ts'
import type { SqlSession } from './session.ts'

export function noticeRepository({ db, now }: SqlSession): NoticeRepository {
  return {
    async takeReached(subscriptionIds) {
      if (subscriptionIds.length === 0) return []
      const [today, month] = [windowStart('day', now), windowStart('month', now)]
      const taken = await sql<ReachedQuota>`
        with used as (
          select s.tenant_id, s.id as subscription_id, w.quota_window, w.starts, w.used, w.quota
          from subscriptions s
          left join lateral (
            select per_day, per_month from plans
            where slug = s.plan and (tenant_id = s.tenant_id or tenant_id is null)
            order by tenant_id nulls last limit 1) p on true
          cross join lateral (
            select coalesce(sum(requests) filter (where day = ${today}), 0)::bigint as in_day,
              coalesce(sum(requests), 0)::bigint as in_month
            from usage_daily where subscription_id = s.id and day >= ${month} and day <= ${today}) u
          cross join lateral (values
            ('day', ${today}, u.in_day, coalesce(p.per_day, 0)),
            ('month', ${month}, u.in_month, coalesce(s.quota, p.per_month, 0))) as w (quota_window, starts, used, quota)
          where s.id = any(${[...new Set(subscriptionIds)]}::text[]) and s.status = 'approved' and w.quota > 0
        ),
        taken as (
          insert into quota_notices (tenant_id, subscription_id, quota_window, starts, threshold, created_at)
          select tenant_id, subscription_id, quota_window, starts, t.threshold, ${now.toISOString()}::timestamptz
          from used cross join unnest(${[...QUOTA_THRESHOLDS]}::int[]) as t (threshold)
          where used * 100 >= quota::bigint * t.threshold
          -- The same order in every transaction prevents deadlocks.
          order by subscription_id, quota_window, t.threshold
          on conflict do nothing
          returning subscription_id, quota_window, threshold
        )
        select u.tenant_id, u.subscription_id, u.quota_window as "window", max(t.threshold)::int as threshold,
          u.used, u.quota as "limit"
        from taken t join used u using (subscription_id, quota_window)
        group by u.tenant_id, u.subscription_id, u.quota_window, u.used, u.quota
        order by u.subscription_id, u.quota_window`.execute(db)
      return taken.rows
    },
    async sweep(before) {
      await db.deleteFrom('quotaNotices').where('createdAt', '<', before).execute()
    },
  }
}
