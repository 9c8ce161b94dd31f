/** Routes of subscriptions and their usage. `services/subscriptions.ts` writes the changes of subscriptions. */
import { isSharedWith } from '../../../model/api.ts'
import { textField } from '../../../model/schema/fields.ts'
import { camelCased, toWire } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import {
  applicationOf,
  SUBSCRIPTION_STATUSES,
  type Subscription,
  type SubscriptionChange,
} from '../../../model/subscription.ts'
import type { PageRequest, SubscriptionFilter } from '../../store/repositories.ts'
import type { Transaction } from '../../store/store.ts'
import {
  type Endpoint,
  type EndpointResult,
  endpointsTagged,
  type Subject,
  type SubjectQuestion,
} from '../http/endpoint.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { invalidField, Problem } from '../http/problem.ts'
import { envelope, fieldNames, listOf, pageQuery, q, sortQuery, wordQuery } from '../schemas/fields.ts'
import { showLimits } from '../schemas/plan.ts'
import {
  approval,
  bulkApproval,
  newSubscription,
  rejection,
  shownSubscription,
  shownUsage,
  subscriptionPatch,
  suspension,
  usageWithoutLimits,
} from '../schemas/subscription.ts'
import {
  approveAll,
  approveSubscription,
  changeSubscription,
  findSubscription,
  rejectSubscription,
  requestSubscription,
  resumeSubscription,
  revokeSubscription,
  suspendSubscription,
} from '../services/subscriptions.ts'
import { currentUsage } from '../services/usage.ts'
import { subjectOfSubscription } from './subscription-subject.ts'

const endpoint = endpointsTagged('subscription')

/** Shows each of them with the prefix of its key, or with the whole key that was just created. */
async function showAll(
  tx: Transaction,
  subscriptions: readonly Subscription[],
  keys: ReadonlyMap<string, string> = new Map(),
) {
  const prefixes = await tx.keys.prefixesOf(subscriptions.map(({ id }) => id))
  const consumers = await tx.consumers.listNames(
    subscriptions.map(({ tenantId, application }) => ({ tenantId, subject: application })),
  )
  const applicationNames = new Map(
    consumers.map(({ tenantId, subject, name }) => [`${tenantId} ${subject}`, name]),
  )
  const names = await tx.subscriptions.namesOf(subscriptions)
  return subscriptions.map(subscription => {
    const { id, tenantId, application, apiId, productId } = subscription
    const apiKey = keys.get(id) ?? prefixes.get(id) ?? null
    const applicationName = applicationNames.get(`${tenantId} ${application}`) ?? application
    const apiName = names.get(apiId ?? '') ?? null
    const productName = names.get(productId ?? '') ?? null
    return toWire(shownSubscription, { ...subscription, applicationName, apiName, productName, apiKey })
  })
}

async function respond(tx: Transaction, subscription: Subscription, key?: string): Promise<EndpointResult> {
  const keys = new Map(key === undefined ? [] : [[subscription.id, key]])
  const [body] = await showAll(tx, [subscription], keys)
  const result = { body, revision: subscription.revision }
  return key === undefined ? result : { ...result, secret: true }
}

async function list(tx: Transaction, filter: SubscriptionFilter, page: PageRequest): Promise<EndpointResult> {
  const found = await tx.subscriptions.list(filter, page)
  const items = await showAll(tx, found.items)
  return { body: envelope({ ...found, items }, page, item => item) }
}

/**
 * A new subscription belongs to the application in the body, and to the caller's tenant where the API is shared with that. A body without
 * an application is refused by validation.
 */
async function requestedBy({ tx, rawBody, principal, guest }: SubjectQuestion): Promise<Subject> {
  const { application, api_id: id } = (rawBody ?? {}) as { application?: unknown; api_id?: unknown }
  const own = typeof application !== 'string' || application === principal.consumer
  if (guest === undefined || typeof id !== 'string' || id.includes('\0')) return { own }
  const api = await tx.apis.find(id)
  const isOffered = api?.portalVisibility === true && isSharedWith(api, guest.id)
  return isOffered ? { tenant: guest.name, own } : { own }
}

/** A subscription belongs to its application. */
async function ownedBy(question: SubjectQuestion): Promise<Subject> {
  return subjectOfSubscription(
    await question.tx.subscriptions.find(question.params.subscription_id!),
    question,
  )
}

