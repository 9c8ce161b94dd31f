/**
 * The interface of the database: transactions within a scope, signals, errors and the constraints that they name.
 * `pglite/` and `postgres/` are its adapters.
 */

import type { AuditRepository } from './audit-repository.ts'
import type { ConfigurationRepository } from './configuration-repository.ts'
import type { MailRepository, NoticeRepository } from './notice-repositories.ts'
import type {
  ApiKeyRepository,
  ApiRepository,
  ConsumerRepository,
  DeploymentRepository,
  EventRepository,
  GatewayRepository,
  IdempotencyRepository,
  PlanRepository,
  ProductRepository,
  SessionMarkRepository,
  ShareRepository,
  SubscriptionRepository,
  TenantRepository,
} from './repositories.ts'
import type { MeteringRepository, TierUsageRepository, UsageRepository } from './usage-repositories.ts'
import type { DeliveryRepository, WebhookRepository } from './webhook-repositories.ts'

/** Rows of every tenant: only for callers that may act across tenants, and for the service itself. */
export const EVERY_TENANT = '*'

/** Id of the one tenant whose rows a transaction may see and change, or `EVERY_TENANT`. */
export type Scope = string

/** The repositories of one transaction, limited to its scope; row-level security enforces the same in the database. */
export interface Transaction {
  readonly scope: Scope
  /** The timestamp of all rows of this transaction. */
  readonly now: Date
  readonly tenants: TenantRepository
  readonly apis: ApiRepository
  readonly plans: PlanRepository
  readonly products: ProductRepository
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
  readonly notices: NoticeRepository
  readonly mails: MailRepository
  readonly configuration: ConfigurationRepository
  readonly sessionMarks: SessionMarkRepository
  /** The same transaction with the repositories of one tenant; the scope must include it. */
  within(tenantId: string): Transaction
  readonly audit: AuditRepository
}

/** A message between instances, delivered at least once at commit while connected; readers also poll. */
export type Signal =
  | { readonly kind: 'changed' }
  | { readonly kind: 'resync'; readonly gatewayId: string }
  /** As given to `notify`. */
  | { readonly kind: 'message'; readonly text: string }
  /** The connection was lost: signals may have been missed. */
  | { readonly kind: 'reconnected' }

export interface Store {
  readonly adapter: 'pglite' | 'postgres'
  /**
   * Runs `work` in one transaction, in which its events and their deliveries are written too. Up to three attempts when the database
   * reports a deadlock or a serialization failure, so `work` must have no other effects.
   * @throws StoreConflict when a unique constraint is violated
   * @throws StoreUnavailable when the database cannot be reached or fails; after a failure during the commit, the outcome is unknown
   */
  write<T>(scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs `work` in a read-only transaction on one consistent view. @throws StoreUnavailable */
  read<T>(scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Sends messages to the listeners of every instance, this one included, in their order; each of at most 7,500 bytes. */
  notify(messages: readonly string[]): Promise<void>
  /** Returns a function that stops listening. */
  onSignal(listener: (signal: Signal) => void): () => void
  /** @throws StoreUnavailable when the database does not respond */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Unique constraints that a caller can violate. */
export const UNIQUE_CONSTRAINTS = [
  'tenants_name_key',
  'apis_path_key',
  'plans_slug_key',
  'subscriptions_application_key',
  'subscriptions_product_key',
  'products_slug_key',
  'consumers_subject_key',
  'webhooks_name_key',
] as const
export type UniqueConstraint = (typeof UNIQUE_CONSTRAINTS)[number]

/** A unique value is already taken. */
export class StoreConflict extends Error {
  readonly constraint: UniqueConstraint
  constructor(constraint: UniqueConstraint) {
    super(`unique constraint ${constraint} is violated`)
    this.name = 'StoreConflict'
    this.constraint = constraint
  }
}

const RETRY_AFTER_SECS = 1

/** The database is unavailable; the same call may succeed later. The `cause` is the original error. */
export class StoreUnavailable extends Error {
  readonly retryAfterSecs = RETRY_AFTER_SECS
  constructor(
    cause: unknown,
    message = `the database is unavailable: ${cause instanceof Error ? cause.message : String(cause)}`,
  ) {
    super(message, { cause })
    this.name = 'StoreUnavailable'
  }
}

/** @returns when the database's clock showed `ms` less: no instance deletes early because its clock is ahead */
export function before({ now }: Transaction, ms: number): Date {
  return new Date(now.getTime() - ms)
}
