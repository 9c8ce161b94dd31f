/** The event log: buffers new events in the session, reads written ones by sequence number, deletes old ones. `flush-events.ts` writes them. */
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
