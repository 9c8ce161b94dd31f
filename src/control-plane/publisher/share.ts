/** Converts rows of the database to parts of the share. */

import type {
  ApiShare,
  DeprecationShare,
  InactiveSubscriptionShare,
  KeyShare,
  McpApiShare,
  SubscriptionShare,
  TenantShare,
} from '../../link/share-schema.ts'
import { aliasPath, publicPath, toolPrefixOf } from '../../model/api.ts'
import type { Plan, PlanRecord } from '../../model/plan.ts'
import { DEFAULT_MCP_UPSTREAM } from '../../model/schema/mcp-upstream.ts'
import { subscriberOf } from '../../model/subscription.ts'
import type { Tool } from '../../model/tool.ts'
import type { ShareRows } from '../store/repositories.ts'

export function planShare(plan: PlanRecord): Plan {
  const { slug, name, perSecond, perMinute, perDay, perMonth, burst } = plan
  return { slug, name, perSecond, perMinute, perDay, perMonth, burst }
}

/** @param tools of an API, compiled from its document */
export function tenantShares(rows: ShareRows, tools: (apiId: string) => readonly Tool[]): TenantShare[] {
  const plans = groupByTenant(rows.plans)
  const apis = groupByTenant(rows.apis)
  const subscriptions = groupByTenant(rows.subscriptions)
  const keys = groupByTenant(rows.keys)
  const inactive = groupByTenant(rows.inactive)
  const consumers = groupByTenant(rows.consumers)
  const apisOf = new Map(rows.products.map(product => [product.id, product.apiIds]))
  const of = <T>(groups: ReadonlyMap<string | null, T[]>, id: string): readonly T[] => groups.get(id) ?? []
  return rows.tenants.map(({ id, name, status }) => {
    const serving = of(apis, id)
    const servers = serving.filter(({ type }) => type === 'mcp')
    const live = of(subscriptions, id)
    const approved = new Set(live.map(subscription => subscription.id))
    const refused = of(inactive, id)
    return {
      id,
      name,
      suspended: status === 'suspended',
      plans: of(plans, id).map(planShare),
      apis: serving.filter(({ type }) => type === 'http').map(apiShare),
      ...(servers.length === 0 ? {} : { mcpApis: servers.map(mcpApiShare) }),
      subscriptions: live.map(subscription => ({
        id: subscription.id,
        ...apisOpenedBy(subscription, apisOf),
        ...(subscription.productId === null ? {} : { productId: subscription.productId }),
        application: subscription.application,
        ...subscriber(subscription),
        plan: subscription.plan,
        rateLimit: subscription.rateLimit,
        quota: subscription.quota,
        expiresAtMs: subscription.expiresAt?.getTime() ?? null,
      })),
      keys: of(keys, id)
        .filter(key => approved.has(key.subscriptionId))
        .flatMap(keyShares),
      ...(refused.length === 0 ? {} : { inactive: inactiveShares(refused, of(keys, id), apisOf) }),
      consumers: of(consumers, id).map(({ subject, plan, status: consumerStatus }) => ({
        subject,
        plan,
        blocked: consumerStatus === 'blocked',
      })),
      tools: serving.flatMap(api => tools(api.id)),
    }
  })
}

function apiShare(api: ShareRows['apis'][number]): ApiShare {
  const { id, version: label, versioning, upstreamUrl, authRequired, requestsPerHour, passthrough } = api
  const alias = aliasPath(api)
  const deprecation = deprecationShare(api)
  return {
    id,
    path: publicPath(api),
    upstreamUrl,
    authRequired,
    requestsPerHour,
    passthrough,
    ...(api.traffic === null ? {} : { traffic: api.traffic }),
    ...(alias === undefined ? {} : { alias }),
    ...(versioning?.by === 'header'
      ? { version: { label, header: versioning.header!, isDefault: versioning.default } }
      : {}),
    ...(deprecation === undefined ? {} : { deprecation }),
  }
}

