/** The types of a compiled snapshot and of what it offers to calls, and the prefixes of feature names. `compile.ts` builds snapshots. */

import type { MaybePromise } from '../../base/and-then.ts'
import type { CheckOutcome } from '../../base/json-schema/argument-fault.ts'
import type { VersionShare } from '../../link/share-schema.ts'
import type { ServerAddress } from '../../mcp/protocol.ts'
import type { Plan, PlanLimits } from '../../model/plan.ts'
import type { Principal } from '../../model/principal.ts'
import type { Passthrough } from '../../model/schema/passthrough.ts'
import type { Traffic } from '../../model/schema/traffic.ts'
import type { SubscriptionFault } from '../../model/subscription.ts'
import type { BackendAuthentication, Tool } from '../../model/tool.ts'
import type { UpstreamRules } from '../../net/egress/upstream-rules.ts'
import type { PreparedPolicy } from '../../policy/engine.ts'
import type { ViewIndex } from './view-index.ts'

/** In front of names of features (`model/tool.ts`). */
export const RESOURCE_PREFIX = 'resource:'
export const PROMPT_PREFIX = 'prompt:'

/** A tool made ready by the snapshot compiler. */
export interface CompiledTool {
  readonly tool: Tool
  /** Position in the snapshot; dense, so that decisions can be cached in arrays. */
  readonly index: number
  /** Checks arguments; returns the faults, empty when they fit, or why it did not finish. A promise when another thread checks. Never throws. */
  readonly validate: (args: unknown) => MaybePromise<CheckOutcome>
  /** For `structuredContent`; undefined: the tool declares no outputSchema. */
  readonly validateOutput?: ((value: unknown) => MaybePromise<CheckOutcome>) | undefined
  /** Arguments (validated before) → the exact request of the backend, with its credential unless that is an OAuth token. Never throws. */
  readonly buildRequest: (args: { readonly [name: string]: unknown }) => BackendRequest
  /** The same for arguments of any size; other work may come between its steps. */
  readonly buildInSteps: (args: { readonly [name: string]: unknown }) => Generator<void, BackendRequest>
  /** Present when an MCP server executes the tool: then nothing else is sent. */
  readonly mcp?: McpTarget | undefined
  /** Present for a resource or prompt that a document describes. */
  readonly document?: DocumentTarget | undefined
}

type Params = { readonly [name: string]: unknown }

/** The parts of a resource or prompt that need no backend. All results are as clients receive them. */
export interface DocumentTarget {
  /** For `completion/complete`. */
  readonly complete: (params: Params) => Params
  /** For a prompt; undefined: the backend is called. */
  readonly render: ((args: Params) => Params) | undefined
}

/** The server that executes a tool, and what a call sends to it. */
export interface McpTarget {
  readonly address: ServerAddress
  readonly authentication: BackendAuthentication
  /** The same for tools that may share sessions with the server. */
  readonly key: string
  /** False: a session is used for one caller only. */
  readonly isShared: boolean
  /** Arguments (validated before) → the request that executes it. */
  readonly request: (args: { readonly [name: string]: unknown }) => McpRequest
  /** Params of `completion/complete` as the client wrote them → the request for the server; undefined: it completes nothing. */
  readonly complete: ((params: { readonly [name: string]: unknown }) => McpRequest) | undefined
  /** In front of the URIs of the server, as clients see them; '' when they are the same. */
  readonly uriPrefix: string
}

interface McpRequest {
  readonly method: string
  readonly params: { readonly [name: string]: unknown }
  /** Flat. */
  readonly headers: readonly string[]
}

/** One HTTP request to a backend, ready to send. */
export interface BackendRequest {
  readonly method: string
  readonly url: string
  /** Flat: name, value, name, value … */
  readonly headers: readonly string[]
  readonly body?: string | Uint8Array
}

/** A listing, serialized. */
export type ListingForm = ShortForm | LongForm

export interface ShortForm {
  readonly json: string
  /** The same in UTF-8, with the text that follows it in a response; undefined until it is first sent. */
  tail: { readonly after: string; readonly bytes: Uint8Array } | undefined
}

/** Too long to be sent in one turn of the event loop. */
interface LongForm {
  /** UTF-8. */
  readonly pieces: readonly Uint8Array[]
}

/** The tools one class of callers may call, in name order; one object per snapshot and class, so that its serialized forms can be cached on it. */
export interface ToolListing {
  readonly tools: readonly CompiledTool[]
  /** Serialized forms, by the name of the form; filled by the gateway. A promise: it is being written. */
  readonly forms: Map<string, MaybePromise<ListingForm>>
}

/** The limits of one consumer (docs/reference/http.md, Quotas per consumer): of its subscription, else of its plan or a plan rule, else the defaults. */
export interface Entitlement {
  readonly limits: PlanLimits
  readonly plan: Plan | undefined
  readonly subscriptionId: string | undefined
  /** Counters are kept per consumer, and where a subscription applies per API or product that it is to: a new one continues those of the one before. */
  readonly counter?: string | undefined
  /** When the subscription ends, unix ms; absent: it does not, or there is none. */
  readonly endsAtMs?: number | undefined
  /** Counters are kept per user in place of the consumer. */
  readonly per?: 'user' | undefined
}

