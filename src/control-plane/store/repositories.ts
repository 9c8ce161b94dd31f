/** The repositories of a transaction, one interface for each kind of row. No query lives here. */
import type { UsageCount } from '../../link/usage-count.ts'
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

export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** `q` is found anywhere in the texts, without regard to case; `%` and `_` stand for themselves. */
interface Search {
  readonly q?: string | undefined
}

/** `lock`: the row stays ours until the transaction ends; for reads that a write follows. */
export type Locking = 'lock' | 'plain'

/**
 * Rows are given and taken as values of `model/`. `update` writes every field that can change, stamps `updatedAt`, counts
 * `revision` up and returns the row as it now is.
 */
export interface TenantRepository {
  insert(tenant: Tenant): Promise<void>
  find(id: string, locking?: Locking): Promise<Tenant | undefined>
  /** By id or by name: tokens carry either. */
  resolve(reference: string): Promise<Tenant | undefined>
  list(
    filter: Search & { status?: TenantStatus | undefined; tier?: Tier | undefined },
    page: PageRequest,
  ): Promise<Page<Tenant>>
  /** All ids, for work that goes through every tenant. */
  ids(status?: TenantStatus): Promise<readonly string[]>
  update(tenant: Tenant): Promise<Tenant>
  /** Removes the tenant with everything it owns. */
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
  list(filter: ApiFilter, page: PageRequest): Promise<Page<Api>>
  update(api: Api): Promise<Api>
  /** The row stays for the history of its subscriptions, but is found no more; its path is free again. */
  remove(id: string): Promise<void>
}

export interface PlanRepository {
  insert(plan: PlanRecord): Promise<void>
  /** The scope's own plan of that slug, else the global one. */
  bySlug(slug: string, locking?: Locking): Promise<PlanRecord | undefined>
  find(id: string, locking?: Locking): Promise<PlanRecord | undefined>
  /** The scope's own plans and the global ones. */
  list(filter: Search, page: PageRequest): Promise<Page<PlanRecord>>
  update(plan: PlanRecord): Promise<PlanRecord>
  remove(id: string): Promise<void>
  /** True while a subscription that is not over, or a consumer, uses it. */
  inUse(plan: PlanRecord): Promise<boolean>
}

export interface SubscriptionFilter extends Search {
  readonly status?: SubscriptionStatus | undefined
  readonly apiId?: string | undefined
  readonly plan?: string | undefined
  readonly application?: string | undefined
  readonly tenantId?: string | undefined
  /** Only what belongs to this application, whatever else the filter asks for. */
  readonly onlyApplication?: string | undefined
}

export interface SubscriptionRepository {
  insert(subscription: Subscription): Promise<void>
  find(id: string, locking?: Locking): Promise<Subscription | undefined>
  list(filter: SubscriptionFilter, page: PageRequest): Promise<Page<Subscription>>
  /** Those of an API that are neither revoked nor expired, locked. */
  openOf(apiId: string): Promise<readonly Subscription[]>
  /** Approved ones whose expiry has come, locked; those another instance is working on are left out. */
  due(limit: number): Promise<readonly Subscription[]>
  update(subscription: Subscription): Promise<Subscription>
}

export interface ApiKeyFilter extends Search {
  readonly status?: ApiKeyStatus | undefined
  readonly subscriptionId?: string | undefined
  /** Only keys of this application's subscriptions, whatever else the filter asks for. */
  readonly onlyApplication?: string | undefined
}

export interface ApiKeyRepository {
  insert(key: ApiKey): Promise<void>
  find(id: string, locking?: Locking): Promise<ApiKey | undefined>
  list(filter: ApiKeyFilter, page: PageRequest): Promise<Page<ApiKey>>
  /** Subscription → public part of its newest key that is not revoked. */
  prefixesOf(subscriptionIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Oldest first, locked. */
  ofSubscription(subscriptionId: string): Promise<readonly ApiKey[]>
  update(key: ApiKey): Promise<ApiKey>
  /** Moves `lastUsedAt` forward, never back. */
  touch(uses: readonly { readonly id: string; readonly at: Date }[]): Promise<void>
}

export interface ConsumerFilter extends Search {
  readonly status?: ConsumerStatus | undefined
  readonly tenantId?: string | undefined
}

export interface ConsumerRepository {
  /** Does nothing when the subject is known already; returns the consumer either way. */
  ensure(consumer: Consumer): Promise<Consumer>
  bySubject(subject: string): Promise<Consumer | undefined>
  list(filter: ConsumerFilter, page: PageRequest): Promise<Page<Consumer>>
  update(consumer: Consumer): Promise<Consumer>
  /** Moves `lastSeenAt` forward, never back. */
  touch(
    uses: readonly { readonly tenantId: string; readonly subject: string; readonly at: Date }[],
  ): Promise<void>
}

/** Everything a gateway instance says of itself at once. */
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
  ): Promise<Page<GatewayInstance>>
  /** Those that are not offline. */
  live(): Promise<readonly GatewayInstance[]>
  update(gateway: GatewayInstance): Promise<GatewayInstance>
  /** Tells every control-plane instance, at commit, to send the gateway its whole snapshot again. */
  requestResync(id: string): Promise<void>
}

