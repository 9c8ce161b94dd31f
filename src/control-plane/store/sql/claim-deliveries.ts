/** Claims due deliveries under a lease, within the bounds given, and decrypts their contents. */
import { sql, type Transaction as Trx } from 'kysely'
import { tryOpen } from '../../../base/secrets/sealer.ts'
import type { ClaimBounds, ClaimedDelivery } from '../webhook-repositories.ts'
import type { SqlSession } from './session.ts'
import type { Tables } from './tables.ts'
import { placeOfHeaders } from './webhooks.ts'

interface Candidate {
  readonly id: string
  /** Deliveries of the tenant that run. */
  readonly tenantRunning: number
  readonly slow: boolean
  /** For deliveries of the tenant, to slow receivers or to the others. */
  readonly places: number
}

interface Row extends Omit<ClaimedDelivery, 'confidential' | 'secrets' | 'unreadable'> {
  readonly sealedBody: string | null
  readonly secret: string | null
  readonly previousSecret: string | null
  readonly sealedHeaders: string | null
}

/**
 * Two statements after `anyDue`: the first locks webhooks, so that no other instance adds a lease while the second, which sees earlier commits, counts
 * them. Leases use the clock of the database, which all instances share and no test moves.
 */
export async function claimDeliveries(
  { db, now, sealer }: SqlSession,
  bounds: ClaimBounds,
): Promise<readonly ClaimedDelivery[]> {
  if (!(await anyDue(db, now))) return []
  const candidates = await lockWebhooks(db, now, bounds, sealer.keyId)
  if (candidates.length === 0) return []
  const rows = await lease(db, now, bounds, sealer.keyId, candidates)
  return rows.map(row => openDelivery(row, sealer))
}

/** In most cases no delivery is due; this check costs a quarter of the query for candidates. */
async function anyDue(db: Trx<Tables>, now: Date): Promise<boolean> {
  const found = await sql<{ due: boolean }>`
    select exists (
      select from deliveries where status = 'pending' and next_attempt_at <= ${now}::timestamptz
        and (leased_until is null or leased_until <= statement_timestamp())) as due`.execute(db)
  return found.rows[0]!.due
}

/**
 * Steps from webhook to webhook through the index of pending deliveries (a loose index scan): the cost does not depend on the length
 * of a webhook's queue. A delivery that runs for long takes no place of the quick ones, and its webhook gets no further one meanwhile; webhooks
 * whose last attempt was slow have places apart. Deliveries of a suspended tenant stay pending. Webhooks without a secret have a `key_id` where an earlier version has
 * removed the secret.
 */
async function lockWebhooks(
  db: Trx<Tables>,
  now: Date,
  { perWebhook, perTenant, quickPerTenant, slowPerTenant, slowAfterMs, leaseMs, slots }: ClaimBounds,
  keyId: string,
): Promise<readonly Candidate[]> {
  const found = await sql<Candidate>`
    with recursive waiting (webhook_id) as (
      (select webhook_id from deliveries where status = 'pending' order by webhook_id limit 1)
      union all
      select (
        select d.webhook_id from deliveries d
        where d.status = 'pending' and d.webhook_id > w.webhook_id order by d.webhook_id limit 1)
      from waiting w where w.webhook_id is not null
    ),
    running as materialized (
      select d.webhook_id, d.tenant_id, w.slow, count(*)::int as n,
        (count(*) filter (where d.leased_until <= statement_timestamp() + ${leaseMs - slowAfterMs}::double precision * interval '1 millisecond'))::int as late
      from deliveries d join webhooks w on w.id = d.webhook_id
      where d.status = 'pending' and d.leased_until > statement_timestamp() group by d.webhook_id, d.tenant_id, w.slow
    ),
    busy as (
      select tenant_id, sum(n)::int as n, coalesce(sum(n) filter (where slow), 0)::int as slow,
        coalesce(sum(n - late) filter (where not slow), 0)::int as quick
      from running group by tenant_id
    ),
    due as (
      select w.id, w.slow, first.next_attempt_at as since, coalesce(b.n, 0) as tenant_running,
        least(${perTenant} - coalesce(b.n, 0),
          case when w.slow then ${slowPerTenant} - coalesce(b.slow, 0) else ${quickPerTenant} - coalesce(b.quick, 0) end) as places,
        row_number() over (partition by w.tenant_id, w.slow order by first.next_attempt_at, w.id) as turn
      from waiting
      join webhooks w on w.id = waiting.webhook_id
      join tenants t on t.id = w.tenant_id and t.status <> 'suspended'
      cross join lateral (
        select d.next_attempt_at from deliveries d
        where d.webhook_id = w.id and d.status = 'pending' and d.next_attempt_at <= ${now}::timestamptz
          and (d.leased_until is null or d.leased_until <= statement_timestamp())
          and (d.key_id is null or d.key_id = ${keyId})
        order by d.next_attempt_at, d.id limit 1) first
      left join running r on r.webhook_id = w.id
      left join busy b on b.tenant_id = w.tenant_id
      where w.enabled and (w.secret is null or w.key_id = ${keyId})
        and (w.headers_key_id is null or w.headers_key_id = ${keyId})
        and coalesce(r.late, 0) = 0 and coalesce(r.n, 0) < case when w.slow then 1 else ${perWebhook} end
    )
    select w.id, due.tenant_running, due.slow, due.places from due join webhooks w on w.id = due.id
    where due.turn <= due.places
    order by due.tenant_running + due.turn, due.since, w.id
    limit ${slots}
    for no key update of w skip locked`.execute(db)
  return found.rows
}

