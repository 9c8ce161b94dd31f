/** Types of the tables for Kysely, with names in camel case. `migrations/` defines the tables themselves. */
import type { ColumnType } from 'kysely'
import type { Api } from '../../../model/api.ts'
import type { ApiKey } from '../../../model/api-key.ts'
import type { Consumer } from '../../../model/consumer.ts'
import type { Deployment } from '../../../model/deployment.ts'
import type { DomainEvent } from '../../../model/event.ts'
import type { AuthConfig, GatewayInstance } from '../../../model/gateway-instance.ts'
import type { Mail } from '../../../model/mail.ts'
import type { PlanRecord } from '../../../model/plan.ts'
import type { Product } from '../../../model/product.ts'
import type { TenantSettings } from '../../../model/schema/tenant.ts'
import type { Subscription } from '../../../model/subscription.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { Webhook } from '../../../model/webhook.ts'
import type { Delivery } from '../../../model/webhook-delivery.ts'
import type { AppliedResource } from '../configuration-repository.ts'

/** Both drivers take jsonb as text and return it parsed. */
type JsonColumn<T> = ColumnType<T, string, string>
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface Tables {
  tenants: Mutable<Omit<Tenant, 'settings'>> & { settings: JsonColumn<TenantSettings> }
  plans: Mutable<PlanRecord>
  apis: Mutable<
    Omit<
      Api,
      'mcp' | 'passthrough' | 'traffic' | 'versioning' | 'deprecation' | 'sharing' | 'pendingDefinitions'
    >
  > & {
    mcp: JsonColumn<Api['mcp']>
    passthrough: JsonColumn<Api['passthrough']>
    traffic: JsonColumn<Api['traffic']>
    versioning: JsonColumn<Api['versioning']>
    deprecation: JsonColumn<Api['deprecation']>
    sharing: JsonColumn<Api['sharing']>
    pendingDefinitions: JsonColumn<Api['pendingDefinitions']>
    deletedAt: ColumnType<Date | null, Date | null | undefined, Date | null>
  }
  subscriptions: Mutable<Omit<Subscription, 'metadata'>> & { metadata: JsonColumn<Subscription['metadata']> }
  products: Mutable<Omit<Product, 'apiIds'>> & {
    apiIds: JsonColumn<Product['apiIds']>
    deletedAt: ColumnType<Date | null, Date | null | undefined, Date | null>
  }
  apiKeys: Mutable<ApiKey>
  consumers: Mutable<Consumer>
  gateways: Mutable<Omit<GatewayInstance, 'authConfig'>> & { authConfig: JsonColumn<AuthConfig> }
  removedGateways: { name: string; reportSequence: number }
  deployments: Mutable<Deployment>
  events: Mutable<Omit<DomainEvent, 'data'>> & { data: JsonColumn<DomainEvent['data']> }
  changeClock: { id: number; seq: number; microseconds: number }
  idempotency: {
    key: string
    tenantId: string
    requestHash: string
    status: number | null
    body: string | null
    createdAt: Date
  }
  usageDaily: {
    tenantId: string
    subscriptionId: string
    day: string
    requests: number
    errors: number
    lastRequestAt: Date
  }
  tierUsage: { tenantId: string; hour: Date; taken: number }
  webhooks: Mutable<Omit<Webhook, 'events' | 'customHeaders' | 'hasSecret' | 'secretNames'>> & {
    secretNames: JsonColumn<Webhook['secretNames']>
    events: JsonColumn<Webhook['events']>
    customHeaders: JsonColumn<Webhook['customHeaders']>
    /** Both secrets are sealed under the key that `keyId` names. */
    secret: string | null
    previousSecret: string | null
    /** Since the last delivery that arrived. */
    failedDeliveries: ColumnType<number, number | undefined, number>
    /** The last attempt took long. */
    slow: ColumnType<boolean, boolean | undefined, boolean>
    previousSecretUntil: Date | null
    keyId: string | null
    /** Values of `customHeaders`, sealed under the key that `headersKeyId` names. */
    sealedHeaders: string | null
    headersKeyId: string | null
  }
  deliveries: Mutable<Delivery> & {
    body: string
    sealedBody: string | null
    keyId: string | null
    lease: string | null
    leasedUntil: Date | null
  }
  sessionMarks: { mark: string; until: Date }
  quotaNotices: {
    tenantId: string
    subscriptionId: string
    quotaWindow: string
    starts: string
    threshold: number
    createdAt: Date
  }
  mails: Mutable<Mail> & { lease: string | null; leasedUntil: Date | null }
  configuration: Mutable<Omit<AppliedResource, 'fields'>> & {
    fields: JsonColumn<AppliedResource['fields']>
    appliedAt: Date
  }
  meteringHours: { tenantId: string; apiId: string; hour: Date; requests: number; errors: number }
  meteringLatencies: { tenantId: string; apiId: string; hour: Date; bucket: number; requests: number }
  meteringMarks: { writer: string; source: string; lastEventId: string; events: number; updatedAt: Date }
  audit: {
    seq: number
    id: string
    at: Date
    tenantId: string | null
    actorKind: string
    actorSubject: string
    actorConsumer: string
    actorTenant: string | null
    action: string
    requestId: string
    gateway: string | null
    resourceType: string
    resourceId: string
    before: string | null
    after: string | null
    hash: string
  }
  auditChain: { id: number; seq: number; hash: string; anchorSeq: number; anchorHash: string }
  schemaMigrations: { name: string; checksum: string; appliedAt: Date }
}
