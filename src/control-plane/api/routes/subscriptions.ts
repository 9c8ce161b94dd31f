/** Routes and schemas of subscriptions and their usage. The rules are in `services/subscriptions.ts`. */
import { SUBSCRIPTION_STATUSES, type Subscription } from '../../../model/subscription.ts'
import type { PageRequest, SubscriptionFilter } from '../../store/repositories.ts'
import type { Transaction } from '../../store/store.ts'
import {
  type Endpoint,
  type EndpointResult,
  type Subject,
  type SubjectQuestion,
  tagged,
} from '../http/endpoint.ts'
import { invalidField } from '../http/problem.ts'
import {
  count,
  envelope,
  httpUrl,
  LIFE,
  life,
  listOf,
  moment,
  pageQuery,
  q,
  shownId,
  shownMoment,
  textField,
  wordQuery,
} from '../schemas/fields.ts'
import { limits, showLimits } from '../schemas/plan.ts'
import { camelCased, fieldNames, present } from '../schemas/present.ts'
import { z } from '../schemas/zod.ts'
import {
  approveSubscription,
  findSubscription,
  requestSubscription,
  revokeSubscription,
} from '../services/subscriptions.ts'
import { currentUsage } from '../services/usage.ts'

const endpoint = tagged('subscription')

const shownSubscription = z
  .object({
    id: shownId('sub'),
    tenant_id: shownId('ten'),
    api_id: shownId('api'),
    plan: z.string(),
    application: z.string(),
    callback_url: z.string().nullable(),
    status: z.enum(SUBSCRIPTION_STATUSES),
    reason: z.string().nullable(),
    rate_limit: z.int().nullable().openapi({ description: 'Requests per minute; overrides the plan.' }),
    quota: z.int().nullable().openapi({ description: 'Requests per month; overrides the plan.' }),
    api_key: z.string().nullable().openapi({
      description:
        'The whole key in the response that creates it, afterwards its public prefix, before null.',
    }),
    expires_at: shownMoment.nullable(),
    approved_at: shownMoment.nullable(),
    revoked_at: shownMoment.nullable(),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Subscription')

const newSubscription = z
  .strictObject({
    api_id: textField(100),
    plan: textField(100).openapi({ example: 'silver' }),
    application: textField(255).openapi({ example: 'shop-frontend' }),
    callback_url: httpUrl().nullable().default(null),
    ttl: life()
      .nullable()
      .default(null)
      .openapi({ ...LIFE, type: ['string', 'null'], description: 'Lifetime, counted from the approval.' }),
    expires_at: moment().nullable().default(null),
  })
  .openapi('NewSubscription')

const approval = z
  .strictObject({
    rate_limit: count(1).optional().openapi({ description: 'Requests per minute.' }),
    quota: count(1).optional().openapi({ description: 'Requests per month.' }),
  })
  .openapi('Approval')

const usageWindow = z.object({
  count: z.int(),
  limit: z.int().nullable(),
  remaining: z.int().nullable(),
  resets_at: shownMoment,
})

const shownUsage = z
  .object({
    subscription_id: shownId('sub'),
    plan: z.string(),
    period_start: shownMoment,
    period_end: shownMoment,
    requests: z.int(),
    errors: z.int(),
    limits: z.object(limits),
    daily: usageWindow,
    monthly: usageWindow,
    last_request_at: shownMoment.nullable(),
  })
  .openapi('Usage')

function show(subscription: Subscription, apiKey: string | null) {
  return present(shownSubscription, { ...subscription, apiKey })
}

/** One subscription with the prefix of its key, or with the whole key that was just created. */
async function shown(tx: Transaction, subscription: Subscription, key?: string): Promise<EndpointResult> {
  const apiKey = key ?? (await tx.keys.prefixesOf([subscription.id])).get(subscription.id) ?? null
  const result = { body: show(subscription, apiKey), revision: subscription.revision }
  return key === undefined ? result : { ...result, secret: true }
}

async function list(tx: Transaction, filter: SubscriptionFilter, page: PageRequest): Promise<EndpointResult> {
  const found = await tx.subscriptions.list(filter, page)
  const prefixes = await tx.keys.prefixesOf(found.items.map(item => item.id))
  return { body: envelope(found, page, item => show(item, prefixes.get(item.id) ?? null)) }
}

/** A new subscription belongs to the application in the body. A body without an application is refused by validation. */
async function requestedBy({ rawBody, principal }: SubjectQuestion): Promise<Subject> {
  const application = (rawBody as { application?: unknown } | null | undefined)?.application
  return { own: typeof application !== 'string' || application === principal.consumer }
}

/** A subscription belongs to its application. */
async function ownedBy({ tx, params, principal }: SubjectQuestion): Promise<Subject> {
  const subscription = await tx.subscriptions.find(params.subscription_id!)
  return { own: subscription?.application === principal.consumer }
}

const filters = {
  ...pageQuery,
  q,
  status: wordQuery(SUBSCRIPTION_STATUSES),
  api_id: textField(100).optional(),
  plan: textField(100).optional(),
  application: textField(255).optional(),
}
const shownList = listOf(shownSubscription, 'SubscriptionList')
const ONE = '/tenants/{tenant_id}/subscriptions/{subscription_id}'

export const subscriptionEndpoints: readonly Endpoint[] = [
  endpoint('createSubscription', 'post', '/tenants/{tenant_id}/subscriptions', {
    summary: 'Request a subscription to an API',
    action: 'control.subscriptions.create',
    body: newSubscription,
    readOnly: fieldNames(shownSubscription),
    success: {
      description: 'The subscription, pending when its plan requires approval',
      schema: shownSubscription,
    },
    subject: requestedBy,
    async run({ tx, tenant, body }) {
      if (body.ttl !== null && body.expires_at !== null) {
        throw invalidField('ttl', 'must be absent when expires_at is given.')
      }
      const expiresAt = body.expires_at === null ? null : new Date(body.expires_at)
      const { ttl: ttlSeconds, ...fields } = camelCased(body)
      const request = { ...fields, ttlSeconds, expiresAt }
      const { subscription, key } = await requestSubscription(tx, tenant!.id, request)
      const location = `/tenants/${tenant!.id}/subscriptions/${subscription.id}`
      return { ...(await shown(tx, subscription, key)), location }
    },
  }),
  endpoint('listTenantSubscriptions', 'get', '/tenants/{tenant_id}/subscriptions', {
    summary: 'List the subscriptions of a tenant',
    action: 'control.subscriptions.list',
    query: z.object(filters),
    narrowable: true,
    success: { description: 'A page of subscriptions', schema: shownList },
    run: ({ tx, query, onlyApplication }) => list(tx, { ...camelCased(query), onlyApplication }, query),
  }),
  endpoint('readSubscription', 'get', ONE, {
    summary: 'Read a subscription',
    action: 'control.subscriptions.read',
    success: { description: 'The subscription', schema: shownSubscription },
    subject: ownedBy,
    run: async ({ tx, params }) => shown(tx, await findSubscription(tx, params.subscription_id!)),
  }),
  endpoint('approveSubscription', 'post', `${ONE}/approve`, {
    summary: 'Approve a subscription; its first key is created and shown once',
    action: 'control.subscriptions.approve',
    body: approval,
    bodyOptional: true,
    success: {
      status: 200,
      description: 'The subscription, with its key when one was created',
      schema: shownSubscription,
    },
    async run({ tx, params, body }) {
      const pending = await findSubscription(tx, params.subscription_id!, 'lock')
      const { subscription, key } = await approveSubscription(tx, pending, camelCased(body))
      return shown(tx, subscription, key)
    },
  }),
  endpoint('revokeSubscription', 'delete', ONE, {
    summary: 'Revoke a subscription and its keys permanently',
    action: 'control.subscriptions.revoke',
    query: z.object({ reason: textField(500).optional() }),
    body: z.strictObject({ reason: textField(500).optional() }).openapi('Revocation'),
    bodyOptional: true,
    success: { description: 'The subscription is revoked' },
    subject: ownedBy,
    async run({ tx, params, query, body }) {
      const subscription = await findSubscription(tx, params.subscription_id!, 'lock')
      await revokeSubscription(tx, subscription, body.reason ?? query.reason ?? null)
    },
  }),
  endpoint('readUsage', 'get', `${ONE}/usage`, {
    summary: 'Read the usage of a subscription in the current month',
    action: 'control.usage.read',
    success: { description: 'The usage', schema: shownUsage },
    subject: ownedBy,
    async run({ tx, params }) {
      const subscription = await findSubscription(tx, params.subscription_id!)
      const { daily, monthly, limits, ...usage } = await currentUsage(tx, subscription)
      const body = present(shownUsage, {
        ...usage,
        subscriptionId: subscription.id,
        plan: subscription.plan,
        limits: showLimits(limits),
        daily: present(usageWindow, daily),
        monthly: present(usageWindow, monthly),
      })
      return { body }
    },
  }),
  endpoint('listSubscriptions', 'get', '/subscriptions', {
    summary: 'List the subscriptions of all tenants the caller acts for',
    action: 'control.subscriptions.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: textField(100).optional() }),
    narrowable: true,
    success: { description: 'A page of subscriptions', schema: shownList },
    run: ({ tx, query, onlyApplication }) => list(tx, { ...camelCased(query), onlyApplication }, query),
  }),
]
