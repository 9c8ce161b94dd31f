/** Valid rows for tests, each with a fresh identifier. */
import { createHash, randomUUID } from 'node:crypto'
import type { Api } from '../../../src/model/api.ts'
import type { ApiKey } from '../../../src/model/api-key.ts'
import { newId } from '../../../src/model/id.ts'
import type { PlanRecord } from '../../../src/model/plan.ts'
import type { Subscription } from '../../../src/model/subscription.ts'
import type { Tenant } from '../../../src/model/tenant.ts'

const stamps = (nowMs: number) => ({ revision: 1, createdAt: new Date(nowMs), updatedAt: new Date(nowMs) })

export function aTenant(name: string, nowMs: number): Tenant {
  return {
    id: newId('tenant', nowMs),
    name,
    tier: 'starter',
    adminEmail: 'admin@example.com',
    region: 'default',
    status: 'active',
    settings: { rateLimitMultiplier: 2 },
    ...stamps(nowMs),
  }
}

export function anApi(tenantId: string, nowMs: number, fields: Partial<Api> = {}): Api {
  return {
    id: newId('api', nowMs),
    tenantId,
    name: 'Orders',
    description: 'All orders',
    type: 'http',
    upstreamUrl: 'http://127.0.0.1:9/orders',
    mcp: null,
    path: '/orders',
    version: 'v1',
    versioning: null,
    deprecatedAt: null,
    deprecation: null,
    authRequired: true,
    requestsPerHour: 1000,
    passthrough: null,
    traffic: null,
    spec: JSON.stringify({ openapi: '3.1.0', text: 'zero \u0000 and lone \ud800 survive' }),
    portalVisibility: false,
    visibility: 'tenant',
    sharing: null,
    pendingDefinitions: null,
    acceptedSpecHash: null,
    status: 'active',
    ...stamps(nowMs),
    ...fields,
  }
}

export function aPlan(slug: string, tenantId: string | null, nowMs: number): PlanRecord {
  return {
    id: newId('plan', nowMs),
    tenantId,
    slug,
    name: slug,
    perSecond: 1,
    perMinute: 2,
    perDay: 3,
    perMonth: 4,
    burst: 5,
    requiresApproval: false,
    ...stamps(nowMs),
  }
}

export function aSubscription(api: Api, nowMs: number, fields: Partial<Subscription> = {}): Subscription {
  return {
    id: newId('subscription', nowMs),
    tenantId: api.tenantId,
    apiId: api.id,
    productId: null,
    plan: 'silver',
    application: 'shop',
    subscriberTenantId: null,
    callbackUrl: null,
    status: 'pending_approval',
    reason: null,
    rateLimit: null,
    quota: null,
    ttlSeconds: null,
    expiresAt: null,
    approvedAt: null,
    requestedPlan: null,
    metadata: {},
    suspendedAt: null,
    expiryAnnounced: null,
    revokedAt: null,
    ...stamps(nowMs),
    ...fields,
  }
}

export function aKey(subscription: Subscription, nowMs: number, fields: Partial<ApiKey> = {}): ApiKey {
  return {
    id: newId('apiKey', nowMs),
    tenantId: subscription.tenantId,
    subscriptionId: subscription.id,
    name: 'ci',
    prefix: 'tgk_aaaaaaaa',
    hash: createHash('sha256').update(randomUUID()).digest('hex'),
    previousPrefix: null,
    previousHash: null,
    previousExpiresAt: null,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    expiryAnnounced: null,
    ...stamps(nowMs),
    ...fields,
  }
}