async function lease(
  db: Trx<Tables>,
  now: Date,
  { perWebhook, slots, leaseMs, lease }: ClaimBounds,
  keyId: string,
  candidates: readonly Candidate[],
): Promise<readonly Row[]> {
  const claimed = await sql<Row>`
    with picked as (
      select d.id, d.tenant_id, d.next_attempt_at, d.turn, c.tenant_running, c.slow, c.places
      from unnest(${candidates.map(each => each.id)}::text[], ${candidates.map(each => each.tenantRunning)}::int[],
          ${candidates.map(each => each.slow)}::boolean[], ${candidates.map(each => each.places)}::int[])
        as c (webhook_id, tenant_running, slow, places)
      cross join lateral (
        select count(*)::int as n from deliveries r
        where r.webhook_id = c.webhook_id and r.status = 'pending' and r.leased_until > statement_timestamp()) running
      cross join lateral (
        select free.*, row_number() over (order by free.next_attempt_at, free.id) as turn from (
          select id, tenant_id, next_attempt_at from deliveries
          where webhook_id = c.webhook_id and status = 'pending' and next_attempt_at <= ${now}::timestamptz
            and (leased_until is null or leased_until <= statement_timestamp())
            and (key_id is null or key_id = ${keyId})
          order by next_attempt_at, id limit greatest(case when c.slow then 1 else ${perWebhook} end - running.n, 0)
          for update skip locked) free) d
    ),
    by_turns as (
      select id, tenant_running, places,
        row_number() over (partition by tenant_id, slow order by turn, next_attempt_at, id) as turn
      from picked
    ),
    chosen as (select id from by_turns where turn <= places order by tenant_running + turn, id limit ${slots})
    update deliveries d set lease = ${lease}, leased_until = statement_timestamp() + ${leaseMs}::double precision * interval '1 millisecond'
    from chosen, webhooks w
    where d.id = chosen.id and w.id = d.webhook_id
    returning d.id, d.attempt, d.event, d.test, d.webhook_id, d.tenant_id, d.body, d.sealed_body, w.url, w.custom_headers, w.sealed_headers, w.secret,
      case when w.previous_secret_until > ${now}::timestamptz then w.previous_secret end as previous_secret`.execute(
    db,
  )
  return claimed.rows
}

/** What cannot be decrypted, with the fix; `key_id` names the key of this instance, so the key is the right one. */
const UNREADABLE = {
  body: 'the encrypted body of this delivery cannot be decrypted, because its ciphertext was altered: rotate the API key that the body contains, and pass the new key to its user',
  headers:
    'the encrypted headers of the webhook cannot be decrypted, because their ciphertext was altered: set custom_headers of the webhook again, and retry failed deliveries',
  secret:
    'the encrypted secret of the webhook cannot be decrypted, because its ciphertext was altered: set a new secret of the webhook, and retry failed deliveries',
} as const

function openDelivery(row: Row, sealer: SqlSession['sealer']): ClaimedDelivery {
  const { sealedBody, sealedHeaders, secret, previousSecret, ...rest } = row
  const read = (sealed: string | null, place: string) =>
    sealed === null ? undefined : tryOpen(sealer, sealed, place)
  const texts = {
    body: read(sealedBody, row.webhookId),
    headers: read(sealedHeaders, placeOfHeaders(row.webhookId)),
    secret: read(secret, row.webhookId),
  }
  const sealed = { body: sealedBody, headers: sealedHeaders, secret }
  const parts = ['body', 'headers', 'secret'] as const
  const faults = parts.filter(part => sealed[part] !== null && texts[part] === undefined)
  if (faults.length > 0) {
    const unreadable = faults.map(part => UNREADABLE[part]).join('; ')
    return { ...rest, confidential: [], secrets: [], unreadable }
  }
  const [body, confidential] =
    texts.body === undefined ? [row.body, []] : (JSON.parse(texts.body) as [string, string[]])
  const customHeaders: ClaimedDelivery['customHeaders'] =
    texts.headers === undefined ? row.customHeaders : JSON.parse(texts.headers)
  // an altered previous secret is left out: a new secret is the fix of an altered one, which becomes the previous one
  const secrets = [texts.secret, read(previousSecret, row.webhookId)].filter(text => text !== undefined)
  return { ...rest, customHeaders, body, confidential, secrets, unreadable: undefined }
}
