/** The interface of the database: transactions within a tenant's scope. It holds no query; `sql/` has them, `pglite/` and `postgres/` run them. */
import type {
  ApiKeyRepository,
  ApiRepository,
  ConsumerRepository,
  DeploymentRepository,
  EventRepository,
  GatewayRepository,
  IdempotencyRepository,
  MeteringRepository,
  PlanRepository,
  ShareRepository,
  SubscriptionRepository,
  TenantRepository,
  TierUsageRepository,
  UsageRepository,
} from './repositories.ts'
import type { DeliveryRepository, WebhookRepository } from './webhook-repositories.ts'

/** Every tenant's rows; only for callers that the policy let act across tenants, and for the service itself. */
export const EVERY_TENANT = '*'

/** Id of the one tenant whose rows a transaction may see and change, or `EVERY_TENANT`. */
export type Scope = string

/** What one transaction can do. Every repository is bound to the scope; row-level security repeats it in the database. */
export interface Transaction {
  readonly scope: Scope
  /** The moment all rows of this transaction are stamped with. */
  readonly now: Date
  readonly tenants: TenantRepository
  readonly apis: ApiRepository
  readonly plans: PlanRepository
  readonly subscriptions: SubscriptionRepository
  readonly keys: ApiKeyRepository
  readonly consumers: ConsumerRepository
  readonly gateways: GatewayRepository
  readonly deployments: DeploymentRepository
  readonly events: EventRepository
  readonly idempotency: IdempotencyRepository
  readonly usage: UsageRepository
  readonly metering: MeteringRepository
  readonly tierUsage: TierUsageRepository
  readonly share: ShareRepository
  readonly webhooks: WebhookRepository
  readonly deliveries: DeliveryRepository
}

/** A message between instances, delivered at least once at commit while the connection stands; readers also poll. */
export type Signal =
  | { readonly kind: 'changed' }
  | { readonly kind: 'resync'; readonly gatewayId: string }
  /** The connection was away: anything may have been missed. */
  | { readonly kind: 'reconnected' }

export interface Store {
  readonly adapter: 'pglite' | 'postgres'
  /**
   * Runs `work` in one transaction; events appended in it, and their deliveries, commit with it or not at all. A failed transaction leaves nothing.
   * Repeated up to three times when the database reports a deadlock or a serialization failure, so `work` must have no other effects.
   * @throws StoreConflict when a unique constraint is hit
   * @throws StoreUnavailable when the database cannot be reached or gives up; where that was during the commit, it may have been carried out
   */
  write<T>(scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs `work` on one consistent view of the database; writing in it fails. @throws StoreUnavailable */
  read<T>(scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Returns a function that stops listening. */
  onSignal(listener: (signal: Signal) => void): () => void
  /** @throws StoreUnavailable when the database does not answer */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Constraints whose violation a caller can cause; the name says what is already taken. */
export const UNIQUE_CONSTRAINTS = [
  'tenants_name_key',
  'apis_path_key',
  'plans_slug_key',
  'subscriptions_application_key',
  'consumers_subject_key',
] as const
export type UniqueConstraint = (typeof UNIQUE_CONSTRAINTS)[number]

/** Something of that name exists already. */
export class StoreConflict extends Error {
  readonly constraint: UniqueConstraint
  constructor(constraint: UniqueConstraint) {
    super(`unique constraint ${constraint} is violated`)
    this.name = 'StoreConflict'
    this.constraint = constraint
  }
}

const RETRY_AFTER_SECS = 1

/** The database cannot be used now, and the same call may succeed later. What went wrong is the `cause`. */
export class StoreUnavailable extends Error {
  readonly retryAfterSecs = RETRY_AFTER_SECS
  constructor(cause: unknown) {
    super(`the database is unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'StoreUnavailable'
  }
}