/** An API of the control plane, ready to be proxied. */
export interface CompiledApi {
  readonly id: string
  /** Unique among the APIs of a snapshot; small, and the same in the next one while the API stays as it is. */
  readonly index: number
  /** Name of the tenant it belongs to. */
  readonly tenant: string
  /** Public path: `/t/{tenant}{path}`. */
  readonly prefix: string
  /** Without trailing slash. */
  readonly upstreamUrl: string
  readonly authRequired: boolean
  /** Requests of one consumer, tool calls of the API included; undefined: the API has no limit. */
  readonly requestsPerHour: number | undefined
  /** What it allows beyond the defaults; undefined: nothing. */
  readonly passthrough?: Passthrough | undefined
  /** Rules of the API for its proxied calls; undefined: none. */
  readonly traffic?: Traffic | undefined
  /** The rules that concern calls of its upstream, made ready; undefined: none. */
  readonly upstream?: UpstreamRules | undefined
  /** Set where APIs share the prefix: a request header chooses among them. */
  readonly version?: VersionShare | undefined
  /** Response headers of its calls, flat: the announcement of its end, and what the choice of the version varies on. */
  readonly notices?: readonly string[] | undefined
  /** Calls from then on are refused, unix ms; undefined: none is. */
  readonly goneAtMs?: number | undefined
  /** The page about its end. */
  readonly deprecationLink?: string | undefined
}

/** An API key as the snapshot knows it. */
export interface KeyEntry {
  readonly id: string
  /** SHA-256 of the whole key, hex. */
  readonly hash: string
  readonly tenant: string
  readonly subscriptionId: string
  readonly apiIds: readonly string[]
  readonly application: string
  /** Name of the application's tenant, where it is not the owner of the API. */
  readonly subscriber: string | undefined
  /** Unix ms; Infinity when the key does not expire. */
  readonly expiresAtMs: number
}

/** Where a plan of a consumer comes from. Names are those of the wire. */
export interface PlanChoice {
  readonly source: 'subscription' | 'control_plane' | 'plans_file' | 'default'
  /** API id of a subscription: it concerns calls of this API. */
  readonly api_id?: string
  /** null: the default limits. */
  readonly plan: string | null
}

export interface ServedFeatures {
  readonly resources: boolean
  readonly prompts: boolean
  readonly completions: boolean
  readonly subscriptions: boolean
  readonly logging: boolean
  /** Tools, resources or prompts of MCP servers. */
  readonly mcpServers: boolean
  /** Calls of a tool may run as tasks. */
  readonly tasks: boolean
}

/** What an exchange may read of the configuration it is pinned to. A request ends on the snapshot it began with. */
export interface Snapshot {
  /** SHA-256 of the document it was compiled from, hex. */
  readonly version: string
  readonly policy: PreparedPolicy
  /** The tools a tenant's callers can see (own and `platform`), in name order. */
  toolsOf(tenant: string | undefined): ReadonlyMap<string, CompiledTool>
  readonly toolCount: number
  /** Resources and prompts that a tenant's callers can see, by the names of their tools. */
  featuresOf(tenant: string | undefined): ReadonlyMap<string, CompiledTool>
  /** Parts of MCP beside tools that something serves. */
  readonly served: ServedFeatures
  /** Some tools are not listed over MCP, but searched for. */
  readonly hasSearchedTools: boolean
  /** ToolViews of every tenant. */
  readonly views: ViewIndex
  /** Tools of every tenant, without resources and prompts. */
  readonly tools: readonly CompiledTool[]
  /** Kept listings by class of callers (`listKey` of the policy); `list-tools` fills and bounds it. */
  readonly listings: Map<string, ToolListing>
  /** The limits of a consumer and their origin; the same object for the same result. */
  entitlementOf(principal: Principal, apiId: string | undefined, nowMs: number): Entitlement
  /** Proxied APIs: tenants by name, the APIs of each by prefix. */
  readonly apis: readonly CompiledApi[]
  apiOf(id: string): CompiledApi | undefined
  /** What the control plane knows about a key, by its public prefix. */
  keyOf(prefix: string): KeyEntry | undefined
  /** The control plane's id of a tenant, by its name. */
  tenantIdOf(name: string): string | undefined
  /** True for a consumer that the control plane has blocked in this tenant. */
  isBlocked(tenant: string | undefined, consumer: string): boolean
  /** Why the subscription of a key, or of the consumer to this API, is not served; undefined: it is, or there is none. */
  subscriptionFault(principal: Principal, apiId: string, nowMs: number): SubscriptionFault | undefined
  /** Every plan that a token of the consumer may have in the tenant, except by plan rules; the first that concerns a call decides about it. */
  plansOf(tenant: string, consumer: string, nowMs: number): readonly PlanChoice[]
  /**
   * The entitlement whose calls are counted under these names (`counterKey`). undefined: the subscription has ended, or a rule may have
   * given the caller another plan.
   */
  countedEntitlement(tenant: string, consumer: string, counter: string | undefined): Entitlement | undefined
  /** True for a tenant of the control plane whose calls are refused. */
  isSuspended(tenant: string | undefined): boolean
}
