/** Routes and schemas of API keys. `services/api-keys.ts` creates, rotates and revokes the keys. */
import { API_KEY_STATUSES, type ApiKey, keyStatus } from '../../../model/api-key.ts'
import { count, moment, textField } from '../../../model/schema/fields.ts'
import { camelCased, toWire } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import { applicationOf } from '../../../model/subscription.ts'
import {
  type Endpoint,
  type EndpointResult,
  endpointsTagged,
  type Subject,
  type SubjectQuestion,
} from '../http/endpoint.ts'
import {
  envelope,
  fieldNames,
  listOf,
  pageQuery,
  q,
  shownId,
  shownMoment,
  sortQuery,
  wordQuery,
} from '../schemas/fields.ts'
import { createKey, type IssuedKey, revokeOne, rotate } from '../services/api-keys.ts'
import { subjectOfSubscription } from './subscription-subject.ts'

const endpoint = endpointsTagged('API key')
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
      .openapi({ description: 'The previous key is valid until this time; null: no previous key is valid.' }),
    last_used_at: shownMoment.nullable(),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('ApiKey')

const issuedKey = shownKey
  .extend({
    key: z.string().openapi({
      description:
        'The whole key. Other responses contain only its prefix. For 24 hours, a repetition of this request with the same `Idempotency-Key` gets this response again.',
    }),
  })
  .openapi('IssuedApiKey')

const newKey = z
  .strictObject({
    subscription_id: textField(100),
    name: textField(100).openapi({ example: 'ci' }),
    expires_at: moment().nullable().default(null),
  })
  .openapi('NewApiKey')

const rotation = z
  .strictObject({ grace_period_hours: count(0, MAX_GRACE_HOURS).default(24) })
  .openapi('KeyRotation')

function show(key: ApiKey, now: Date) {
  const status = keyStatus(key, now)
  const previousKeyExpiresAt = status === 'rotating' ? key.previousExpiresAt : null
  return toWire(shownKey, { ...key, status, previousKeyExpiresAt })
}

function issued({ record, key }: IssuedKey, now: Date): EndpointResult {
  return { body: { ...show(record, now), key }, secret: true }
}

/** A key belongs to the application of its subscription. */
async function ownedBy(question: SubjectQuestion): Promise<Subject> {
  const { tx, params } = question
  const key = await tx.keys.find(params.key_id!)
  const subscription = key === undefined ? undefined : await tx.subscriptions.find(key.subscriptionId)
  return subjectOfSubscription(subscription, question)
}

/** A new key belongs to the application of its subscription, too. A body without a subscription is refused by validation. */
async function requestedBy(question: SubjectQuestion): Promise<Subject> {
  const { tx, rawBody } = question
  const id = (rawBody as { subscription_id?: unknown } | null | undefined)?.subscription_id
  if (typeof id !== 'string') return { own: true }
  // PostgreSQL text holds no NUL: no row has such an id, and the query would fail.
  const subscription = id.includes('\0') ? undefined : await tx.subscriptions.find(id)
  return subjectOfSubscription(subscription, question)
}

/** A tenant with subscriptions to the shared APIs of another one sees their keys, and no others. */
async function listedBy({ tx, guest }: SubjectQuestion): Promise<Subject> {
  if (guest === undefined) return {}
  const held = await tx.subscriptions.list({ subscriberTenantId: guest.id }, { page: 1, limit: 1 })
  return held.total === 0 ? {} : { tenant: guest.name }
}

export const apiKeyEndpoints: readonly Endpoint[] = [
  endpoint('listApiKeys', 'get', '/tenants/{tenant_id}/apikeys', {
    summary: 'List the API keys of a tenant',
    action: 'control.apikeys.list',
    query: z.object({
      ...pageQuery,
      sort: sortQuery('name', 'last_used_at', 'updated_at'),
      q,
      status: wordQuery(API_KEY_STATUSES),
      subscription_id: textField(100).optional(),
    }),
    narrowable: true,
    success: { description: 'A page of API keys', schema: listOf(shownKey, 'ApiKeyList') },
    subject: listedBy,
    async run({ tx, query, guest, onlyApplication: own }) {
      const onlyApplication = guest === undefined || own === undefined ? own : applicationOf(guest.name, own)
      const filter = { ...camelCased(query), onlyApplication, subscriberTenantId: guest?.id }
      return { body: envelope(await tx.keys.list(filter, query), query, key => show(key, tx.now)) }
    },
  }),
  endpoint('createApiKey', 'post', '/tenants/{tenant_id}/apikeys', {
    summary: 'Create an API key for an approved subscription',
    action: 'control.apikeys.create',
    body: newKey,
    readOnly: fieldNames(issuedKey),
    success: { description: 'The API key; only this response contains the whole key', schema: issuedKey },
    subject: requestedBy,
    async run({ tx, body }) {
      const expiresAt = body.expires_at === null ? null : new Date(body.expires_at)
      return issued(await createKey(tx, body.subscription_id, body.name, expiresAt), tx.now)
    },
  }),
  endpoint('rotateApiKey', 'post', '/tenants/{tenant_id}/apikeys/{key_id}/rotate', {
    summary: 'Replace an API key; the previous key stays valid for the grace period',
    action: 'control.apikeys.rotate',
    body: rotation,
    bodyOptional: true,
    success: { description: 'The new API key; only this response contains the whole key', schema: issuedKey },
    subject: ownedBy,
    async run({ tx, params, body }) {
      return issued(await rotate(tx, params.key_id!, body.grace_period_hours * HOUR_MS), tx.now)
    },
  }),
  endpoint('revokeApiKey', 'delete', '/tenants/{tenant_id}/apikeys/{key_id}', {
    summary: 'Revoke an API key permanently',
    action: 'control.apikeys.revoke',
    success: { description: 'The API key is revoked' },
    subject: ownedBy,
    run: ({ tx, params }) => revokeOne(tx, params.key_id!),
  }),
]
