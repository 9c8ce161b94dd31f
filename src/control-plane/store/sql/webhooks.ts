/** Queries on webhooks, and the sealing of their secrets and header values. `claim-deliveries.ts` decrypts these for a delivery. */
import { type SelectQueryBuilder, sql } from 'kysely'
import { tryOpen } from '../../../base/secrets/sealer.ts'
import { maskedHeaders, type Webhook } from '../../../model/webhook.ts'
import type { WebhookRepository } from '../webhook-repositories.ts'
import { first, given, inScope, isRow, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'
import type { Tables } from './tables.ts'

const SHOWN = [
  'id',
  'tenantId',
  'name',
  'url',
  'events',
  'enabled',
  'customHeaders',
  'keysOf',
  'secretNames',
  'revision',
  'createdAt',
  'updatedAt',
] as const

/** Sealed headers of one webhook cannot be opened as its secret, nor as those of another. */
export const placeOfHeaders = (id: string): string => `${id} headers`

export const withHasSecret = <O>(query: SelectQueryBuilder<Tables, 'webhooks', O>) =>
  query.select(SHOWN).select(sql<boolean>`secret is not null`.as('hasSecret'))

export function webhookRepository({ db, scope, now, sealer }: SqlSession): WebhookRepository {
  const mine = () => db.selectFrom('webhooks').where(inScope(scope))
  const seal = (id: string, secret: string) => ({
    secret: sealer.seal(secret, id),
    keyId: sealer.keyId,
  })
  const columns = ({ events, url, enabled, keysOf, secretNames }: Webhook) => ({
    url,
    enabled,
    keysOf,
    events: JSON.stringify(events),
    secretNames: JSON.stringify(secretNames),
  })
  const headers = (id: string, values: Webhook['customHeaders']) => {
    const none = Object.keys(values).length === 0
    return {
      customHeaders: JSON.stringify(maskedHeaders(values)),
      sealedHeaders: none ? null : sealer.seal(JSON.stringify(values), placeOfHeaders(id)),
      headersKeyId: none ? null : sealer.keyId,
    }
  }
  return {
    async insert(webhook, secret) {
      const { id, tenantId, name, revision, createdAt, updatedAt } = webhook
      await db
        .insertInto('webhooks')
        .values({
          ...columns(webhook),
          ...headers(id, webhook.customHeaders),
          id,
          tenantId,
          name,
          revision,
          createdAt,
          updatedAt,
          ...(secret === undefined ? { secret: null, keyId: null } : seal(id, secret)),
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
    async update(webhook, change, values) {
      const { id, revision } = webhook
      let query = db
        .updateTable('webhooks')
        .set({ ...columns(webhook), revision: revision + 1, updatedAt: now })
        .where(isRow(scope, { id }))
      if (values !== undefined) query = query.set(headers(id, values))
      if (change === 'none')
        query = query.set({ secret: null, previousSecret: null, previousSecretUntil: null, keyId: null })
      else if (change !== undefined) {
        // There is one key_id for both secrets, so a secret sealed under another key is dropped.
        const usable = sql<boolean>`key_id = ${sealer.keyId}`
        query = query
          .set({ previousSecret: sql`case when ${usable} then secret end` })
          .set({
            previousSecretUntil: sql`case when ${usable} then ${change.previousUntil}::timestamptz end`,
          })
          .set(seal(id, change.secret))
      }
      return query
        .returning(SHOWN)
        .returning(sql<boolean>`secret is not null`.as('hasSecret'))
        .executeTakeFirstOrThrow()
    },
    async sealHeaders(limit) {
      const rows = await mine()
        .where('sealedHeaders', 'is', null)
        .where(sql<boolean>`custom_headers <> '{}'::jsonb`)
        .select(['id', 'customHeaders'])
        .orderBy('id')
        .limit(limit)
        .forNoKeyUpdate()
        .execute()
      for (const { id, customHeaders } of rows)
        await db.updateTable('webhooks').set(headers(id, customHeaders)).where('id', '=', id).execute()
      return rows.length
    },
    async holds(id, { secret, headers: values }) {
      const row = await mine()
        .where('id', '=', id)
        .select(['secret', 'keyId', 'sealedHeaders', 'headersKeyId'])
        .executeTakeFirst()
      const unseal = (sealed: string | null | undefined, keyId: string | null | undefined, place: string) =>
        sealed != null && keyId === sealer.keyId ? tryOpen(sealer, sealed, place) : undefined
      const held = unseal(row?.sealedHeaders, row?.headersKeyId, placeOfHeaders(id))
      const kept = held === undefined ? {} : (JSON.parse(held) as Webhook['customHeaders'])
      return {
        secret: secret === undefined || unseal(row?.secret, row?.keyId, id) === secret,
        headers: Object.entries(values ?? {}).every(([name, value]) => kept[name] === value),
      }
    },
    async withholdKeys(id) {
      await db
        .updateTable('deliveries')
        .set({ sealedBody: null, keyId: null })
        .where('webhookId', '=', id)
        .where(inScope(scope))
        .execute()
    },
    async remove(id) {
      await db.deleteFrom('webhooks').where(isRow(scope, { id })).execute()
    },
    async countFailed(id) {
      return db
        .updateTable('webhooks')
        .set(row => ({ failedDeliveries: row('failedDeliveries', '+', 1) }))
        .where(isRow(scope, { id }))
        .returning(['name', 'url', 'failedDeliveries'])
        .executeTakeFirst()
    },
    async recover(id) {
      await db
        .updateTable('webhooks')
        .set({ failedDeliveries: 0 })
        .where(isRow(scope, { id }))
        // in most cases nothing is written, and no row is locked
        .where('failedDeliveries', '>', 0)
        .execute()
    },
    async setSlow(id, slow) {
      await db
        .updateTable('webhooks')
        .set({ slow })
        .where(isRow(scope, { id }))
        // in most cases nothing is written, and no row is locked
        .where('slow', '!=', slow)
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
        .where(eb =>
          eb.or([
            eb.and([eb('secret', 'is not', null), eb('keyId', '!=', sealer.keyId)]),
            eb('headersKeyId', '!=', sealer.keyId),
          ]),
        )
        .select(sql<number>`count(*)::int`.as('count'))
        .executeTakeFirstOrThrow()
      return row.count
    },
    async dropOldSecrets() {
      await db
        .updateTable('webhooks')
        .set({ previousSecret: null, previousSecretUntil: null })
        .where('previousSecretUntil', '<=', now)
        .where(inScope(scope))
        .execute()
    },
  }
}
