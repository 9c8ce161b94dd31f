/** What the control plane is given from outside. It holds no default that a deployment would have to know. */

import type { Api } from '../../model/api.ts'
import type { AuthConfig } from '../../model/gateway-instance.ts'
import type { Tenant } from '../../model/tenant.ts'
import type { Tool } from '../../model/tool.ts'
import type { TokenVerifier } from '../../shared/identity/verifier.ts'
import type { PreparedPolicy } from '../../shared/policy/engine.ts'
import type { Store } from '../store/store.ts'

export interface CorsOptions {
  /** `*` allows all; else exact origins. */
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly allowHeaders: readonly string[]
  readonly exposeHeaders: readonly string[]
  readonly maxAgeSecs: number
}

export interface ControlPlaneOptions {
  /** Migrated; closed by whoever opened it, after the control plane. */
  readonly store: Store
  readonly verifier: TokenVerifier
  /** The policy as it now is. One of its own for the control plane: the numbers of its questions are not those of tools. */
  readonly policy: () => PreparedPolicy
  /** Public address of the gateway; tenants' addresses begin with it. */
  readonly gatewayUrl: string
  /** Public address of this API, without `/v1`. */
  readonly apiUrl: string
  readonly version: string
  /** Unix ms; the same clock that the store was opened with. */
  readonly now: () => number
  /** Moves that clock forward: adds `POST /test/clock`. For `TEST_HOOKS=1` only. */
  readonly advanceClock?: (ms: number) => void
  readonly maxBodyBytes: number
  /** Refuses webhooks over plain HTTP (production). */
  readonly webhooksHttpsOnly?: boolean
  readonly cors?: CorsOptions
  /** Shown as `auth_config` of gateways that report none. */
  readonly authConfig?: AuthConfig
  /** Tools of an API's OpenAPI document. A rejection leaves the API without tools and is told to `onFault`. */
  readonly toolsOf?: (api: Api, tenant: Tenant) => Promise<readonly Tool[]>
  /** Told of every failure that no caller can see: answers with 500, failed sweeps, failed publications. */
  readonly onFault: (message: string, error: unknown) => void
  /** How often expired subscriptions, old rows and deleted tenants are looked for, and changes polled for. 5,000 at most. */
  readonly sweepIntervalMs?: number
}