function mcpApiShare(api: ShareRows['apis'][number]): McpApiShare {
  const { name, acceptedSpecHash } = api
  const { trusted, ...mcp } = api.mcp ?? DEFAULT_MCP_UPSTREAM
  return {
    ...apiShare(api),
    name,
    toolPrefix: toolPrefixOf(api),
    mcp,
    ...(trusted ? { trusted } : {}),
    ...(acceptedSpecHash ? { acceptedSpecHash } : {}),
  }
}

function deprecationShare({
  deprecatedAt,
  deprecation,
}: ShareRows['apis'][number]): DeprecationShare | undefined {
  if (deprecatedAt === null && deprecation === null) return undefined
  const { sunsetAt = null, afterSunset, link = null } = deprecation ?? {}
  return {
    deprecatedAtMs: deprecatedAt?.getTime() ?? null,
    sunsetAtMs: sunsetAt === null ? null : Date.parse(sunsetAt),
    isRefused: afterSunset === 'refuse',
    link,
  }
}

/** For a subscription to a product, the APIs that the product has now. */
function apisOpenedBy(
  { apiId, productId }: Pick<ShareRows['subscriptions'][number], 'apiId' | 'productId'>,
  apisOf: ReadonlyMap<string, readonly string[]>,
): Pick<SubscriptionShare, 'apiId' | 'apiIds'> {
  if (productId === null) return { apiId: apiId ?? '' }
  const apiIds = apisOf.get(productId) ?? []
  return { apiId: apiIds[0] ?? '', apiIds }
}

function subscriber({
  application,
  subscriberTenantId,
}: Pick<ShareRows['inactive'][number], 'application' | 'subscriberTenantId'>): Pick<
  SubscriptionShare,
  'subscriber'
> {
  return subscriberTenantId === null ? {} : { subscriber: subscriberOf(application) }
}

/** So that the refusal of a call with such a key names the state of the subscription. */
function inactiveShares(
  subscriptions: ShareRows['inactive'],
  keys: ShareRows['keys'],
  apisOf: ReadonlyMap<string, readonly string[]>,
): InactiveSubscriptionShare[] {
  const groups = new Map<string, Omit<KeyShare, 'subscriptionId'>[]>()
  for (const { subscriptionId, ...key } of keys.flatMap(keyShares)) {
    const group = groups.get(subscriptionId)
    if (group === undefined) groups.set(subscriptionId, [key])
    else group.push(key)
  }
  return subscriptions.map(({ id, application, subscriberTenantId, status, ...of }) => ({
    id,
    application,
    ...apisOpenedBy(of, apisOf),
    ...subscriber({ application, subscriberTenantId }),
    state: status === 'suspended' ? 'suspended' : 'expired',
    keys: groups.get(id) ?? [],
  }))
}

/** The current key, and the previous one with the end of its grace period, which the gateway enforces. */
function keyShares(key: ShareRows['keys'][number]): KeyShare[] {
  const expiresAtMs = key.expiresAt?.getTime() ?? null
  const { id, subscriptionId } = key
  const current = { id, subscriptionId, prefix: key.prefix, hash: key.hash, expiresAtMs }
  if (key.previousPrefix === null || key.previousHash === null || key.previousExpiresAt === null)
    return [current]
  const until = key.previousExpiresAt.getTime()
  const previous = {
    id,
    subscriptionId,
    prefix: key.previousPrefix,
    hash: key.previousHash,
    expiresAtMs: expiresAtMs === null ? until : Math.min(until, expiresAtMs),
  }
  return [current, previous]
}

function groupByTenant<T extends { readonly tenantId: string | null }>(rows: readonly T[]) {
  const groups = new Map<string | null, T[]>()
  for (const row of rows) {
    const group = groups.get(row.tenantId)
    if (group === undefined) groups.set(row.tenantId, [row])
    else group.push(row)
  }
  return groups
}
