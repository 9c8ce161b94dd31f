/** Queries on consumers. */
import { sql } from 'kysely'
import type { Consumer } from '../../../model/consumer.ts'
import type { ConsumerRepository } from '../repositories.ts'
import { first, given, inScope, isRow, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'

export function consumerRepository({ db, scope, now }: SqlSession): ConsumerRepository {
  const mine = () => db.selectFrom('consumers').where(inScope(scope))
  return {
    async ensure(consumer) {
      const inserted = await db
        .insertInto('consumers')
        .values(consumer)
        .onConflict(conflict => conflict.constraint('consumers_subject_key').doNothing())
        .returningAll()
        .executeTakeFirst()
      if (inserted !== undefined) return inserted
      return mine()
        .where('tenantId', '=', consumer.tenantId)
        .where('subject', '=', consumer.subject)
        .selectAll()
        .executeTakeFirstOrThrow()
    },
    find: (id, locking) => first(mine().where('id', '=', id).selectAll(), locking),
    async bySubject(subject) {
      return mine().where('subject', '=', subject).selectAll().executeTakeFirst()
    },
    async listNames(of) {
      if (of.length === 0) return []
      const found = await sql<Pick<Consumer, 'tenantId' | 'subject' | 'name'>>`
        select tenant_id, subject, name
        from (select distinct t, s from unnest(
          ${of.map(({ tenantId }) => tenantId)}::text[], ${of.map(({ subject }) => subject)}::text[]) as u (t, s)) as w
        join consumers on tenant_id = w.t and subject = w.s
        where ${inScope(scope)}`.execute(db)
      return found.rows
    },
    async list({ q, status, tenantId }, request) {
      let query = mine().where(eb => eb.and(given({ status, tenantId })))
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('subject'), eb.ref('name')], q))
      return page(query, from => from.selectAll('consumers'), request)
    },
    async update(consumer) {
      const { id, tenantId, createdAt: _createdAt, revision, ...fields } = consumer
      return db
        .updateTable('consumers')
        .set({ ...fields, revision: revision + 1, updatedAt: now })
        .where(isRow(scope, { id, tenantId }))
        .returningAll()
        .executeTakeFirstOrThrow()
    },
    async touch(uses) {
      if (uses.length === 0) return
      // an update locks its rows in any order; the same order in every transaction prevents deadlocks
      await sql`with seen as (
          select tenant_id, subject, max(at::timestamptz) as at
          from unnest(
            ${uses.map(use => use.tenantId)}::text[],
            ${uses.map(use => use.subject)}::text[],
            ${uses.map(use => use.at.toISOString())}::text[]
          ) as t (tenant_id, subject, at)
          group by tenant_id, subject
        ), locked as materialized (
          select consumers.id, seen.at from consumers
          join seen on consumers.tenant_id = seen.tenant_id and consumers.subject = seen.subject
          where ${inScope(scope, 'consumers.tenant_id')}
          order by consumers.id for no key update of consumers
        )
        update consumers set last_seen_at = greatest(last_seen_at, locked.at)
        from locked where consumers.id = locked.id`.execute(db)
    },
  }
}
