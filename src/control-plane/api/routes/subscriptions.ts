/** Routes and schemas of subscriptions. The rules are in `service/subscriptions.ts`. */
import { SUBSCRIPTION_STATUSES, type Subscription } from '../../../model/subscription.ts'
import type { Transaction } from '../../store/store.ts'
import {
  type Endpoint,
  type EndpointResult,
  endpoint,
  type Subject,
  type SubjectQuestion,
} from '../http/endpoint.ts'
import { invalid } from '../http/problem.ts'
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
  shownOrNull,
  text,
  wordQuery,
} from '../schemas/fields.ts'
import { limits, showLimits } from '../schemas/plan.ts'
import { z } from '../schemas/zod.ts'
import {
  approveSubscription,
  findSubscription,
  requestSubscription,
  revokeSubscription,
} from '../services/subscriptions.ts'
import { requireWritable } from '../services/tenants.ts'
import { usageOf } from '../services/usage.ts'

const TAG = 'subscription'

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
    rate_limit: z
      .int()
      .nullable()
      .openapi({ description: 'Requests per minute, instead of those of the plan.' }),
    quota: z.int().nullable().openapi({ description: 'Requests per month, instead of those of the plan.' }),
    api_key: z.string().nullable().openapi({
      description: 'The whole key in the answer that makes it, its public part afterwards, null before.',
    }),
    expires_at: shownMoment.nullable(),
    approved_at: shownMoment.nullable(),
    revoked_at: shownMoment.nullable(),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Subscription')

const READ_ONLY = [
  'id',
  'tenant_id',
  'status',
  'reason',
  'rate_limit',
  'quota',
  'api_key',
  'approved_at',
  'revoked_at',
  'created_at',
  'updated_at',
]

const newSubscription = z
  .strictObject({
    api_id: text(100),
    plan: text(100).openapi({ example: 'silver' }),
    application: text(255).openapi({ example: 'shop-frontend' }),
    callback_url: httpUrl().nullable().default(null),
    ttl: life()
      .nullable()
      .default(null)
      .openapi({ ...LIFE, type: ['string', 'null'], description: 'Life from the approval on.' }),
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
  return {
    id: subscription.id,
    tenant_id: subscription.tenantId,
    api_id: subscription.apiId,
    plan: subscription.plan,
    application: subscription.application,
    callback_url: subscription.callbackUrl,
    status: subscription.status,
    reason: subscription.reason,
    rate_limit: subscription.rateLimit,
    quota: subscription.quota,
    api_key: apiKey,
    expires_at: shownOrNull(subscription.expiresAt),
    approved_at: shownOrNull(subscription.approvedAt),
    revoked_at: shownOrNull(subscription.revokedAt),
    created_at: subscription.createdAt.toISOString(),
    updated_at: subscription.updatedAt.toISOString(),
  }
}

/** One subscription with the public part of its key, or with the whole key that was just made. */
async function shown(
  tx: Transaction,
  status: 200 | 201,
  subscription: Subscription,
  key?: string,
): Promise<EndpointResult> {
  const prefix = key ?? (await tx.keys.prefixesOf([subscription.id])).get(subscription.id) ?? null
  const response = { status, body: show(subscription, prefix), revision: subscription.revision }
  return key === undefined ? response : { ...response, secret: true }
}

async function list(
  tx: Transaction,
  filter: Parameters<Transaction['subscriptions']['list']>[0],
  page: { page: number; limit: number },
): Promise<EndpointResult> {
  const { items, total } = await tx.subscriptions.list(filter, page)
  const prefixes = await tx.keys.prefixesOf(items.map(item => item.id))
  const shownItems = items.map(item => show(item, prefixes.get(item.id) ?? null))
  return { status: 200, body: envelope({ items: shownItems, total }, page) }
}

/** A new subscription belongs to the application that the body names; a body without one is refused when it is validated. */
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
  api_id: text(100).optional(),
  plan: text(100).optional(),
  application: text(255).optional(),
}
const shownList = listOf(shownSubscription, 'SubscriptionList')
const ONE = '/tenants/{tenant_id}/subscriptions/{subscription_id}'

