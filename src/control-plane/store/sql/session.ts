/** One transaction on either database: scope set, role stepped down, buffered events numbered and written before the commit, with their deliveries. No table's queries. */
import { type Kysely, sql, type Transaction as Trx } from 'kysely'
import type { NewEvent } from '../../../model/event.ts'
import type { Sealer } from '../sealer.ts'
import type { Scope } from '../store.ts'
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

/** @returns the clock of messages moved on by `count`, or to `now` where that is later */
export const advanced = (now: Date, count: number) =>
  sql<number>`greatest(microseconds + ${count}::bigint, ${now.getTime() * 1000 + count - 1}::bigint)`
