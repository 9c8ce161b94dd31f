/** Queries on deliveries, their unique timestamps, and the signal that some are due. The retry rules are in `model/webhook-delivery.ts`. */
import { sql } from 'kysely'
import type { DeliveryRepository } from '../webhook-repositories.ts'
import { claimDeliveries } from './claim-deliveries.ts'
import { first, given, inScope, isRow, matches, page } from './listing.ts'
import { CHANNEL, type SqlSession, takeMicroseconds } from './session.ts'

const SHOWN = [
  'id',
  'tenantId',
  'webhookId',
  'event',
  'test',
  'status',
  'attempt',
  'statusCode',
  'responseBody',
  'error',
  'durationMs',
  'nextAttemptAt',
  'deliveredAt',
  'createdAt',
  'updatedAt',
] as const

export function deliveryRepository(session: SqlSession): DeliveryRepository {
  const { db, scope, now } = session
  const mine = () => db.selectFrom('deliveries').where(inScope(scope, 'deliveries.tenant_id'))
  const notifyInstances = () => sql`select pg_notify(${CHANNEL}, '')`.execute(db)
  return {
    async uniqueMoment() {
      return takeMicroseconds(session, 1)
    },
    async insert(delivery) {
      const inserted = await db
        .insertInto('deliveries')
        .values({
          ...delivery,
          sealedBody: null,
          keyId: null,
          lease: null,
          leasedUntil: null,
          status: 'pending',
          attempt: 0,
          statusCode: null,
          responseBody: null,
          error: null,
          durationMs: null,
          nextAttemptAt: now,
          deliveredAt: null,
          createdAt: now,
          updatedAt: now,
        })
        .returning(SHOWN)
        .executeTakeFirstOrThrow()
      await notifyInstances()
      return inserted
    },
    async anyPending(tenantId) {
      const found = await mine()
        .innerJoin('webhooks', 'webhooks.id', 'deliveries.webhookId')
        .where('deliveries.tenantId', '=', tenantId)
        .where('deliveries.status', '=', 'pending')
        .where('webhooks.enabled', '=', true)
        .select('deliveries.id')
        .limit(1)
        .executeTakeFirst()
      return found !== undefined
    },
    find: (webhookId, id, locking) =>
      first(mine().where('id', '=', id).where('webhookId', '=', webhookId).select(SHOWN), locking),
    async list(webhookId, { q, status, event }, request) {
      let query = mine().where(eb => eb.and({ webhookId, ...given({ status, event: event as never }) }))
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('event'), eb.ref('error')], q))
      return page(query, from => from.select(SHOWN), request, 'desc')
    },
    async retry({ id, status, nextAttemptAt }) {
      const retried = await db
        .updateTable('deliveries')
        .set({ status, nextAttemptAt, lease: null, leasedUntil: null, updatedAt: now })
        .where(isRow(scope, { id }))
        .returning(SHOWN)
        .executeTakeFirstOrThrow()
      await notifyInstances()
      return retried
    },
    claim: bounds => claimDeliveries(session, bounds),
    async settle(id, lease, after) {
      const delivered = after.status === 'success'
      const settled = await db
        .updateTable('deliveries')
        .set({ ...after, lease: null, leasedUntil: null, updatedAt: now })
        // A confidential body is delivered once.
        .$if(delivered, query => query.set({ sealedBody: null, keyId: null }))
        .where('id', '=', id)
        .where('lease', '=', lease)
        .where('status', '=', 'pending')
        .executeTakeFirst()
      return settled.numUpdatedRows === 1n
    },
    async depth() {
      const found = await sql<{ waiting: number; leased: number; due: Date | null }>`
        select count(*)::int as waiting, (count(*) filter (where leased_until > statement_timestamp()))::int as leased,
          min(next_attempt_at) filter (where leased_until is null or leased_until <= statement_timestamp()) as due
        from deliveries d join tenants t on t.id = d.tenant_id
        where d.status = 'pending' and t.status <> 'suspended'`.execute(db)
      const { waiting, leased, due } = found.rows[0]!
      return { waiting, leased, oldestDueMs: due === null ? 0 : Math.max(0, now.getTime() - due.getTime()) }
    },
    async sweep(before, sealedBefore) {
      await db.deleteFrom('deliveries').where('createdAt', '<', before).execute()
      await db
        .updateTable('deliveries')
        .set({ sealedBody: null, keyId: null })
        .where('createdAt', '<', sealedBefore)
        .where('sealedBody', 'is not', null)
        .execute()
    },
  }
}
