/** The interface of the repository of configuration as code: resources, their owners and last applied states, and a lock. */
import type { Api } from '../../model/api.ts'
import type { ResourceFields, ResourceKind } from '../../model/configuration.ts'
import type { Consumer } from '../../model/consumer.ts'
import type { PlanRecord } from '../../model/plan.ts'
import type { Product } from '../../model/product.ts'
import type { Tenant } from '../../model/tenant.ts'
import type { Webhook } from '../../model/webhook.ts'

/** The state of a resource after its owner applied it last. */
export interface AppliedResource {
  /** null = a global plan. */
  readonly tenantId: string | null
  readonly kind: ResourceKind
  /** Slug, name, path or subject. */
  readonly key: string
  readonly owner: string
  readonly fields: ResourceFields
  /** Subject of the caller. */
  readonly appliedBy: string
}

export interface ConfigurationRows {
  /** Without those that are being deleted. */
  readonly tenants: readonly Tenant[]
  readonly plans: readonly PlanRecord[]
  readonly apis: readonly Api[]
  readonly products: readonly Product[]
  readonly consumers: readonly Consumer[]
  readonly webhooks: readonly Webhook[]
  readonly applied: readonly AppliedResource[]
}

export interface ConfigurationFilter {
  /** Tenants of these names, and those with resources of this owner; absent: every tenant of the scope. */
  readonly tenants?: { readonly names: readonly string[]; readonly owner: string } | undefined
  /** Consumers to read although they have no configuration. */
  readonly subjects?: readonly string[]
  /** Limit of each kind; the database returns one row more when there are more. */
  readonly limit: number
  readonly maxDocumentBytes: number
}

export interface ConfigurationRepository {
  /** Waits for other transactions that hold the lock, and holds it until the end of this one. */
  lock(): Promise<void>
  /**
   * Consumers that are as they were created are not included, unless they are managed as code or named.
   * @returns undefined when the OpenAPI documents have more bytes than the filter allows
   */
  load(filter: ConfigurationFilter): Promise<ConfigurationRows | undefined>
  /** Writes owner and applied state of resources, in place of earlier ones. */
  record(resources: readonly AppliedResource[]): Promise<void>
  /** The resources have no owner any more. */
  release(resources: readonly Pick<AppliedResource, 'tenantId' | 'kind' | 'key'>[]): Promise<void>
}
