/** Queries on the event log, and the buffer of new events in the session. `flush-events.ts` writes new events. */
import type { EventRepository } from '../repositories.ts'
import { inScope } from './listing.ts'
import type { SqlSession } from './session.ts'

export function eventRepository({ db, scope, pendingEvents }: SqlSession): EventRepository {
  return {
    append(event) {
      pendingEvents.push(event)
    },
    async after(seq, limit) {
      return db
        .selectFrom('events')
        .where('seq', '>', seq)
        .where(inScope(scope))
        .selectAll()
        .orderBy('seq')
        .limit(limit)
        .execute()
    },
    async lastSeq() {
      return (await db.selectFrom('changeClock').select('seq').executeTakeFirstOrThrow()).seq
    },
    async sweep(before) {
      await db.deleteFrom('events').where('occurredAt', '<', before).execute()
    },
  }
}
