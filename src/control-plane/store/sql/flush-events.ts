/** Writes the buffered events of a transaction with their deliveries and mails, and signals the change. */
import { sql } from 'kysely'
import { newId } from '../../../model/id.ts'
import { fanOut, receiversOf } from './fan-out.ts'
import { writeMails } from './mails.ts'
import { advanceClock, CHANNEL, type SqlSession } from './session.ts'

/** A statement of PostgreSQL has at most 65,535 parameters. */
const ROWS_AT_ONCE = 1_000

/**
 * Numbers the events from the one-row clock. Its row lock is held until the commit, so the numbers follow the order of commits and
 * have no gaps; only the lock of the audit chain is taken later, which keeps it short and prevents deadlocks: what is written after
 * it refers to rows that were locked before it.
 */
export async function flushEvents(session: SqlSession): Promise<void> {
  const { db, now, pendingEvents } = session
  const count = pendingEvents.length
  if (count === 0) return
  await keepTenants(session)
  const receivers = await receiversOf(session)
  const clock = await db
    .updateTable('changeClock')
    .set(row => ({ seq: row('seq', '+', count), microseconds: advanceClock(now, count) }))
    .returning(['seq', 'microseconds'])
    .executeTakeFirstOrThrow()
  const first = clock.seq - count + 1
  const rows = pendingEvents.map(({ once: _once, ...event }, index) => ({
    ...event,
    data: JSON.stringify(event.data),
    seq: first + index,
    id: newId('event', now.getTime()),
    occurredAt: now,
  }))
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    await db
      .insertInto('events')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .execute()
  await fanOut(session, receivers, clock.microseconds - count + 1)
  await writeMails(session)
  await sql`select pg_notify(${CHANNEL}, '')`.execute(db)
}

/** Deliveries and mails refer to them. One that is being deleted is waited for here, before others wait for this transaction. */
async function keepTenants({ db, pendingEvents }: SqlSession): Promise<void> {
  const ids = new Set(pendingEvents.flatMap(({ tenantId }) => tenantId ?? []))
  if (ids.size === 0) return
  await db
    .selectFrom('tenants')
    .where('id', 'in', [...ids])
    .select('id')
    .orderBy('id')
    .forKeyShare()
    .execute()
}