/** A plan that needs approval is only requested by a caller who may not approve. */
async function planChange(
  tx: Transaction,
  { status }: Subscription,
  slug: string,
  mayApprove: () => Promise<void>,
): Promise<Pick<SubscriptionChange, 'plan' | 'requestedPlan'>> {
  const plan = await tx.plans.bySlug(slug)
  if (plan === undefined) throw invalidField('plan', 'must be the slug of a plan that exists.')
  if (!plan.requiresApproval || status === 'pending_approval') return { plan: slug }
  try {
    await mayApprove()
    return { plan: slug }
  } catch (error) {
    if (error instanceof Problem && error.code === 'forbidden') return { requestedPlan: slug }
    throw error
  }
}

/** @throws Problem validation_error unless it names either an API with a plan, or a product */
function requireTarget(body: z.output<typeof newSubscription>): void {
  if (body.api_id === null && body.product_id === null) throw invalidField('api_id', 'is required.')
  if (body.api_id !== null && body.product_id !== null)
    throw invalidField('product_id', 'must be absent when api_id is given.')
  if (body.api_id !== null && body.plan === undefined) throw invalidField('plan', 'is required.')
  if (body.product_id !== null && body.plan !== undefined)
    throw invalidField('plan', 'must be absent when product_id is given: the product sets the plan.')
}

const filters = {
  ...pageQuery,
  sort: sortQuery('application', 'updated_at', 'expires_at'),
  q,
  status: wordQuery(SUBSCRIPTION_STATUSES),
  api_id: textField(100).optional(),
  product_id: textField(100).optional(),
  plan: textField(100).optional(),
  application: textField(255).optional(),
}
const shownList = listOf(shownSubscription, 'SubscriptionList')
const ALL = '/tenants/{tenant_id}/subscriptions'
const ONE = `${ALL}/{subscription_id}`

