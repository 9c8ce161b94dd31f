/** The options of the control plane. */

import type { TokenVerifier } from '../../identity/verifier.ts'
import type { Api } from '../../model/api.ts'
import type { HostsOfSecret } from '../../model/bound-secret.ts'
import type { AuthConfig } from '../../model/gateway-instance.ts'
import type { Tenant } from '../../model/tenant.ts'
import type { Tool } from '../../model/tool.ts'
import type { MayExchangeAt } from '../../net/egress/oauth/exchange-endpoints.ts'
import type { Pages } from '../../net/server/pages.ts'
import type { PreparedPolicy } from '../../policy/engine.ts'
import type { PolicyWorkshop } from '../../policy/workshop/policy-workshop.ts'
import type { Store } from '../store/store.ts'
import type { AddressOf, RequestLog } from './http/access-log.ts'

export interface ApiCorsOptions {
  /** `*` allows all origins; otherwise exact origins. */
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly allowHeaders: readonly string[]
  readonly exposeHeaders: readonly string[]
  readonly maxAgeSecs: number
}

/** Requests without a token for what every visitor may see. */
export interface VisitorOptions {
  /** For each address; of IPv6 for each /64. */
  readonly perMinute: number
  readonly addressOf: AddressOf
}

export interface CompiledApi {
  readonly tools: readonly Tool[]
  /** Operations that did not become tools and references that are not resolved; null when there are none. */
  readonly degraded: string | null
}

export interface ControlPlaneOptions {
  /** Migrated. The code that opened it closes it, after the control plane. */
  readonly store: Store
  readonly verifier: TokenVerifier
  /** The current policy. The control plane needs a separate one, because its cache keys would collide with those of tools. */
  readonly policy: () => PreparedPolicy
  /** The same without a record of its decisions, for questions about what a caller may do; `policy` when absent. */
  readonly unrecordedPolicy?: () => PreparedPolicy
  /** Compiles drafts of the policy and puts them in force; absent where a policy server has the policy. */
  readonly workshop?: PolicyWorkshop | undefined
  /** Public address of the gateway, the prefix of tenants' addresses. */
  readonly gatewayUrl: string
  /** Public address of this API, without `/v1`. */
  readonly apiUrl: string
  /** That the same listener serves, for `GET /`. */
  readonly pages?: Pages
  readonly version: string
  /** Unix ms; the clock of the store. */
  readonly now: () => number
  /** Advances that clock and adds `POST /test/clock`. For `TEST_HOOKS=1` only. */
  readonly advanceClock?: (ms: number) => void
  readonly maxBodyBytes: number
  /** For a call that concerns many resources; `maxBodyBytes` when absent. */
  readonly maxBulkBodyBytes?: number
  /** Why no delivery can reach the address of a webhook; absent: each can be reached. */
  readonly webhookFault?: (url: string) => string | undefined
  /** Gateways must present a certificate that the listener has verified. */
  readonly verifiesGateways?: boolean
  readonly cors?: ApiCorsOptions
  /** Absent: nothing is shown without a token. */
  readonly visitors?: VisitorOptions | undefined
  /** `auth_config` of gateways that report none. */
  readonly authConfig?: AuthConfig
  /** Where gateways may exchange tokens of callers; absent: nowhere. */
  readonly mayExchangeAt?: MayExchangeAt
  /** Absent: no secret is known. */
  readonly hostsOfSecret?: HostsOfSecret
  /** Why the OpenAPI document of an API cannot have tools, and the fix; undefined when it can. */
  readonly specFault?: (spec: string) => string | undefined
  /** Compiles the OpenAPI document of an API. When it rejects, the API has no tools and `onFault` is called. */
  readonly toolsOf?: (api: Api, tenant: Tenant) => Promise<CompiledApi>
  /** Called after each change that was stored, and is in the audit. @param actor its consumer */
  readonly onChange?: (action: string, actor: string) => void
  /** Called for every error that no caller sees: responses with status 500, failed sweeps and publications. */
  readonly onFault: (message: string, error: unknown) => void
  /** Absent: requests are not logged. */
  readonly requestLog?: RequestLog | undefined
  /** For audit records; 0 or absent: they are kept. */
  readonly auditRetentionMs?: number
  /** Interval for expiring subscriptions, deleting old rows and tenants, and polling for changes; at most 5,000. */
  readonly sweepIntervalMs?: number
}
