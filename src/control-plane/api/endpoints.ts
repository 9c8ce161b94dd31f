/** The list of the endpoints, and the OpenAPI document of them and of the snapshot stream. `control-plane.ts` mounts them. */

import type { Endpoint } from './http/endpoint.ts'
import { type DocumentInfo, openApiDocument } from './http/openapi.ts'
import { snapshotStream } from './http/snapshot-stream.ts'
import { apiKeyEndpoints } from './routes/api-keys.ts'
import { apiEndpoints } from './routes/apis.ts'
import { auditEndpoints } from './routes/audit.ts'
import { configurationEndpoints } from './routes/configuration.ts'
import { consumerEndpoints } from './routes/consumers.ts'
import { deploymentEndpoints } from './routes/deployments.ts'
import { fleetCallEndpoints } from './routes/fleet-calls.ts'
import { gatewayEndpoints } from './routes/gateways.ts'
import { metricsEndpoints } from './routes/metrics.ts'
import { planEndpoints } from './routes/plans.ts'
import { policyEndpoints } from './routes/policy.ts'
import { portalEndpoints } from './routes/portal.ts'
import { productEndpoints } from './routes/products.ts'
import { subscriptionEndpoints } from './routes/subscriptions.ts'
import { tenantEndpoints } from './routes/tenants.ts'
import { webhookEndpoints } from './routes/webhooks.ts'

export const ENDPOINTS: readonly Endpoint[] = [
  ...tenantEndpoints,
  ...apiEndpoints,
  ...subscriptionEndpoints,
  ...apiKeyEndpoints,
  ...planEndpoints,
  ...productEndpoints,
  ...webhookEndpoints,
  ...metricsEndpoints,
  ...consumerEndpoints,
  ...gatewayEndpoints,
  ...fleetCallEndpoints,
  ...deploymentEndpoints,
  ...portalEndpoints,
  ...configurationEndpoints,
  ...policyEndpoints,
  ...auditEndpoints,
]

/** The OpenAPI 3.1 document at `/openapi.json`. */
export function controlPlaneDocument(info: DocumentInfo): object {
  return openApiDocument(ENDPOINTS, [snapshotStream], info)
}
