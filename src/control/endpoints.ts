/** The list of all endpoints, and the document made from it. What is not in this list is not served. */
import { apiKeyEndpoints } from './api/api-keys.ts'
import { apiEndpoints } from './api/apis.ts'
import { consumerEndpoints } from './api/consumers.ts'
import { deploymentEndpoints } from './api/deployments.ts'
import { gatewayEndpoints } from './api/gateways.ts'
import { metricsEndpoints } from './api/metrics.ts'
import { planEndpoints } from './api/plans.ts'
import { portalEndpoints } from './api/portal.ts'
import { subscriptionEndpoints } from './api/subscriptions.ts'
import { tenantEndpoints } from './api/tenants.ts'
import { webhookEndpoints } from './api/webhooks.ts'
import type { Endpoint } from './http/endpoint.ts'
import { openApiDocument } from './http/openapi.ts'
import { snapshotStream } from './stream.ts'

export const ENDPOINTS: readonly Endpoint[] = [
  ...tenantEndpoints,
  ...apiEndpoints,
  ...subscriptionEndpoints,
  ...apiKeyEndpoints,
  ...planEndpoints,
  ...webhookEndpoints,
  ...metricsEndpoints,
  ...consumerEndpoints,
  ...gatewayEndpoints,
  ...deploymentEndpoints,
  ...portalEndpoints,
]

/** The OpenAPI 3.1 document, as `/openapi.json` serves it. */
export function controlPlaneDocument(info: { readonly apiUrl: string; readonly version: string }): object {
  return openApiDocument(ENDPOINTS, [snapshotStream], info)
}
