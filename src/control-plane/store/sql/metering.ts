/** Queries on metering: hours, latency histograms, marks. Which events are new is decided in `api/services/fold-events.ts`. */
import { sql } from 'kysely'
import type { MeteringRepository } from '../usage-repositories.ts'
import { inScope } from './listing.ts'
import type { SqlSession } from './session.ts'

export function meteringRepository({ db, scope, now }: SqlSession): MeteringRepository {
  return {
    async marks(source, writers) {
      // The same order in every transaction prevents deadlocks.
      const sorted = [...writers].sort()
      await sql`insert into metering_marks (writer, source, last_event_id, events, updated_at)
        select w, ${source}, '', 0, ${now.toISOString()}::timestamptz from unnest(${sorted}::text[]) as w
        on conflict do nothing`.execute(db)
      await sql`select 1 from metering_marks where source = ${source} and writer = any(${sorted}::text[])
        order by writer for no key update`.execute(db)
      const rows = await db
        .selectFrom('meteringMarks')
        .where(sql<boolean>`writer = any(${sorted}::text[])`)
        .select(['writer', 'source', 'lastEventId'])
        .execute()
      return rows
    },

    async advance(source, marks) {
      if (marks.length === 0) return
      await sql`update metering_marks m
        set last_event_id = u.id, events = m.events + u.events, updated_at = ${now.toISOString()}::timestamptz
        from unnest(
          ${marks.map(mark => mark.writer)}::text[],
          ${marks.map(mark => mark.lastEventId)}::text[],
          ${marks.map(mark => mark.events)}::bigint[]
        ) as u (writer, id, events)
        where m.source = ${source} and m.writer = u.writer`.execute(db)
    },

    async add(hours, latencies) {
      if (hours.length === 0) return
      // Events of deleted and unknown tenants are not counted.
      await sql`insert into metering_hours (tenant_id, api_id, hour, requests, errors)
        select t.id, u.api_id, u.hour::timestamptz, u.requests, u.errors
        from unnest(
          ${hours.map(row => row.tenantId)}::text[],
          ${hours.map(row => row.apiId)}::text[],
          ${hours.map(row => row.hour.toISOString())}::text[],
          ${hours.map(row => row.requests)}::bigint[],
          ${hours.map(row => row.errors)}::bigint[]
        ) as u (tenant_id, api_id, hour, requests, errors)
        join tenants t on t.id = u.tenant_id
        order by t.id, u.hour, u.api_id
        on conflict (tenant_id, hour, api_id) do update set
          requests = metering_hours.requests + excluded.requests,
          errors = metering_hours.errors + excluded.errors`.execute(db)
      await sql`insert into metering_latencies (tenant_id, api_id, hour, bucket, requests)
        select t.id, u.api_id, u.hour::timestamptz, u.bucket, u.requests
        from unnest(
          ${latencies.map(row => row.tenantId)}::text[],
          ${latencies.map(row => row.apiId)}::text[],
          ${latencies.map(row => row.hour.toISOString())}::text[],
          ${latencies.map(row => row.bucket)}::smallint[],
          ${latencies.map(row => row.requests)}::bigint[]
        ) as u (tenant_id, api_id, hour, bucket, requests)
        join tenants t on t.id = u.tenant_id
        order by t.id, u.hour, u.api_id, u.bucket
        on conflict (tenant_id, hour, api_id, bucket) do update set
          requests = metering_latencies.requests + excluded.requests`.execute(db)
    },

    async series({ tenantId, apiId, from, before, granularity }) {
      const mine = sql`${inScope(scope)} and tenant_id = ${tenantId}
        and hour >= ${from.toISOString()}::timestamptz and hour < ${before.toISOString()}::timestamptz
        ${apiId === undefined ? sql`` : sql`and api_id = ${apiId}`}`
      // 'UTC' twice: truncates in UTC, independent of the time zone of the connection.
      const period = sql`(date_trunc(${granularity}::text, hour at time zone 'UTC') at time zone 'UTC')`
      const counts = await sql<{ at: Date; requests: number; errors: number }>`
        select ${period} as at, sum(requests)::bigint as requests, sum(errors)::bigint as errors
        from metering_hours where ${mine} group by 1 order by 1`.execute(db)
      const latencies = await sql<{ at: Date; bucket: number; requests: number }>`
        select ${period} as at, bucket, sum(requests)::bigint as requests
        from metering_latencies where ${mine} group by 1, 2 order by 1, 2`.execute(db)
      const byPeriod = new Map<number, { bucket: number; requests: number }[]>()
      for (const { at, bucket, requests } of latencies.rows) {
        const list = byPeriod.get(at.getTime()) ?? []
        list.push({ bucket, requests })
        byPeriod.set(at.getTime(), list)
      }
      return counts.rows.map(row => ({ ...row, latencies: byPeriod.get(row.at.getTime()) ?? [] }))
    },

    async foldEnded() {
      return db.selectFrom('meteringMarks').select(['writer', 'source', 'events', 'lastEventId']).execute()
    },

    async sweep({ rowsBefore, marksBefore }) {
      await db.deleteFrom('meteringLatencies').where('hour', '<', rowsBefore).execute()
      await db.deleteFrom('meteringHours').where('hour', '<', rowsBefore).execute()
      await db.deleteFrom('meteringMarks').where('updatedAt', '<', marksBefore).execute()
    },
  }
}
