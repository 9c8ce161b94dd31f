/** Interfaces of repositories, with the types that they take and return; further ones are in files beside it. */
import type { Api, ApiStatus } from '../../model/api.ts'
import type { ApiKey, ApiKeyStatus } from '../../model/api-key.ts'
import type { Consumer, ConsumerStatus } from '../../model/consumer.ts'
import type { Deployment } from '../../model/deployment.ts'
import type { DomainEvent, NewEvent } from '../../model/event.ts'
import type { GatewayInstance, GatewayStatus } from '../../model/gateway-instance.ts'
import type { PlanRecord } from '../../model/plan.ts'
import type { Product } from '../../model/product.ts'
import type { Tier } from '../../model/schema/tenant.ts'
import type { Subscription, SubscriptionStatus } from '../../model/subscription.ts'
import type { Tenant, TenantStatus } from '../../model/tenant.ts'

/** `page` counts from 1. */
export interface PageRequest {
  readonly page: number
  readonly limit: number
  /** A column, with `-` for the opposite order; absent: creation. Equal values are ordered by creation, in the same direction. */
  readonly sort?: string | undefined
  /** The text of the filter, where it has one. */
  readonly q?: string | undefined
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** `q` matches anywhere in the texts, case-insensitively; `%` and `_` are literal. */
interface Search {
  readonly q?: string | undefined
}

/**
 * `lock`: no other transaction changes, locks or deletes the row until this one ends; for reads before a write. `exclusive`: nor does one
 * add a row that refers to it; for reads before all those rows are changed or deleted. A transaction that adds one then waits, and so do
 * all that wait for it, so a change that does not need an exclusive lock takes none.
 */
export type Locking = 'lock' | 'exclusive' | 'plain'

/** Rows are values of `model/`. */
interface Rows<T, Filter> {
  insert(row: T): Promise<void>
  find(id: string, locking?: Locking): Promise<T | undefined>
  list(filter: Filter, page: PageRequest): Promise<ListPage<T>>
  /** Writes every field that can change, sets `updatedAt`, increments `revision` if the row has one, and returns the changed row. */
  update(row: T): Promise<T>
}

interface TenantFilter extends Search {
  readonly status?: TenantStatus | undefined
  readonly tier?: Tier | undefined
}

export interface TenantRepository extends Rows<Tenant, TenantFilter> {
  /** By id or by name: tokens contain either. */
  resolve(reference: string): Promise<Tenant | undefined>
  ids(status?: TenantStatus): Promise<readonly string[]>
  /** Deletes up to `limit` rows of metering and usage. @returns their number */
  removeHistory(id: string, limit: number): Promise<number>
  /** Deletes the tenant and everything it owns. */
  remove(id: string): Promise<void>
}

export interface ApiFilter extends Search {
  readonly status?: ApiStatus | undefined
  readonly portalVisibility?: boolean | undefined
  /** True: without the retired ones. */
  readonly offered?: boolean | undefined
  readonly tenantId?: string | undefined
  /** True: with those that other tenants share with the tenant of the scope and show in the catalog. */
  readonly sharedToo?: true | undefined
  /** True: only those that every visitor may see, of tenants that are active. */
  readonly forVisitors?: true | undefined
}

/** An API without its document. */
type NamedApi = Pick<Api, 'id' | 'name' | 'version' | 'status' | 'portalVisibility' | 'visibility'>

export interface ApiRepository extends Rows<Api, ApiFilter> {
  /** One that another tenant shares with the tenant of the scope and shows in the catalog. */
  findShared(id: string): Promise<Api | undefined>
  /** APIs with these ids, in the order of ids. */
  listByIds(ids: readonly string[], locking?: Locking): Promise<readonly NamedApi[]>
  /** At paths of a tenant, with one of these paths. */
  atPaths(tenantId: string, paths: readonly string[]): Promise<readonly Api[]>
  /** Keeps the row for the history of its subscriptions, but hides it; its path is free again. */
  remove(id: string): Promise<void>
}

/** The scope's own plans and the global ones. */
export interface PlanRepository extends Rows<PlanRecord, Search> {
  /** The scope's own plan of that slug, else the global one. */
  bySlug(slug: string): Promise<PlanRecord | undefined>
  remove(id: string): Promise<void>
  /** True when an open subscription, a consumer or a product uses it. */
  inUse(plan: PlanRecord): Promise<boolean>
}

interface ProductFilter extends Search {
  readonly portalVisibility?: boolean | undefined
  readonly tenantId?: string | undefined
  /** True: only those with an API that every visitor may see, of tenants that are active. */
  readonly forVisitors?: true | undefined
}

export interface ProductRepository extends Rows<Product, ProductFilter> {
  /** Keeps the row for the history of its subscriptions, but hides it; its slug is free again. */
  remove(id: string): Promise<void>
  /** Products that contain the API, locked. */
  holding(apiId: string): Promise<readonly Product[]>
}

export interface SubscriptionFilter extends Search {
  readonly status?: SubscriptionStatus | undefined
  readonly apiId?: string | undefined
  readonly productId?: string | undefined
  readonly plan?: string | undefined
  readonly application?: string | undefined
  readonly tenantId?: string | undefined
  readonly subscriberTenantId?: string | undefined
  /** Only subscriptions of this application, in addition to the other filters. */
  readonly onlyApplication?: string | undefined
  /** Set: with those to APIs that other tenants share with the tenant of the scope, whose name this is. */
  readonly heldBy?: string | undefined
}

export interface SubscriptionRepository extends Rows<Subscription, SubscriptionFilter> {
  /** Id of the API or product → its name, for subscriptions that the caller may read: also those of other tenants, and removed ones. */
  namesOf(
    subscriptions: readonly Pick<Subscription, 'apiId' | 'productId'>[],
  ): Promise<ReadonlyMap<string, string>>
  /** The newest that was approved, of the application to the API or product, also when it is over. */
  lastApproved(
    of: Pick<Subscription, 'apiId' | 'productId' | 'application'>,
  ): Promise<Subscription | undefined>
  /** Subscriptions to an API or product that are not over, locked. */
  openOf(of: { readonly apiId: string } | { readonly productId: string }): Promise<readonly Subscription[]>
  /** The same of all APIs of a tenant. */
  openOfTenant(tenantId: string): Promise<readonly Subscription[]>
  /** Subscriptions that are due to expire, locked; those locked by another instance are skipped. */
  due(limit: number): Promise<readonly Subscription[]>
  /** Approved ones that expire within the notice, or within half of their life, and are not announced; locked like those. */
  listExpiring(noticeMs: number, limit: number): Promise<readonly Subscription[]>
  /** Notes that the expiry date of a locked row is announced. Clients do not see it, so `updatedAt` and `revision` stay. */
  noteAnnounced(row: Pick<Subscription, 'id' | 'tenantId' | 'expiresAt'>): Promise<void>
}

interface ApiKeyFilter extends Search {
  readonly status?: ApiKeyStatus | undefined
  readonly subscriptionId?: string | undefined
  /** Only keys of this application's subscriptions, in addition to the other filters. */
  readonly onlyApplication?: string | undefined
  /** Only keys of subscriptions of applications of this other tenant. */
  readonly subscriberTenantId?: string | undefined
}

export interface ApiKeyRepository extends Rows<ApiKey, ApiKeyFilter> {
  /** Subscription → prefix of its newest key that is not revoked. */
  prefixesOf(subscriptionIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Oldest first, locked. */
  ofSubscription(subscriptionId: string): Promise<readonly ApiKey[]>
  /** Keys of approved subscriptions that expire within the notice, or within half of their life, and are not announced; locked. */
  listExpiring(noticeMs: number, limit: number): Promise<readonly ApiKey[]>
  /** Notes that the expiry date of a locked row is announced. Clients do not see it, so `updatedAt` and `revision` stay. */
  noteAnnounced(row: Pick<ApiKey, 'id' | 'tenantId' | 'expiresAt'>): Promise<void>
  /** Moves `lastUsedAt` forward, never back. */
  touch(uses: readonly { readonly id: string; readonly at: Date }[]): Promise<void>
}

interface ConsumerFilter extends Search {
  readonly status?: ConsumerStatus | undefined
  readonly tenantId?: string | undefined
}

export interface ConsumerRepository extends Omit<Rows<Consumer, ConsumerFilter>, 'insert'> {
  /** Inserts the consumer unless the subject exists; returns the stored one. */
  ensure(consumer: Consumer): Promise<Consumer>
  bySubject(subject: string): Promise<Consumer | undefined>
  /** Names of the consumers of these tenants with these subjects; a subject may be one of several tenants. */
  listNames(
    of: readonly Pick<Consumer, 'tenantId' | 'subject'>[],
  ): Promise<readonly Pick<Consumer, 'tenantId' | 'subject' | 'name'>[]>
  /** Moves `lastSeenAt` forward, never back. */
  touch(
    uses: readonly { readonly tenantId: string; readonly subject: string; readonly at: Date }[],
  ): Promise<void>
}

/** Marks on the sessions of console and portal, of all tenants. */
export interface SessionMarkRepository {
  /** @returns whether there was none that is still valid. @throws Error when there are too many */
  put(mark: string, until: Date): Promise<boolean>
  has(mark: string): Promise<boolean>
}

/** The fields that a gateway instance reports when it registers. */
export type GatewayReport = Pick<
  GatewayInstance,
  'name' | 'reportedStatus' | 'version' | 'url' | 'workers' | 'authConfig'
>

interface GatewayFilter extends Search {
  readonly status?: GatewayStatus | undefined
}

export interface GatewayRepository extends Omit<Rows<GatewayInstance, GatewayFilter>, 'insert'> {
  /** Creates or renews the instance of that name. */
  register(id: string, report: GatewayReport): Promise<GatewayInstance>
  /** With its deployments. */
  remove(id: string): Promise<void>
  /** Gateways that are not offline. */
  live(): Promise<readonly GatewayInstance[]>
  /** Notifies every control-plane instance, at commit, to send the gateway its whole snapshot again. */
  requestResync(id: string): Promise<void>
}

export interface DeploymentRepository {
  find(id: string): Promise<Deployment | undefined>
  list(
    /** `q` matches anywhere in the names of API and gateway. */
    filter: Search & {
      readonly apiId?: string | undefined
      readonly gatewayId?: string | undefined
      readonly tenantId?: string | undefined
    },
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
  /** SHA-256 of scope, caller, method, path and key. */
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

/**
 * Rows that gateways need: tenants that are not being deleted, APIs that are not retired, approved subscriptions, keys that are not revoked;
 * of suspended and recently expired subscriptions what a refusal needs.
 */
export interface ShareRows {
  readonly tenants: readonly Pick<Tenant, 'id' | 'name' | 'status'>[]
  readonly plans: readonly PlanRecord[]
  readonly apis: readonly (Pick<
    Api,
    | 'id'
    | 'tenantId'
    | 'path'
    | 'version'
    | 'versioning'
    | 'deprecatedAt'
    | 'deprecation'
    | 'name'
    | 'type'
    | 'upstreamUrl'
    | 'mcp'
    | 'acceptedSpecHash'
    | 'authRequired'
    | 'requestsPerHour'
    | 'passthrough'
    | 'traffic'
    | 'revision'
  > & { readonly hasSpec: boolean })[]
  readonly subscriptions: readonly Pick<
    Subscription,
    | 'id'
    | 'tenantId'
    | 'apiId'
    | 'productId'
    | 'application'
    | 'subscriberTenantId'
    | 'plan'
    | 'rateLimit'
    | 'quota'
    | 'expiresAt'
  >[]
  readonly inactive: readonly Pick<
    Subscription,
    'id' | 'tenantId' | 'apiId' | 'productId' | 'application' | 'subscriberTenantId' | 'status'
  >[]
  readonly products: readonly Pick<Product, 'id' | 'tenantId' | 'apiIds'>[]
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
  /** Consumers with an assigned plan, and blocked ones. */
  readonly consumers: readonly Pick<Consumer, 'tenantId' | 'subject' | 'plan' | 'status'>[]
}

export interface ShareRepository {
  globalPlans(): Promise<readonly PlanRecord[]>
  /** For these tenants, or of all when absent, in a fixed number of queries. The rows of a tenant have a fixed order. */
  load(tenantIds?: readonly string[]): Promise<ShareRows>
}