export const subscriptionEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'post',
    path: '/tenants/{tenant_id}/subscriptions',
    tag: TAG,
    id: 'createSubscription',
    summary: 'Ask for a subscription to an API',
    action: 'control.subscriptions.create',
    reach: 'path',
    body: newSubscription,
    readOnly: READ_ONLY,
    success: {
      status: 201,
      description: 'The subscription, waiting for approval where its plan asks for it',
      schema: shownSubscription,
    },
    subject: requestedBy,
    async run({ tx, tenant, body }) {
      requireWritable(tenant!)
      if (body.ttl !== null && body.expires_at !== null) {
        throw invalid([{ field: 'ttl', message: 'and expires_at exclude each other.' }])
      }
      const { subscription, key } = await requestSubscription(tx, tenant!.id, {
        apiId: body.api_id,
        plan: body.plan,
        application: body.application,
        callbackUrl: body.callback_url,
        ttlSeconds: body.ttl,
        expiresAt: body.expires_at === null ? null : new Date(body.expires_at),
      })
      const location = `/tenants/${tenant!.id}/subscriptions/${subscription.id}`
      return { ...(await shown(tx, 201, subscription, key)), location }
    },
  }),
  endpoint({
    method: 'get',
    path: '/tenants/{tenant_id}/subscriptions',
    tag: TAG,
    id: 'listTenantSubscriptions',
    summary: 'List the subscriptions of a tenant',
    action: 'control.subscriptions.list',
    reach: 'path',
    query: z.object(filters),
    narrowable: true,
    success: { status: 200, description: 'A page of subscriptions', schema: shownList },
    run: ({ tx, query, onlyApplication }) =>
      list(tx, { ...query, apiId: query.api_id, onlyApplication }, query),
  }),
  endpoint({
    method: 'get',
    path: ONE,
    tag: TAG,
    id: 'readSubscription',
    summary: 'Read a subscription',
    action: 'control.subscriptions.read',
    reach: 'path',
    success: { status: 200, description: 'The subscription', schema: shownSubscription },
    subject: ownedBy,
    run: async ({ tx, params }) => shown(tx, 200, await findSubscription(tx, params.subscription_id!)),
  }),
  endpoint({
    method: 'post',
    path: `${ONE}/approve`,
    tag: TAG,
    id: 'approveSubscription',
    summary: 'Approve a subscription; its first key is made and shown once',
    action: 'control.subscriptions.approve',
    reach: 'path',
    body: approval,
    bodyOptional: true,
    success: {
      status: 200,
      description: 'The subscription, with its key when one was made',
      schema: shownSubscription,
    },
    async run({ tx, tenant, params, body }) {
      requireWritable(tenant!)
      const pending = await findSubscription(tx, params.subscription_id!, 'lock')
      const { subscription, key } = await approveSubscription(tx, pending, {
        rateLimit: body.rate_limit,
        quota: body.quota,
      })
      return shown(tx, 200, subscription, key)
    },
  }),
  endpoint({
    method: 'delete',
    path: ONE,
    tag: TAG,
    id: 'revokeSubscription',
    summary: 'Revoke a subscription and its keys, for good',
    action: 'control.subscriptions.revoke',
    reach: 'path',
    query: z.object({ reason: text(500).optional() }),
    body: z.strictObject({ reason: text(500).optional() }).openapi('Revocation'),
    bodyOptional: true,
    success: { status: 204, description: 'The subscription is revoked' },
    subject: ownedBy,
    async run({ tx, params, query, body }) {
      const subscription = await findSubscription(tx, params.subscription_id!, 'lock')
      await revokeSubscription(tx, subscription, body.reason ?? query.reason ?? null)
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'get',
    path: `${ONE}/usage`,
    tag: TAG,
    id: 'readUsage',
    summary: 'Read what a subscription has used in the current month',
    action: 'control.usage.read',
    reach: 'path',
    success: { status: 200, description: 'The usage', schema: shownUsage },
    subject: ownedBy,
    async run({ tx, params }) {
      const subscription = await findSubscription(tx, params.subscription_id!)
      const usage = await usageOf(tx, subscription)
      const window = ({ resetsAt, ...rest }: typeof usage.daily) => ({
        ...rest,
        resets_at: resetsAt.toISOString(),
      })
      return {
        status: 200,
        body: {
          subscription_id: subscription.id,
          plan: subscription.plan,
          period_start: usage.periodStart.toISOString(),
          period_end: usage.periodEnd.toISOString(),
          requests: usage.requests,
          errors: usage.errors,
          limits: showLimits(usage.limits),
          daily: window(usage.daily),
          monthly: window(usage.monthly),
          last_request_at: shownOrNull(usage.lastRequestAt),
        },
      }
    },
  }),
  endpoint({
    method: 'get',
    path: '/subscriptions',
    tag: TAG,
    id: 'listSubscriptions',
    summary: 'Export the subscriptions of all tenants the caller acts for',
    action: 'control.subscriptions.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: text(100).optional() }),
    narrowable: true,
    success: { status: 200, description: 'A page of subscriptions', schema: shownList },
    run: ({ tx, query, onlyApplication }) =>
      list(tx, { ...query, apiId: query.api_id, tenantId: query.tenant_id, onlyApplication }, query),
  }),
]
