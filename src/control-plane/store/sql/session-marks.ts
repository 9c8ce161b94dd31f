/** Queries on the marks on sessions of console and portal. */
import { sql } from 'kysely'
import type { SessionMarkRepository } from '../repositories.ts'
import type { SqlSession } from './session.ts'

/** A row takes about 200 bytes with its indexes. */
const MAX_MARKS = 200_000
const SWEEP_AT_ONCE = 1_000

export function sessionMarkRepository({ db, now }: SqlSession): SessionMarkRepository {
  return {
    async put(mark, until) {
      await sql`delete from session_marks where mark in (
        select mark from session_marks where until <= ${now.toISOString()}::timestamptz
        limit ${SWEEP_AT_ONCE} for update skip locked)`.execute(db)
      const { count } = await db
        .selectFrom('sessionMarks')
        .select(eb => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= MAX_MARKS) throw new Error(`session_marks has ${count} rows, the maximum`)
      const added = await db
        .insertInto('sessionMarks')
        .values({ mark, until })
        .onConflict(conflict =>
          conflict.column('mark').doUpdateSet({ until }).where('sessionMarks.until', '<=', now),
        )
        .returning('mark')
        .executeTakeFirst()
      return added !== undefined
    },
    async has(mark) {
      const found = await db
        .selectFrom('sessionMarks')
        .where('mark', '=', mark)
        .where('until', '>', now)
        .select('mark')
        .executeTakeFirst()
      return found !== undefined
    },
  }
}
