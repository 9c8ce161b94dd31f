/** The session of a transaction: scope, role, settings, signal channel and the clock of messages. */
import { type Kysely, sql, type Transaction as Trx } from 'kysely'
import { clockAheadMs } from '../../../base/clock-difference.ts'
import type { Sealer } from '../../../base/secrets/sealer.ts'
import type { NewAuditRecord } from '../../../model/audit.ts'
import type { NewEvent } from '../../../model/event.ts'
import type { MailOptions, StoreOptions } from '../opened-store.ts'
import type { Scope } from '../store.ts'
import type { Tables } from './tables.ts'

/** State that the repositories of one transaction share. */
export interface SqlSession {
  readonly db: Trx<Tables>
  readonly scope: Scope
  readonly now: Date
  readonly sealer: Sealer
  readonly pendingEvents: NewEvent[]
  readonly pendingAudit: NewAuditRecord[]
  /** undefined: notices are not sent by mail. */
  readonly mail: MailOptions | undefined
}

/** Channel of LISTEN/NOTIFY; the payload is '' for a change, `resync:<gateway id>` or `message:<text>`. */
export const CHANNEL = 'toolgate'

/**
 * Whether transactions must switch to the role `toolgate_app`, because the connecting user bypasses row-level security.
 * @throws Error when the user bypasses it and cannot switch: row-level security would have no effect
 */
export async function needsAppRole(db: Kysely<Tables>): Promise<boolean> {
  const found = await sql<{ bypasses: boolean; member: boolean | null }>`
    select rolsuper or rolbypassrls as bypasses,
      (select pg_has_role(current_user, oid, 'member') from pg_roles where rolname = 'toolgate_app') as member
    from pg_roles where rolname = current_user`.execute(db)
  const row = found.rows[0]!
  if (row.bypasses && row.member !== true) {
    throw new Error(
      'the database user bypasses row-level security, and the role toolgate_app does not exist or is not granted to that user. Run `toolgate db migrate`, grant the role, or connect as a user without SUPERUSER and BYPASSRLS.',
    )
  }
  return row.bypasses
}

/** Settings of a transaction by name. A pooler may give each transaction another session, so none is set for the session. */
export type TransactionSettings = Readonly<Record<string, string>>

interface Entry {
  readonly scope: Scope
  readonly asAppRole: boolean
  readonly onClock: StoreOptions['onClock']
}

/** @returns Unix ms of the database's clock: instances whose clocks differ agree about what is due */
export async function enter(
  db: Trx<Tables>,
  { scope, asAppRole, onClock }: Entry,
  settings: TransactionSettings,
): Promise<number> {
  const all = { 'toolgate.tenant': scope, ...(asAppRole ? { role: 'toolgate_app' } : {}), ...settings }
  const each = Object.entries(all).map(([name, value]) => sql`set_config(${name}, ${value}, true)`)
  const sentAtMs = Date.now()
  const { rows } = await sql<{ nowMs: number }>`
    select extract(epoch from statement_timestamp())::double precision * 1000 as now_ms, ${sql.join(each)}`.execute(
    db,
  )
  const { nowMs } = rows[0]!
  onClock?.(clockAheadMs({ sentAtMs, receivedAtMs: Date.now(), earliestMs: nowMs, latestMs: nowMs }))
  return Math.floor(nowMs)
}

/**
 * Advances the clock of messages by `count` and returns the first timestamp taken, in microseconds. Each is unique: when two changes
 * fall into one microsecond, or the time steps back, the clock runs ahead of it.
 */
export async function takeMicroseconds({ db, now }: SqlSession, count: number): Promise<number> {
  const clock = await db
    .updateTable('changeClock')
    .set({ microseconds: advanceClock(now, count) })
    .returning('microseconds')
    .executeTakeFirstOrThrow()
  return clock.microseconds - count + 1
}

/** The clock of messages advanced by `count`, or to `now` when that is later. */
export const advanceClock = (now: Date, count: number) =>
  sql<number>`greatest(microseconds + ${count}::bigint, ${now.getTime() * 1000 + count - 1}::bigint)`
