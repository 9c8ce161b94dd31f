/** Finds the webhooks for the events of a transaction, and writes their deliveries in that transaction. */
import { sql } from 'kysely'
import type { WebhookEventKind } from '../../../model/event.ts'
import { newId } from '../../../model/id.ts'
import { EVERY_EVENT } from '../../../model/schema/webhook.ts'
import { EVERY_APPLICATION, isoMicroseconds, isWebhookEvent, messageBody } from '../../../model/webhook.ts'
import type { SqlSession } from './session.ts'

/** Stands for a confidential value in the stored body. */
const REDACTED = '[redacted]'

interface Receiver {
  readonly id: string
  readonly tenantId: string
  readonly url: string
  readonly events: readonly string[]
  /** Key of the webhook's secret; null when it has none. */
  readonly keyId: string | null
  /** The application whose keys it may receive; `EVERY_APPLICATION`: any; null: none. */
  readonly keysOf: string | null
}

/**
 * The enabled webhooks of the tenants of the pending events. They are locked against deletion until the commit, so that no delivery is
 * written for a deleted one.
 */
export async function receiversOf({ db, pendingEvents }: SqlSession): Promise<readonly Receiver[]> {
  const tenants = new Set<string>()
  for (const { kind, tenantId } of pendingEvents) {
    if (tenantId !== null && isWebhookEvent(kind)) tenants.add(tenantId)
  }
  if (tenants.size === 0) return []
  return db
    .selectFrom('webhooks')
    .where('tenantId', 'in', [...tenants])
    .where('enabled', '=', true)
    .select(['id', 'tenantId', 'url', 'events', 'keysOf'])
    .select(sql<string | null>`case when secret is not null then key_id end`.as('keyId'))
    .orderBy('id')
    .forKeyShare()
    .execute()
}

/** @param firstMicrosecond timestamp of the first pending event; each following event has the next one */
export async function fanOut(
  session: SqlSession,
  receivers: readonly Receiver[],
  firstMicrosecond: number,
): Promise<void> {
  const { db, now, pendingEvents } = session
  const rows = pendingEvents.flatMap((event, index) => {
    const { kind } = event
    if (!isWebhookEvent(kind)) return []
    const timestamp = isoMicroseconds(firstMicrosecond + index)
    // the notice of a failing webhook would fail there, too
    const failing =
      kind === 'webhook.failing' ? receivers.find(({ id }) => id === event.resourceId) : undefined
    return receivers
      .filter(receiver => receiver.tenantId === event.tenantId && wants(receiver, kind))
      .filter(({ url }) => url !== failing?.url)
      .map(receiver => ({
        id: newId('delivery', now.getTime()),
        tenant_id: receiver.tenantId,
        webhook_id: receiver.id,
        event: kind,
        ...bodyFor(session, receiver, { kind, timestamp, data: event.data, once: event.once }),
      }))
  })
  if (rows.length === 0) return
  await sql`insert into deliveries
      (id, tenant_id, webhook_id, event, test, body, sealed_body, key_id, status, attempt, next_attempt_at, created_at, updated_at)
    select id, tenant_id, webhook_id, event, false, body, sealed_body, key_id, 'pending', 0, ${now}::timestamptz,
      ${now}::timestamptz, ${now}::timestamptz
    from json_to_recordset(${JSON.stringify(rows)}::json)
      as r (id text, tenant_id text, webhook_id text, event text, body text, sealed_body text, key_id text)`.execute(
    db,
  )
}

function wants(receiver: Receiver, kind: WebhookEventKind): boolean {
  return receiver.events.includes(EVERY_EVENT) || receiver.events.includes(kind)
}

interface MessageFields {
  readonly kind: WebhookEventKind
  readonly timestamp: string
  readonly data: SqlSession['pendingEvents'][number]['data']
  readonly once: SqlSession['pendingEvents'][number]['once']
}

/**
 * The body as it is stored. Confidential values appear in the sealed body only, and in none when the webhook's secret is sealed under
 * another key than this instance has: no instance could decrypt both. A webhook of another application does not get them at all.
 */
function bodyFor(
  { sealer }: SqlSession,
  { id, keyId, keysOf }: Receiver,
  { kind, timestamp, data, once }: MessageFields,
) {
  const message = { event: kind, timestamp, webhookId: id, test: false }
  const canSeal = sealer.keyId !== '' && (keyId === null || keyId === sealer.keyId)
  if (once === undefined || !canSeal || (keysOf !== EVERY_APPLICATION && keysOf !== once.application)) {
    return { body: messageBody({ ...message, data }), sealed_body: null, key_id: null }
  }
  const masked = Object.fromEntries(Object.keys(once.data).map(name => [name, REDACTED]))
  return {
    body: messageBody({ ...message, data: { ...data, ...masked } }),
    sealed_body: sealer.seal(
      JSON.stringify([
        messageBody({ ...message, data: { ...data, ...once.data } }),
        Object.values(once.data),
      ]),
      id,
    ),
    key_id: sealer.keyId,
  }
}