export interface DeploymentRepository {
  find(id: string): Promise<Deployment | undefined>
  list(
    filter: { apiId?: string | undefined; gatewayId?: string | undefined; tenantId?: string | undefined },
    page: PageRequest,
  ): Promise<Page<Deployment>>
  /** Makes the rows that are missing for one gateway, or for one API on every gateway. */
  complete(missing: { readonly gatewayId: string } | { readonly apiId: string }): Promise<void>
}

export interface EventRepository {
  /** Written right before the commit, numbered in commit order. */
  append(event: NewEvent): void
  /** Oldest first, from the one after `seq`. */
  after(seq: number, limit: number): Promise<readonly DomainEvent[]>
  lastSeq(): Promise<number>
  sweep(before: Date): Promise<void>
}

/** The remembered answer to a POST (contract §5, `Idempotency-Key`). */
export interface CachedResponse {
  /** SHA-256 of caller, method, path and key. */
  readonly key: string
  /** SHA-256 of the request body. */
  readonly requestHash: string
  readonly status: number
  /** Text, or sealed bytes in base64 when the answer holds a secret. */
  readonly body: string
}

export interface IdempotencyRepository {
  /**
   * Takes the key for this transaction. When another transaction holds it, waits for that one to end.
   * Returns the remembered answer when the key was used within the last 24 hours.
   */
  claim(key: string, requestHash: string): Promise<CachedResponse | undefined>
  settle(response: CachedResponse): Promise<void>
  /** Drops what is older than 24 hours. */
  sweep(): Promise<void>
}

export interface UsageSum {
  readonly requests: number
  readonly errors: number
  readonly lastRequestAt: Date | null
}

export interface UsageRepository {
  add(counts: readonly UsageCount[]): Promise<void>
  /** From the day `from` to the day `to`, both included. */
  sum(subscriptionId: string, from: string, to: string): Promise<UsageSum>
}

/** Calls of one tenant and API ('' = none) in one hour, or what is to be added to them. */
export interface MeteredHour {
  readonly tenantId: string
  readonly apiId: string
  readonly hour: Date
  readonly requests: number
  /** Calls whose outcome was not success. */
  readonly errors: number
}

/** Some of the calls of an hour by how long they took; see `model/latency-histogram.ts`. */
export interface MeteredLatency {
  readonly tenantId: string
  readonly apiId: string
  readonly hour: Date
  readonly bucket: number
  readonly requests: number
}

/** How far the events of a writer have been taken from a source. */
export interface MeteringMark {
  readonly writer: string
  /** `spool`, or topic and partition. */
  readonly source: string
  /** '' = none yet. */
  readonly lastEventId: string
}

export type Granularity = 'hour' | 'day' | 'month'

export interface MeteredPeriod {
  /** Begin of the hour, day or month, in UTC. */
  readonly at: Date
  readonly requests: number
  readonly errors: number
  /** In ascending order of buckets. */
  readonly latencies: readonly { readonly bucket: number; readonly requests: number }[]
}

export interface MeteringRepository {
  /** The marks of these writers of every source; those of this source are ours until the transaction ends. */
  marks(source: string, writers: readonly string[]): Promise<readonly MeteringMark[]>
  /** Only marks that `marks` gave before, in the same transaction. @param marks `events` = how many were taken now */
  advance(
    source: string,
    marks: readonly { readonly writer: string; readonly lastEventId: string; readonly events: number }[],
  ): Promise<void>
  /** Adds to what is there; rows of tenants that do not exist are passed over. One entry for each key. */
  add(hours: readonly MeteredHour[], latencies: readonly MeteredLatency[]): Promise<void>
  /** Periods in which there were calls, in their order. */
  series(query: {
    readonly tenantId: string
    readonly apiId?: string | undefined
    readonly from: Date
    readonly before: Date
    readonly granularity: Granularity
  }): Promise<readonly MeteredPeriod[]>
  /** How many events of each writer were counted. */
  folded(): Promise<readonly (MeteringMark & { readonly events: number })[]>
  sweep(older: { readonly rowsBefore: Date; readonly marksBefore: Date }): Promise<void>
}

export interface TierUsageRepository {
  /**
   * Takes up to `want` requests of a tenant's hour, never more than are left under `limit`.
   * Returns how many were granted and how many of the hour are now taken in all.
   */
  take(
    tenantId: string,
    hour: Date,
    want: number,
    limit: number,
  ): Promise<{ readonly granted: number; readonly taken: number }>
  giveBack(tenantId: string, hour: Date, unused: number): Promise<void>
  sweep(before: Date): Promise<void>
}

/** Rows that gateways need: tenants that are not being deleted, APIs that serve, approved subscriptions, keys not revoked. */
export interface ShareRows {
  readonly tenants: readonly Pick<Tenant, 'id' | 'name' | 'status'>[]
  readonly plans: readonly PlanRecord[]
  readonly apis: readonly (Pick<
    Api,
    'id' | 'tenantId' | 'path' | 'upstreamUrl' | 'authRequired' | 'requestsPerHour' | 'revision'
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
  /** Those with a plan of their own, and those that are blocked. */
  readonly consumers: readonly Pick<Consumer, 'tenantId' | 'subject' | 'plan' | 'status'>[]
}

export interface ShareRepository {
  globalPlans(): Promise<readonly PlanRecord[]>
  /** Of these tenants; of all when absent. Each table is read once, in a fixed order of rows. */
  load(tenantIds?: readonly string[]): Promise<ShareRows>
}
