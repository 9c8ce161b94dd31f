/** The repositories of a transaction, one interface for each kind of row; usage and webhooks have their own files. It contains no query. */
import type { Api, ApiStatus } from '../../model/api.ts'
import type { ApiKey, ApiKeyStatus } from '../../model/api-key.ts'
import type { Consumer, ConsumerStatus } from '../../model/consumer.ts'
import type { Deployment } from '../../model/deployment.ts'
import type { DomainEvent, NewEvent } from '../../model/event.ts'
import type { GatewayInstance, GatewayStatus } from '../../model/gateway-instance.ts'
import type { PlanRecord } from '../../model/plan.ts'
import type { Subscription, SubscriptionStatus } from '../../model/subscription.ts'
import type { Tenant, TenantStatus, Tier } from '../../model/tenant.ts'

/** `page` counts from 1. */
export interface PageRequest {
  readonly page: number
  readonly limit: number
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** `q` matches anywhere in the texts, case-insensitively; `%` and `_` are literal. */
interface Search {
  readonly q?: string | undefined
}

/** `lock`: the row is locked until the transaction ends; for reads before a write. */
export type Locking = 'lock' | 'plain'

/**
 * Rows are values of `model/`. `update` writes every field that can change, sets `updatedAt`, increments `revision` and returns the
 * changed row.
 */
export interface TenantRepository {
  insert(tenant: Tenant): Promise<void>
  find(id: string, locking?: Locking): Promise<Tenant | undefined>
  /** By id or by name: tokens contain either. */
  resolve(reference: string): Promise<Tenant | undefined>
  list(
    filter: Search & { status?: TenantStatus | undefined; tier?: Tier | undefined },
    page: PageRequest,
  ): Promise<ListPage<Tenant>>
  ids(status?: TenantStatus): Promise<readonly string[]>
  update(tenant: Tenant): Promise<Tenant>
  /** Deletes the tenant and everything it owns. */
  remove(id: string): Promise<void>
}

export interface ApiFilter extends Search {
  readonly status?: ApiStatus | undefined
  readonly portalVisibility?: boolean | undefined
  /** True: without the retired ones. */
  readonly offered?: boolean | undefined
  readonly tenantId?: string | undefined
}

export interface ApiRepository {
  insert(api: Api): Promise<void>
  find(id: string, locking?: Locking): Promise<Api | undefined>
  list(filter: ApiFilter, page: PageRequest): Promise<ListPage<Api>>
  update(api: Api): Promise<Api>
  /** Keeps the row for the history of its subscriptions, but hides it; its path is free again. */
  remove(id: string): Promise<void>
}

export interface PlanRepository {
  insert(plan: PlanRecord): Promise<void>
  /** The scope's own plan of that slug, else the global one. */
  bySlug(slug: string): Promise<PlanRecord | undefined>
  find(id: string, locking?: Locking): Promise<PlanRecord | undefined>
  /** The scope's own plans and the global ones. */
  list(filter: Search, page: PageRequest): Promise<ListPage<PlanRecord>>
  update(plan: PlanRecord): Promise<PlanRecord>
  remove(id: string): Promise<void>
  /** True when an open subscription or a consumer uses it. */
  inUse(plan: PlanRecord): Promise<boolean>
}

export interface SubscriptionFilter extends Search {
  readonly status?: SubscriptionStatus | undefined
  readonly apiId?: string | undefined
  readonly plan?: string | undefined
  readonly application?: string | undefined
  readonly tenantId?: string | undefined
  /** Only subscriptions of this application, in addition to the other filters. */
  readonly onlyApplication?: string | undefined
}

export interface SubscriptionRepository {
  insert(subscription: Subscription): Promise<void>
  find(id: string, locking?: Locking): Promise<Subscription | undefined>
  list(filter: SubscriptionFilter, page: PageRequest): Promise<ListPage<Subscription>>
  /** Pending and approved ones of an API, locked. */
  openOf(apiId: string): Promise<readonly Subscription[]>
  /** Approved ones that are due to expire, locked; those locked by another instance are skipped. */
  due(limit: number): Promise<readonly Subscription[]>
  update(subscription: Subscription): Promise<Subscription>
}

interface ApiKeyFilter extends Search {
  readonly status?: ApiKeyStatus | undefined
  readonly subscriptionId?: string | undefined
  /** Only keys of this application's subscriptions, in addition to the other filters. */
  readonly onlyApplication?: string | undefined
}

export interface ApiKeyRepository {
  insert(key: ApiKey): Promise<void>
  find(id: string, locking?: Locking): Promise<ApiKey | undefined>
  list(filter: ApiKeyFilter, page: PageRequest): Promise<ListPage<ApiKey>>
  /** Subscription → prefix of its newest key that is not revoked. */
  prefixesOf(subscriptionIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Oldest first, locked. */
  ofSubscription(subscriptionId: string): Promise<readonly ApiKey[]>
  update(key: ApiKey): Promise<ApiKey>
  /** Moves `lastUsedAt` forward, never back. */
  touch(uses: readonly { readonly id: string; readonly at: Date }[]): Promise<void>
}

interface ConsumerFilter extends Search {
  readonly status?: ConsumerStatus | undefined
  readonly tenantId?: string | undefined
}

export interface ConsumerRepository {
  /** Inserts the consumer unless the subject exists; returns the stored one. */
  ensure(consumer: Consumer): Promise<Consumer>
  bySubject(subject: string): Promise<Consumer | undefined>
  list(filter: ConsumerFilter, page: PageRequest): Promise<ListPage<Consumer>>
  update(consumer: Consumer): Promise<Consumer>
  /** Moves `lastSeenAt` forward, never back. */
  touch(
    uses: readonly { readonly tenantId: string; readonly subject: string; readonly at: Date }[],
  ): Promise<void>
}

/** The fields that a gateway instance reports when it registers. */
export type GatewayReport = Pick<
  GatewayInstance,
  'name' | 'reportedStatus' | 'version' | 'url' | 'workers' | 'authConfig'
>

export interface GatewayRepository {
  /** Creates or renews the instance of that name. */
  register(id: string, report: GatewayReport): Promise<GatewayInstance>
  find(id: string, locking?: Locking): Promise<GatewayInstance | undefined>
  list(
    filter: Search & { status?: GatewayStatus | undefined },
    page: PageRequest,
  ): Promise<ListPage<GatewayInstance>>
  /** Those that are not offline. */
  live(): Promise<readonly GatewayInstance[]>
  update(gateway: GatewayInstance): Promise<GatewayInstance>
  /** Notifies every control-plane instance, at commit, to send the gateway its whole snapshot again. */
  requestResync(id: string): Promise<void>
}

export interface DeploymentRepository {
  find(id: string): Promise<Deployment | undefined>
  list(
    filter: { apiId?: string | undefined; gatewayId?: string | undefined; tenantId?: string | undefined },
    page: PageRequest,
  ): Promise<ListPage<Deployment>>
  /** Inserts the missing rows of one gateway, or of one API on every gateway. */
  complete(missing: { readonly gatewayId: string } | { readonly apiId: string }): Promise<void>
}

export interface EventRepository {
  /** Written directly before the commit, numbered in commit order. */
  append(event: NewEvent): void
  /** Oldest first, from the one after `seq`. */
  after(seq: number, limit: number): Promise<readonly DomainEvent[]>
  lastSeq(): Promise<number>
  sweep(before: Date): Promise<void>
}

/** The stored response to a POST with an `Idempotency-Key`. */
interface CachedResponse {
  /** SHA-256 of caller, method, path and key. */
  readonly key: string
  /** SHA-256 of the request body. */
  readonly requestHash: string
  readonly status: number
  /** Text, encrypted when the response contains a secret. */
  readonly body: string
}

export interface IdempotencyRepository {
  /**
   * Claims the key for this transaction; when another transaction holds it, waits for its end.
   * Returns the stored response when the key was used within the last 24 hours.
   */
  claim(key: string, requestHash: string): Promise<CachedResponse | undefined>
  settle(response: CachedResponse): Promise<void>
  /** Deletes responses older than 24 hours. */
  sweep(): Promise<void>
}

/** Rows that gateways need: tenants that are not being deleted, APIs that are not retired, approved subscriptions, keys that are not revoked. */
export interface ShareRows {
  readonly tenants: readonly Pick<Tenant, 'id' | 'name' | 'status'>[]
  readonly plans: readonly PlanRecord[]
  readonly apis: readonly (Pick<
    Api,
    | 'id'
    | 'tenantId'
    | 'path'
    | 'upstreamUrl'
    | 'authRequired'
    | 'requestsPerHour'
    | 'passthrough'
    | 'revision'
  > & { readonly hasSpec: boolean })[]
  readonly subscriptions: readonly Pick<
    Subscription,
    'id' | 'tenantId' | 'apiId' | 'application' | 'plan' | 'rateLimit' | 'quota' | 'expiresAt'
  >[]
  readonly keys: readonly Pick<
    ApiKey,
    | 'id'
    | 'tenantId'
    | 'subscriptionId'
    | 'prefix'
    | 'hash'
    | 'expiresAt'
    | 'previousPrefix'
    | 'previousHash'
    | 'previousExpiresAt'
  >[]
  /** Those with an assigned plan, and blocked ones. */
  readonly consumers: readonly Pick<Consumer, 'tenantId' | 'subject' | 'plan' | 'status'>[]
}

export interface ShareRepository {
  globalPlans(): Promise<readonly PlanRecord[]>
  /** Of these tenants, or of all when absent. Each table is read once, with a fixed order of rows. */
  load(tenantIds?: readonly string[]): Promise<ShareRows>
}
