/** The ordered list of migrations. Do not edit a released migration: append a new one. */
import { statements as tables } from './0001-tables.ts'
import { statements as rowLevelSecurity } from './0002-row-level-security.ts'
import { statements as seededPlans } from './0003-seeded-plans.ts'
import { statements as webhooks } from './0004-webhooks.ts'
import { statements as metering } from './0005-metering.ts'
import { statements as webhookHeaders } from './0006-webhook-headers.ts'
import { statements as apiPassthrough } from './0007-api-passthrough.ts'
import { statements as configuration } from './0008-configuration.ts'
import { statements as livingSubscriptions } from './0009-living-subscriptions.ts'
import { statements as audit } from './0010-audit.ts'
import { statements as listIndexes } from './0011-list-indexes.ts'
import { statements as apiVersions } from './0012-api-versions.ts'
import { statements as apiTraffic } from './0013-api-traffic.ts'
import { statements as apiVisibility } from './0014-api-visibility.ts'
import { statements as mcpApis } from './0016-mcp-apis.ts'
import { statements as notices } from './0017-notices.ts'
import { statements as products } from './0018-products.ts'
import { statements as sharedApis } from './0019-shared-apis.ts'
import { statements as scaleIndexes } from './0020-scale-indexes.ts'
import { statements as scopeOnce } from './0021-scope-once.ts'
import { statements as tenantIndexes } from './0022-tenant-indexes.ts'

export interface Migration {
  readonly name: string
  /** Run one by one, all migrations of a run in one transaction. */
  readonly statements: readonly string[]
}

export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-tables', statements: tables },
  { name: '0002-row-level-security', statements: rowLevelSecurity },
  { name: '0003-seeded-plans', statements: seededPlans },
  { name: '0004-webhooks', statements: webhooks },
  { name: '0005-metering', statements: metering },
  { name: '0006-webhook-headers', statements: webhookHeaders },
  { name: '0007-api-passthrough', statements: apiPassthrough },
  { name: '0008-configuration', statements: configuration },
  { name: '0009-living-subscriptions', statements: livingSubscriptions },
  { name: '0010-audit', statements: audit },
  { name: '0011-list-indexes', statements: listIndexes },
  { name: '0012-api-versions', statements: apiVersions },
  { name: '0013-api-traffic', statements: apiTraffic },
  { name: '0014-api-visibility', statements: apiVisibility },
  { name: '0016-mcp-apis', statements: mcpApis },
  { name: '0017-notices', statements: notices },
  { name: '0018-products', statements: products },
  { name: '0019-shared-apis', statements: sharedApis },
  { name: '0020-scale-indexes', statements: scaleIndexes },
  { name: '0021-scope-once', statements: scopeOnce },
  { name: '0022-tenant-indexes', statements: tenantIndexes },
]
