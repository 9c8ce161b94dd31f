/** A ToolSet as plain data, its defaults and status, and the tenant of a namespace. */
import type { PendingDefinitions } from './pending-definitions.ts'
import type { AuthenticationType, OAuthClient, TaskSupport, ToolRateLimit } from './tool.ts'
import type { UpstreamTransport } from './upstream-transport.ts'

/** Reference to one key of a ConfigMap or Secret (directory source: a file). */
export interface KeyReference {
  readonly name: string
  readonly key: string
}

/** Exactly one source of the OpenAPI document. */
export type OpenApiSource =
  | { readonly kind: 'url'; readonly url: string; readonly refreshIntervalMs: number }
  | { readonly kind: 'configMap'; readonly ref: KeyReference }
  | { readonly kind: 'secret'; readonly ref: KeyReference }
  | { readonly kind: 'inline'; readonly text: string }

/** An MCP server whose tools, resources and prompts are served. */
export interface McpSource {
  readonly kind: 'mcp'
  readonly url: string
  /** `auto` tries them in turn; `sse` is that of MCP 2024-11-05. */
  readonly transport: 'auto' | 'streamable' | 'sse'
  /** Sent with every request, beside the credential. */
  readonly headers: { readonly [name: string]: string }
  /** Header of the credential of type `apiKey`. */
  readonly keyHeader?: string
  /** `per-caller`: a session of the server is used for one caller only. */
  readonly session: 'per-caller' | 'shared'
  readonly refreshIntervalMs: number
  /** Changed definitions of its tools are served without an acceptance. */
  readonly trusted?: true
  /** The lists that are taken over. */
  readonly features: readonly ('tools' | 'resources' | 'prompts')[]
}

/** Which operations become tools; every field given must agree. */
export interface OperationSelector {
  /** At least one of these tags. */
  readonly tags?: readonly string[]
  /** None of these tags. */
  readonly excludeTags?: readonly string[]
  /** Upper case. */
  readonly methods?: readonly string[]
  /** Compared with the path as the document writes it. */
  readonly pathPrefix?: string
  /** Operation ids of an MCP server: names of tools. */
  readonly operationIds?: readonly string[]
  /** For an MCP server: hints that the tools must have. */
  readonly annotations?: { readonly [hint: string]: boolean }
}

/** How the gateway authenticates at a backend, with a reference in place of the secret. */
export interface DeclaredAuthentication {
  readonly type: AuthenticationType
  readonly secretRef?: KeyReference
  readonly oauth?: OAuthClient
}

export interface ToolDefaults {
  readonly tags: readonly string[]
  readonly timeoutMs: number
  readonly rateLimit?: ToolRateLimit
  readonly authentication: DeclaredAuthentication
  /** Result cache of tools that only read. */
  readonly cache?: { readonly ttlMs: number }
  /** For one result for a model. */
  readonly maxResultBytes?: number
  readonly tasks?: TaskSupport
  /** Declares `outputSchema` from the success response of each operation. */
  readonly outputSchema: boolean
}

export interface ToolNaming {
  readonly prefix: string
  readonly suffix: string
  readonly useOperationId: boolean
  /** Characters; absent: 64. */
  readonly maxLength?: number
}

/** One action of an OpenAPI Overlay 1.0. */
export interface OverlayAction {
  /** JSONPath (RFC 9535). */
  readonly target: string
  /** Merged with each selected object, added to each selected list. */
  readonly update?: unknown
  /** True: the selected values are removed, and `update` has no effect. */
  readonly remove: boolean
}

/** Changes of the document before its operations become tools. */
export type Overlay =
  | { readonly kind: 'inline'; readonly actions: readonly OverlayAction[] }
  | { readonly kind: 'configMap'; readonly ref: KeyReference }

/** A change of one generated tool. */
export interface ToolOverride {
  /** operationId or `{METHOD} {path}`. */
  readonly operation: string
  /** The whole name; prefix and suffix are not added. */
  readonly name?: string
  readonly description?: string
  readonly tasks?: TaskSupport
  /** True: the operation is not a tool. */
  readonly hidden: boolean
  /** By name of the argument. A fixed value is always sent; a hidden argument never. Neither is offered. */
  readonly arguments?: {
    readonly [name: string]: {
      readonly fixed?: unknown
      readonly hidden: boolean
      readonly description?: string
    }
  }
}

export interface ToolSet {
  readonly name: string
  /** `tenant-{name}` or `platform`. */
  readonly namespace: string
  readonly displayName: string
  readonly description?: string
  readonly source?: OpenApiSource | McpSource
  /** Absolute http(s) URL; wins over the servers of the document. */
  readonly baseURL?: string
  readonly selector: OperationSelector
  readonly toolDefaults: ToolDefaults
  readonly naming: ToolNaming
  /** Applied in order. */
  readonly overlays?: readonly Overlay[]
  readonly overrides?: readonly ToolOverride[]
  /** Absent: one HTTP/1.1 request in flight on each connection. */
  readonly upstream?: UpstreamTransport
  /** MCP lists do not hold its tools: clients search for them. */
  readonly listing?: 'search'
  readonly enabled: boolean
  /** Control-plane API the tools belong to. */
  readonly apiId?: string
  /** Annotation `<api_group>/accepted-spec-hash`: the operator has looked at what this document changed. Of an MCP server: what its owner accepts. */
  readonly acceptedSpecHash?: string
}

export type ToolSetPhase = 'Pending' | 'Syncing' | 'Ready' | 'Error' | 'Disabled'

/** As Kubernetes writes conditions (metav1.Condition). */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  /** ISO 8601; changes only when `status` does. */
  readonly lastTransitionTime: string
}

export interface ToolSetStatus {
  readonly phase: ToolSetPhase
  readonly toolCount: number
  readonly tools: readonly string[]
  /** ISO 8601, the last success. */
  readonly lastSyncedAt?: string
  /** SHA-256 of the document in canonical JSON, hex. */
  readonly specHash?: string
  readonly lastError?: string
  readonly conditions: readonly Condition[]
  /** What callers of the tools before the last change would stumble over; absent when nothing. */
  readonly breakingChanges?: readonly string[]
  /** What an MCP server announces and is not served before it is accepted; absent: nothing. */
  readonly pendingDefinitions?: PendingDefinitions
}

/** Tenant whose callers see a namespace; null = all callers; undefined = no caller. */
export function tenantOfNamespace(namespace: string): string | null | undefined {
  if (namespace === 'platform') return null
  return namespace.startsWith('tenant-') && namespace.length > 7 ? namespace.slice(7) : undefined
}

export const DEFAULT_TIMEOUT_MS = 30_000
export const DEFAULT_REFRESH_INTERVAL_MS = 3_600_000
/** A list of tools is small, and not every server reports its changes. */
export const DEFAULT_MCP_REFRESH_MS = 300_000
/** What `spec.toolDefaults` and `spec.naming` mean when they are left out. */
export const DEFAULT_TOOL_DEFAULTS: ToolDefaults = Object.freeze({
  tags: Object.freeze([]),
  timeoutMs: DEFAULT_TIMEOUT_MS,
  authentication: Object.freeze({ type: 'none' }),
  outputSchema: false,
})
export const DEFAULT_NAMING: ToolNaming = Object.freeze({ prefix: '', suffix: '', useOperationId: true })
