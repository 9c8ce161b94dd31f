/** Queries on webhooks. Secrets are sealed before they are written, and never selected here. */
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Webhook } from '../../../model/webhook.ts'
import type { WebhookRepository } from '../webhook-repositories.ts'
import { first, given, inScope, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'
import type { Tables } from './tables.ts'

const SHOWN = [
  'id',
  'tenantId',
  'url',
  'events',
  'enabled',
  'customHeaders',
  'revision',
  'createdAt',
  'updatedAt',
] as const

const withHasSecret = <O>(query: SelectQueryBuilder<Tables, 'webhooks', O>) =>
  query.select(SHOWN).select(sql<boolean>`secret is not null`.as('hasSecret'))

export function webhookRepository({ db, scope, now, sealer }: SqlSession): WebhookRepository {
  const mine = () => db.selectFrom('webhooks').where(inScope(scope, sql.ref('tenant_id')))
  const sealed = (id: string, secret: string) => ({
    secret: sealer.seal(secret, id),
    keyId: sealer.keyId,
  })
  const columns = ({ events, customHeaders, url, enabled }: Webhook) => ({
    url,
    enabled,
    events: JSON.stringify(events),
    customHeaders: JSON.stringify(customHeaders),
  })
  return {
    async insert(webhook, secret) {
      const { id, tenantId, revision, createdAt, updatedAt } = webhook
      await db
        .insertInto('webhooks')
        .values({
          ...columns(webhook),
          ...{ id, tenantId, revision, createdAt, updatedAt },
          ...(secret === undefined ? { secret: null, keyId: null } : sealed(id, secret)),
          previousSecret: null,
          previousSecretUntil: null,
        })
        .execute()
    },
    find: (id, locking) => first(withHasSecret(mine()).where('id', '=', id), locking),
    async list({ q, enabled }, request) {
      let query = mine().where(eb => eb.and(given({ enabled })))
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('url')], q))
      return page(query, withHasSecret, request)
    },
    async count() {
      const row = await mine().select(sql<number>`count(*)::int`.as('count')).executeTakeFirstOrThrow()
      return row.count
    },
    async update(webhook, change) {
      const { id, revision } = webhook
      let query = db
        .updateTable('webhooks')
        .set({ ...columns(webhook), revision: revision + 1, updatedAt: now })
        .where('id', '=', id)
        .where(inScope(scope, sql.ref('tenant_id')))
      if (change !== undefined) {
        // There is one key_id for both secrets, so a secret sealed under another key is dropped.
        const usable = sql<boolean>`key_id = ${sealer.keyId}`
        query = query
          .set({ previousSecret: sql`case when ${usable} then secret end` })
          .set({
            previousSecretUntil: sql`case when ${usable} then ${change.previousUntil}::timestamptz end`,
          })
          .set(sealed(id, change.secret))
      }
      return query
        .returning(SHOWN)
        .returning(sql<boolean>`secret is not null`.as('hasSecret'))
        .executeTakeFirstOrThrow()
    },
    async remove(id) {
      await db
        .deleteFrom('webhooks')
        .where('id', '=', id)
        .where(inScope(scope, sql.ref('tenant_id')))
        .execute()
    },
    async overPlainHttp(limit) {
      const rows = await mine()
        .where('enabled', '=', true)
        .where('url', 'like', 'http://%')
        .select('id')
        .orderBy('id')
        .limit(limit)
        .execute()
      return rows.map(row => row.id)
    },
    async sealedElsewhere() {
      const row = await mine()
        .where('keyId', 'is not', null)
        .where('keyId', '!=', sealer.keyId)
        .select(sql<number>`count(*)::int`.as('count'))
        .executeTakeFirstOrThrow()
      return row.count
    },
    async dropOldSecrets() {
      await db
        .updateTable('webhooks')
        .set({ previousSecret: null, previousSecretUntil: null })
        .where('previousSecretUntil', '<=', now)
        .where(inScope(scope, sql.ref('tenant_id')))
        .execute()
    },
  }
}
