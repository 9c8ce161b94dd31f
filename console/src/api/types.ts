/** Short names for the generated types of the control plane's API, and the type of a page of a list. */
import type { components } from './control-plane.generated.ts'

type Schemas = components['schemas']

export type Api = Schemas['Api']
export type ApiKey = Schemas['ApiKey']
export type AuditEntry = Schemas['AuditRecord']
export type Consumer = Schemas['Consumer']
export type Deployment = Schemas['Deployment']
export type FleetCalls = Schemas['FleetCalls']
export type FleetGateway = Schemas['FleetGateway']
export type FleetOverview = Schemas['FleetOverview']
export type FleetTools = Schemas['FleetTools']
export type Gateway = Schemas['Gateway']
export type GatewayDifference = Schemas['GatewayDifference']
export type IssuedApiKey = Schemas['IssuedApiKey']
export type NewApi = Schemas['NewApi']
export type NewWebhook = Schemas['NewWebhook']
export type PolicyDraftReport = Schemas['PolicyDraftReport']
export type PolicyFlip = Schemas['PolicyFlip']
export type PolicyInForce = Schemas['Policy']
export type PortalApi = Schemas['PortalApi']
export type PortalProduct = Schemas['PortalProduct']
export type PublicApi = Schemas['PublicApi']
export type PublicProduct = Schemas['PublicProduct']
export type Usage = Schemas['Usage']
export type Plan = Schemas['Plan']
export type Subscription = Schemas['Subscription']
export type Tenant = Schemas['Tenant']
export type Webhook = Schemas['Webhook']
export type WebhookDelivery = Schemas['WebhookDelivery']

/** A page of a list. */
export interface List<T> {
  readonly items: readonly T[]
  readonly total: number
  readonly page: number
  readonly total_pages: number
}
