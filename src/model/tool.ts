/** A tool, resource or prompt: its definition, how calls reach its backend and are limited, and the form of its result. */
import type { JsonSchema, ObjectSchema } from '../base/json/json-schema.ts'
import type { UpstreamTransport } from './upstream-transport.ts'

/** MCP tool annotations (docs/reference/toolset.md, Annotations). */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint: boolean
  /** Absent where the method does not say: POST. */
  readonly destructiveHint?: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

export type ParameterLocation = 'path' | 'query' | 'header' | 'cookie'

/** One argument that goes into the request line, a header or a cookie (OpenAPI 3.1 §4.8.12, Parameter Object). */
export interface ParameterBinding {
  /** Name of the argument in `inputSchema.properties`. */
  readonly argument: string
  /** Name on the wire. */
  readonly name: string
  readonly in: ParameterLocation
  /** `tabDelimited`: `collectionFormat: tsv` of Swagger 2.0. */
  readonly style:
    | ('simple' | 'label' | 'matrix' | 'form' | 'deepObject')
    | ('spaceDelimited' | 'pipeDelimited' | 'tabDelimited')
  readonly explode: boolean
  readonly allowReserved?: boolean
  /** Set when the parameter is described by `content`: the value is serialized in this media type. */
  readonly contentType?: string
}

/** How arguments become the body. */
export interface BodyBinding {
  readonly contentType: string
  readonly required: boolean
  /** `whole`: the argument of this name is the body. `fields`: each listed argument is one property of the body. */
  readonly from:
    | { readonly kind: 'whole'; readonly argument: string }
    | {
        readonly kind: 'fields'
        readonly fields: readonly { readonly argument: string; readonly name: string }[]
        /** How many of the fields must be given at least (`minProperties` of the body). */
        readonly minFields?: number
      }
  /** Per-property encoding of form and multipart bodies (OpenAPI 3.1 §4.8.15). */
  readonly encoding?: {
    readonly [property: string]: {
      readonly contentType?: string
      readonly style?: ParameterBinding['style']
      readonly explode?: boolean
      readonly allowReserved?: boolean
      /** The argument is base64 text of a file. */
      readonly binary?: boolean
    }
  }
  /** The body is not text: the argument is base64 of it (`from.kind` is `whole`). */
  readonly binary?: boolean
}

/** The table that turns arguments into the exact HTTP request; the catalog writes it, `data-plane/tool-request` reads it. */
export interface RequestTemplate {
  /** Upper case. */
  readonly method: string
  /** Absolute, no trailing slash, without query. */
  readonly baseUrl: string
  /** As in the document, with `{name}` placeholders; without query and fragment. */
  readonly path: string
  /** Query that the document writes into the path itself, already encoded, without `?`. */
  readonly query?: string
  readonly parameters: readonly ParameterBinding[]
  readonly body?: BodyBinding
  /** Arguments that are sent with every call and that no caller sets. */
  readonly fixed?: { readonly [argument: string]: unknown }
  /** Value of the `Accept` header. */
  readonly accept: string
}

/** The MCP server that executes a tool. Requests are POSTs of JSON-RPC messages; the template of the tool only holds fixed arguments. */
export interface McpBinding {
  readonly url: string
  readonly transport: 'auto' | 'streamable' | 'sse'
  /** Name of the tool or prompt on the server; URI or URI template of a resource. */
  readonly tool: string
  /** In front of every URI of this server, as clients see it; '' when absent. */
  readonly uriPrefix?: string
  /** Optional parts of MCP that the server declares. */
  readonly serves?: readonly ('completions' | 'subscriptions' | 'logging' | 'tasks')[]
  /** Flat: name, value, name, value …; without the credential. */
  readonly headers: readonly string[]
  /** As the server lists it (MCP 2025-11-25, `execution.taskSupport`). */
  readonly tasks?: TaskSupport
  /** `per-caller`: a session of the server is used for one caller only. */
  readonly session: 'per-caller' | 'shared'
  /** Arguments that are also sent in a header `Mcp-Param-{header}` (MCP 2026-07-28). */
  readonly mirrored?: readonly { readonly path: readonly string[]; readonly header: string }[]
}

/** Types whose credential is an access token of an authorization server. */
export const OAUTH_TYPES = ['oauth2_client_credentials', 'token_exchange', 'authorization_code'] as const
export const AUTHENTICATION_TYPES = ['none', 'bearer', 'basic', 'apiKey', ...OAUTH_TYPES] as const
export type AuthenticationType = (typeof AUTHENTICATION_TYPES)[number]

/** The client of the gateway at an authorization server, without its secret. */
export interface OAuthClient {
  readonly tokenUrl: string
  readonly clientId: string
  /** How the client identifies itself at the token endpoint (RFC 6749 §2.3.1). */
  readonly clientAuthentication: 'basic' | 'post' | 'none'
  readonly scope?: string
  /** RFC 8693; some servers take it in client credentials too. */
  readonly audience?: string
  /** RFC 8707. */
  readonly resource?: string
  /** Authorization URL of type `authorization_code`. */
  readonly authorizationUrl?: string
  /** RFC 7009. */
  readonly revocationUrl?: string
  /** Exactly as the metadata of the authorization server names it (RFC 8414), for type `authorization_code`. */
  readonly issuer?: string
}