export const subscriptionEndpoints: readonly Endpoint[] = [
  endpoint('createSubscription', 'post', '/tenants/{tenant_id}/subscriptions', {
    summary: 'Request a subscription to an API or a product',
    action: 'control.subscriptions.create',
    body: newSubscription,
    readOnly: fieldNames(shownSubscription),
    success: {
      description: 'The subscription; its status is `pending_approval` if its plan requires approval',
      schema: shownSubscription,
    },
    subject: requestedBy,
    async run({ tx, tenant, guest, principal, body }) {
      if (body.ttl !== null && body.expires_at !== null) {
        throw invalidField('ttl', 'must be absent when expires_at is given.')
      }
      requireTarget(body)
      const expiresAt = body.expires_at === null ? null : new Date(body.expires_at)
      const { ttl: ttlSeconds, application, ...fields } = camelCased(body)
      const subscriber = {
        subscriberTenantId: guest?.id ?? null,
        application: guest === undefined ? application : applicationOf(guest.name, application),
      }
      const applicationName = application === principal.consumer ? principal.name : undefined
      const request = { ...fields, ...subscriber, plan: body.plan, ttlSeconds, expiresAt, applicationName }
      const { subscription, key } = await requestSubscription(tx, tenant!.id, request)
      const location = `/tenants/${tenant!.id}/subscriptions/${subscription.id}`
      return { ...(await respond(tx, subscription, key)), location }
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
    run: async ({ tx, params }) => respond(tx, await findSubscription(tx, params.subscription_id!)),
  }),
  endpoint('approveSubscription', 'post', `${ONE}/approve`, {
    summary: 'Approve a pending subscription, or the requested plan of an approved or suspended subscription',
    action: 'control.subscriptions.approve',
    body: approval,
    bodyOptional: true,
    success: {
      status: 200,
      description: 'The subscription; `api_key` is the whole key if the approval created a key',
      schema: shownSubscription,
    },
    async run({ tx, params, body }) {
      const pending = await findSubscription(tx, params.subscription_id!, 'lock')
      const { subscription, key } = await approveSubscription(tx, pending, camelCased(body))
      return respond(tx, subscription, key)
    },
  }),
  endpoint('approveSubscriptions', 'post', `${ALL}/approve`, {
    summary: 'Approve several subscriptions in one transaction: all or none',
    action: 'control.subscriptions.approve',
    body: bulkApproval,
    bulk: true,
    success: {
      status: 200,
      description: 'The subscriptions; the `api_key` of each is the whole key if its approval created a key',
      schema: z.object({ items: z.array(shownSubscription) }).openapi('ApprovedSubscriptions'),
    },
    async run({ tx, body }) {
      const approved = await approveAll(tx, body.ids)
      const keys = new Map(
        approved.flatMap(({ subscription: { id }, key }) => (key === undefined ? [] : [[id, key]])),
      )
      const items = await showAll(
        tx,
        approved.map(({ subscription }) => subscription),
        keys,
      )
      return { body: { items }, secret: true }
    },
  }),
  endpoint('updateSubscription', 'patch', ONE, {
    summary: 'Change the plan, limits, expiry or metadata of a subscription; its keys stay valid',
    action: 'control.subscriptions.update',
    body: subscriptionPatch,
    readOnly: fieldNames(shownSubscription),
    preconditions: true,
    success: { description: 'The changed subscription', schema: shownSubscription },
    subject: ownedBy,
    async run({ tx, tenant, params, body, ifMatch, authorize }) {
      const subscription = await findSubscription(tx, params.subscription_id!, 'lock')
      const mayApprove = () => authorize('control.subscriptions.approve', tenant!.name)
      if (body.rate_limit !== undefined || body.quota !== undefined || body.expires_at !== undefined)
        await mayApprove()
      const { plan, expiresAt, ...others } = camelCased(body)
      const patch = {
        ...others,
        ...(plan === undefined ? {} : await planChange(tx, subscription, plan, mayApprove)),
        ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
      }
      return respond(tx, await changeSubscription(tx, subscription, patch as SubscriptionChange, ifMatch))
    },
  }),
  endpoint('rejectSubscription', 'post', `${ONE}/reject`, {
    summary: 'Reject a pending subscription, or the requested plan of an approved or suspended subscription',
    action: 'control.subscriptions.reject',
    body: rejection,
    success: { status: 200, description: 'The subscription', schema: shownSubscription },
    async run({ tx, params, body }) {
      const subscription = await findSubscription(tx, params.subscription_id!, 'lock')
      return respond(tx, await rejectSubscription(tx, subscription, body.reason))
    },
  }),
  endpoint('suspendSubscription', 'post', `${ONE}/suspend`, {
    summary: 'Suspend a subscription: the gateways refuse calls under it until the subscription is resumed',
    action: 'control.subscriptions.suspend',
    body: suspension,
    bodyOptional: true,
    success: { status: 200, description: 'The suspended subscription', schema: shownSubscription },
    async run({ tx, params, body }) {
      const subscription = await findSubscription(tx, params.subscription_id!, 'lock')
      return respond(tx, await suspendSubscription(tx, subscription, body.reason ?? null))
    },
  }),
  endpoint('resumeSubscription', 'post', `${ONE}/resume`, {
    summary: 'Resume a suspended subscription; the gateways accept its keys again',
    action: 'control.subscriptions.resume',
    success: { status: 200, description: 'The resumed subscription', schema: shownSubscription },
    async run({ tx, params }) {
      const subscription = await findSubscription(tx, params.subscription_id!, 'lock')
      return respond(tx, await resumeSubscription(tx, subscription))
    },
  }),
  endpoint('revokeSubscription', 'delete', ONE, {
    summary: 'Revoke a subscription and its keys permanently',
    action: 'control.subscriptions.revoke',
    // in the query: the listeners refuse a DELETE with a body
    query: z.object({ reason: textField(500).optional() }),
    success: { description: 'The subscription is revoked' },
    preconditions: true,
    subject: ownedBy,
    async run({ tx, params, query, ifMatch }) {
      const subscription = await findSubscription(tx, params.subscription_id!, 'lock')
      checkIfMatch(ifMatch, subscription.revision)
      await revokeSubscription(tx, subscription, query.reason ?? null)
    },
  }),
  endpoint('readUsage', 'get', `${ONE}/usage`, {
    summary: 'Read the usage of a subscription on the current day and in the current month',
    action: 'control.usage.read',
    success: { description: 'The usage', schema: shownUsage },
    subject: ownedBy,
    async run({ tx, params }) {
      const subscription = await findSubscription(tx, params.subscription_id!)
      const { daily, monthly, limits, ...usage } = await currentUsage(tx, subscription)
      const { id: subscriptionId, plan } = subscription
      const body = toWire(usageWithoutLimits, { ...usage, subscriptionId, plan, daily, monthly })
      return { body: { ...body, limits: showLimits(limits) } }
    },
  }),
  endpoint('listSubscriptions', 'get', '/subscriptions', {
    summary: 'List the subscriptions of all tenants the caller acts for',
    action: 'control.subscriptions.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: textField(100).optional() }),
    narrowable: true,
    success: { description: 'A page of subscriptions', schema: shownList },
    run: ({ tx, tenant, query, onlyApplication }) =>
      list(tx, { ...camelCased(query), onlyApplication, heldBy: tenant?.name }, query),
  }),
]
