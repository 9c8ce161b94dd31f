/** One transaction on either database: scope set, role stepped down, buffered events numbered and written before the commit, with their deliveries. No table's queries. */
import { type Kysely, sql, type Transaction as Trx } from 'kysely'
import type { NewEvent } from '../../../model/event.ts'
import { newId } from '../../../model/id.ts'
import type { Sealer } from '../sealer.ts'
import type { Scope } from '../store.ts'
import { fanOut, receiversOf } from './fan-out.ts'
import type { Tables } from './tables.ts'

/** What the repositories of one transaction share. */
export interface Session {
  readonly db: Trx<Tables>
  readonly scope: Scope
  readonly now: Date
  readonly sealer: Sealer
  readonly pendingEvents: NewEvent[]
}

/** Channel of LISTEN/NOTIFY; the payload is '' for a change, or `resync:<gateway id>`. */
export const CHANNEL = 'toolgate'

/**
 * Whether transactions must step down to the role `toolgate_app`, because the connecting user is not held by policies.
 * @throws Error when it is not held and cannot step down: row-level security would be switched off in silence
 */
export async function stepDownRole(db: Kysely<Tables>): Promise<boolean> {
  const found = await sql<{ bypasses: boolean; member: boolean | null }>`
    select rolsuper or rolbypassrls as bypasses,
      (select pg_has_role(current_user, oid, 'member') from pg_roles where rolname = 'toolgate_app') as member
    from pg_roles where rolname = current_user`.execute(db)
  const row = found.rows[0]!
  if (row.bypasses && row.member !== true) {
    throw new Error(
      'the database user bypasses row-level security and the role toolgate_app is missing. Run `toolgate db migrate`, or connect as a user without SUPERUSER and BYPASSRLS.',
    )
  }
  return row.bypasses
}

export async function enter(db: Trx<Tables>, scope: Scope, stepDown: boolean): Promise<void> {
  await (stepDown
    ? sql`select set_config('toolgate.tenant', ${scope}, true), set_config('role', 'toolgate_app', true)`
    : sql`select set_config('toolgate.tenant', ${scope}, true)`
  ).execute(db)
}

/**
 * Moves the clock of messages on by `count` and returns the first moment taken, in microseconds. None is ever given twice: when two
 * changes fall into one microsecond, or the time steps back, the clock runs ahead of it.
 */
export async function takeMicroseconds({ db, now }: Session, count: number): Promise<number> {
  const clock = await db
    .updateTable('changeClock')
    .set({ microseconds: advanced(now, count) })
    .returning('microseconds')
    .executeTakeFirstOrThrow()
  return clock.microseconds - count + 1
}

const advanced = (now: Date, count: number) =>
  sql<number>`greatest(microseconds + ${count}::bigint, ${now.getTime() * 1000 + count - 1}::bigint)`

/**
 * Numbers the events from the one-row clock. Its row lock is held until the commit, so numbers follow the order of commits and
 * have no gaps; taking it last keeps it short and leaves no room for a deadlock.
 */
export async function flushEvents(session: Session): Promise<void> {
  const { db, now, pendingEvents } = session
  const count = pendingEvents.length
  if (count === 0) return
  const receivers = await receiversOf(session)
  const clock = await db
    .updateTable('changeClock')
    .set(row => ({ seq: row('seq', '+', count), microseconds: advanced(now, count) }))
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
  await db.insertInto('events').values(rows).execute()
  await fanOut(session, receivers, clock.microseconds - count + 1)
  await sql`select pg_notify(${CHANNEL}, '')`.execute(db)
}