/** Authentication of the gateway towards the backend (never the caller's token). */
export interface BackendAuthentication {
  readonly type: AuthenticationType
  /** For `apiKey`: where the credential goes. */
  readonly in?: 'header' | 'query' | 'cookie'
  readonly name?: string
  /** The credential itself, resolved from the secret; it must never be logged or listed. Of OAuth: the secret of the client. */
  readonly credential?: string
  /** To which the credential may be sent, as in `BoundSecret`. */
  readonly hosts?: readonly string[]
  /** For the types of OAuth. */
  readonly oauth?: OAuthClient
}

/** Each caller has its own token at the backend. */
export function isPerCaller({ type }: Pick<BackendAuthentication, 'type'>): boolean {
  return type === 'token_exchange' || type === 'authorization_code'
}

/** Characters of the name of a tool. */
export const MAX_NAME_LENGTH = 64
/** The least that a ToolSet may set as maximum: a hash, and enough of the name to recognize it. */
export const MIN_NAME_LENGTH = 24

export const TASK_SUPPORT = ['optional', 'required'] as const
export type TaskSupport = (typeof TASK_SUPPORT)[number]

/** A token bucket. */
export interface ToolRateLimit {
  /** Parts of one are taken by the hour: 0.5 is 30 in an hour. */
  readonly requestsPerMinute: number
  readonly burst: number
}

/** Times are ISO 8601. Names are those of the wire. */
export interface ToolDeprecation {
  readonly deprecated_at?: string
  readonly sunset_at?: string
  readonly link?: string
}

/**
 * A resource or prompt of MCP. It is called, counted and decided about like a tool, under the name `resource:{uri}` or `prompt:{name}`, and
 * listed apart.
 */
export interface Feature {
  /** `template`: a resource template. */
  readonly kind: 'resource' | 'template' | 'prompt'
  /** URI, URI template or name, as clients see it. */
  readonly id: string
  /** Members of its list entry beside id and description, as the current version of MCP has them. */
  readonly listed: { readonly [member: string]: unknown }
  /** Present when it comes from a document, and no MCP server serves it. */
  readonly document?: DocumentFeature
}

export interface PromptMessage {
  readonly role: 'user' | 'assistant'
  /** `{{name}}` stands for the argument. */
  readonly text: string
}

export interface DocumentFeature {
  /** For a resource: variable of its URI template → argument of the operation that reads it. */
  readonly variables?: { readonly [name: string]: string }
  /** For a resource: the arguments of that operation. */
  readonly arguments?: ObjectSchema
  /** Messages of a prompt. */
  readonly messages?: readonly PromptMessage[]
  /** Variable or argument → the values that it may have. */
  readonly completions: { readonly [name: string]: readonly string[] }
}

export interface Tool {
  /** `[A-Za-z0-9_.-]{1,64}`, unique among the tools one caller can see. Of a feature: see there. */
  readonly name: string
  /** Kubernetes namespace, or the directory of the tool set: `tenant-{name}` or `platform`. */
  readonly namespace: string
  /** Tenant whose callers see it; null = visible to all (namespace `platform`). */
  readonly tenant: string | null
  /** Name of the ToolSet it came from. */
  readonly toolSet: string
  /** operationId or `{method} {path}` of the document, or the name of the tool on its MCP server, for reports. */
  readonly operation: string
  readonly title?: string
  /** Never empty. */
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly outputSchema?: JsonSchema
  /** JSON of the parts that hold numbers which a double would change (`model/exact-tool.ts`); absent where none do. */
  readonly exact?: string
  readonly annotations: ToolAnnotations
  /** `destructiveHint` in the policy input: DELETE, or the author's word; the defaults of PUT and PATCH only describe. Absent: as in `annotations`. */
  readonly destructive?: boolean
  readonly tags: readonly string[]
  readonly request: RequestTemplate
  /** Present when an MCP server executes it. */
  readonly mcp?: McpBinding
  /** Present when it is not a tool. */
  readonly feature?: Feature
  readonly authentication: BackendAuthentication
  readonly timeoutMs: number
  readonly rateLimit?: ToolRateLimit
  /** For one result for a model; undefined: the setting RESULT_MAX. */
  readonly maxResultBytes?: number
  /** How its calls share connections; absent: one HTTP/1.1 request in flight on each. */
  readonly upstream?: UpstreamTransport
  /** MCP lists do not hold it: clients search for it. */
  readonly listing?: 'search'
  /** Calls may run as tasks (MCP, tasks), or clients that know tasks must ask for one; absent: they cannot. */
  readonly tasks?: TaskSupport
  /** Result cache, opted in; milliseconds. */
  readonly cache?: { readonly ttlMs: number }
  /** Id of the control-plane API it belongs to, when there is one. */
  readonly apiId?: string
  /** The announced end of its API; also in the description, which models read. */
  readonly deprecation?: ToolDeprecation
}

/** One part of a tool result (MCP ContentBlock). */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: {
        readonly uri: string
        readonly mimeType?: string
        readonly text?: string
        readonly blob?: string
      }
    }
  /** Since MCP 2025-06-18. */
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly mimeType?: string
      readonly size?: number
    }

/** Result of a tool call (docs/reference/http.md, Tool result). */
export interface ToolResult {
  readonly content: readonly Content[]
  readonly isError: boolean
  readonly structuredContent?: unknown
  /** For programs: what the backend said beside the body. */
  readonly _meta?: { readonly [key: string]: unknown }
}
