/** Routes and schemas of API keys. The rules are in `service/api-keys.ts`; only the answers that make a key show it. */
import { API_KEY_STATUSES, type ApiKey, keyStatus } from '../../../model/api-key.ts'
import {
  type Endpoint,
  type EndpointResult,
  endpoint,
  type Subject,
  type SubjectQuestion,
} from '../http/endpoint.ts'
import {
  count,
  envelope,
  listOf,
  moment,
  pageQuery,
  q,
  shownId,
  shownMoment,
  shownOrNull,
  text,
  wordQuery,
} from '../schemas/fields.ts'
import { z } from '../schemas/zod.ts'
import { createKey, type IssuedKey, revokeOne, rotate } from '../services/api-keys.ts'
import { requireWritable } from '../services/tenants.ts'

const TAG = 'API key'
const MAX_GRACE_HOURS = 168
const HOUR_MS = 3_600_000

const shownKey = z
  .object({
    id: shownId('key'),
    subscription_id: shownId('sub'),
    name: z.string(),
    prefix: z.string().openapi({ example: 'tgk_4fK0aZ9q' }),
    status: z.enum(API_KEY_STATUSES),
    expires_at: shownMoment.nullable(),
    previous_key_expires_at: shownMoment
      .nullable()
      .openapi({ description: 'Until then the key before the last rotation works too.' }),
    last_used_at: shownMoment.nullable(),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('ApiKey')

const issuedKey = shownKey
  .extend({
    key: z.string().openapi({ description: 'The whole key. It is shown this once and stored nowhere.' }),
  })
  .openapi('IssuedApiKey')

const newKey = z
  .strictObject({
    subscription_id: text(100),
    name: text(100).openapi({ example: 'ci' }),
    expires_at: moment().nullable().default(null),
  })
  .openapi('NewApiKey')

const rotation = z
  .strictObject({ grace_period_hours: count(0, MAX_GRACE_HOURS).default(24) })
  .openapi('KeyRotation')

function show(key: ApiKey, now: Date) {
  const status = keyStatus(key, now)
  return {
    id: key.id,
    subscription_id: key.subscriptionId,
    name: key.name,
    prefix: key.prefix,
    status,
    expires_at: shownOrNull(key.expiresAt),
    previous_key_expires_at: status === 'rotating' ? shownOrNull(key.previousExpiresAt) : null,
    last_used_at: shownOrNull(key.lastUsedAt),
    created_at: key.createdAt.toISOString(),
    updated_at: key.updatedAt.toISOString(),
  }
}

function issued({ record, key }: IssuedKey, now: Date): EndpointResult {
  return { status: 201, body: { ...show(record, now), key }, secret: true }
}

/** A key belongs to the application of its subscription. */
async function ownedBy({ tx, params, principal }: SubjectQuestion): Promise<Subject> {
  const key = await tx.keys.find(params.key_id!)
  const subscription = key === undefined ? undefined : await tx.subscriptions.find(key.subscriptionId)
  return { own: subscription?.application === principal.consumer }
}

/** So does a new key; a body that names no subscription is refused when it is validated. */
async function requestedBy({ tx, rawBody, principal }: SubjectQuestion): Promise<Subject> {
  const id = (rawBody as { subscription_id?: unknown } | null | undefined)?.subscription_id
  if (typeof id !== 'string') return { own: true }
  // PostgreSQL text holds no NUL: no subscription has such an id, and the query would fail.
  const subscription = id.includes('\0') ? undefined : await tx.subscriptions.find(id)
  return { own: subscription?.application === principal.consumer }
}

export const apiKeyEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'get',
    path: '/tenants/{tenant_id}/apikeys',
    tag: TAG,
    id: 'listApiKeys',
    summary: 'List the API keys of a tenant',
    action: 'control.apikeys.list',
    reach: 'path',
    query: z.object({
      ...pageQuery,
      q,
      status: wordQuery(API_KEY_STATUSES),
      subscription_id: text(100).optional(),
    }),
    narrowable: true,
    success: { status: 200, description: 'A page of keys', schema: listOf(shownKey, 'ApiKeyList') },
    async run({ tx, query, onlyApplication }) {
      const filter = {
        q: query.q,
        status: query.status,
        subscriptionId: query.subscription_id,
        onlyApplication,
      }
      const { items, total } = await tx.keys.list(filter, query)
      const shown = items.map(key => show(key, tx.now))
      return { status: 200, body: envelope({ items: shown, total }, query) }
    },
  }),
  endpoint({
    method: 'post',
    path: '/tenants/{tenant_id}/apikeys',
    tag: TAG,
    id: 'createApiKey',
    summary: 'Make an API key for an approved subscription',
    action: 'control.apikeys.create',
    reach: 'path',
    body: newKey,
    readOnly: ['id', 'prefix', 'status', 'key', 'last_used_at', 'created_at', 'updated_at'],
    success: { status: 201, description: 'The key, shown once', schema: issuedKey },
    subject: requestedBy,
    async run({ tx, tenant, body }) {
      requireWritable(tenant!)
      const expiresAt = body.expires_at === null ? null : new Date(body.expires_at)
      return issued(await createKey(tx, body.subscription_id, body.name, expiresAt), tx.now)
    },
  }),
  endpoint({
    method: 'post',
    path: '/tenants/{tenant_id}/apikeys/{key_id}/rotate',
    tag: TAG,
    id: 'rotateApiKey',
    summary: 'Replace a key; the old one works on for the grace period',
    action: 'control.apikeys.rotate',
    reach: 'path',
    body: rotation,
    bodyOptional: true,
    success: { status: 201, description: 'The new key, shown once', schema: issuedKey },
    subject: ownedBy,
    async run({ tx, tenant, params, body }) {
      requireWritable(tenant!)
      return issued(await rotate(tx, params.key_id!, body.grace_period_hours * HOUR_MS), tx.now)
    },
  }),
  endpoint({
    method: 'delete',
    path: '/tenants/{tenant_id}/apikeys/{key_id}',
    tag: TAG,
    id: 'revokeApiKey',
    summary: 'Revoke a key, for good',
    action: 'control.apikeys.revoke',
    reach: 'path',
    success: { status: 204, description: 'The key is revoked' },
    subject: ownedBy,
    async run({ tx, params }) {
      await revokeOne(tx, params.key_id!)
      return { status: 204 }
    },
  }),
]
