/** Queries on stored responses to POST requests. Hashing and encryption are done by `api/http/idempotency.ts`. */
import type { IdempotencyRepository } from '../repositories.ts'
import type { SqlSession } from './session.ts'

const KEEP_MS = 24 * 60 * 60 * 1000

export function idempotencyRepository({ db, scope, now }: SqlSession): IdempotencyRepository {
  const oldest = new Date(now.getTime() - KEEP_MS)
  return {
    async claim(key, requestHash) {
      const fresh = await db
        .insertInto('idempotency')
        .values({ key, tenantId: scope, requestHash, status: null, body: null, createdAt: now })
        .onConflict(conflict => conflict.column('key').doNothing())
        .returning('key')
        .executeTakeFirst()
      if (fresh !== undefined) return undefined
      const held = await db
        .selectFrom('idempotency')
        .where('key', '=', key)
        .selectAll()
        .forNoKeyUpdate()
        .executeTakeFirst()
      // The other transaction deleted the row, so the key is free again.
      if (held === undefined) return this.claim(key, requestHash)
      const { status, body } = held
      if (status !== null && body !== null && held.createdAt > oldest) {
        return { key, requestHash: held.requestHash, status, body }
      }
      await db
        .updateTable('idempotency')
        .set({ requestHash, status: null, body: null, createdAt: now })
        .where('key', '=', key)
        .execute()
      return undefined
    },
    async settle({ key, status, body }) {
      await db.updateTable('idempotency').set({ status, body }).where('key', '=', key).execute()
    },
    async sweep() {
      await db.deleteFrom('idempotency').where('createdAt', '<=', oldest).execute()
    },
  }
}
