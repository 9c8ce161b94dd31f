/** The interfaces of a policy engine, its input and its decisions, and of an observer of decisions, and the pause before a retry. */
import type { DenialReason } from '../model/refusal.ts'

/** What the policy is asked (AuthZEN Authorization API 1.0: subject, action, resource, context). */
export interface PolicyInput {
  readonly subject: {
    readonly type: 'token' | 'api_key' | 'anonymous'
    readonly id: string
    readonly properties: {
      readonly consumer: string
      readonly tenant: string | null
      readonly roles: readonly string[]
      readonly scopes: readonly string[]
      /** Present when token and roles must both grant a scope (`SCOPES=intersection`). */
      readonly rights?: 'intersection'
    }
  }
  /** `tools.call`, `resources.read`, `prompts.get`, `tools.list`, `resources.list`, `prompts.list`, `admin`, `proxy`, or a control-plane action. */
  readonly action: { readonly name: string }
  readonly resource: {
    readonly type: 'tool' | 'resource' | 'prompt' | 'tools' | 'api' | 'admin' | 'control'
    readonly id: string
    readonly properties: {
      /** Tenant the resource belongs to; null = shared by all tenants. */
      readonly tenant: string | null
      /** True: it belongs to the caller's own application (a subscription, a key). */
      readonly own?: boolean
      readonly toolSet?: string
      /** Who executes the tool: the HTTP API of a document, or an MCP server. */
      readonly source?: 'openapi' | 'mcp'
      readonly tags?: readonly string[]
      readonly annotations?: { readonly [hint: string]: unknown }
    }
  }
  readonly context: {
    readonly access: string
    /** Unix ms. */
    readonly time: number
    readonly plan: string | null
    /** The call's arguments; absent while a tool is only being listed (unknown, not empty). */
    readonly arguments?: { readonly [name: string]: unknown }
    /** Results of the client for the obligation `ask`, by the question's name; absent before the first result. */
    readonly answers?: { readonly [name: string]: unknown }
  }
}

/** The decision of the policy. A denial has at least one reason. */
export interface Decision {
  readonly allow: boolean
  readonly reasons: readonly DenialReason[]
  /** Obligation name → its parameters, e.g. `confirm`, `redact`. */
  readonly obligations?: { readonly [name: string]: unknown }
  /** Revision of the bundle that decided; with `+` and the tenant's where a bundle of the tenant decided too. */
  readonly revision: string
  /** True when the engine could not decide: allow is then false (fail closed). */
  readonly unavailable?: boolean
}

/** `Retry-After` of a call that could not be decided (`unavailable`): an interrupted evaluation or an unreachable policy server seldom lasts longer. */
export const POLICY_RETRY_SECS = 1

/** A policy made ready to decide, in one thread. */
export interface PreparedPolicy {
  readonly engine: 'opa-wasm' | 'opa-http'
  readonly revision: string
  /**
   * Decides about one call. Never throws: undefined results, errors and time-outs are denials with `unavailable`.
   * @param subjectKey same for callers the policy cannot distinguish (Principal.visibilityKey); decisions may be cached under it.
   * @param resourceKey same for resources the policy cannot distinguish, such as the tool's index in the snapshot.
   */
  decide(input: PolicyInput, subjectKey: string, resourceKey: number): Decision | Promise<Decision>
  /**
   * Same for callers for whom decisions about every listed resource are the same, so that a list of permitted resources may be kept under it.
   * undefined: such a list may not be kept, not even for its caller.
   * @param input of any operation of the caller; made only where the policy reads facts for which the subject's key does not stand
   */
  listKey(subjectKey: string, input: () => PolicyInput): string | undefined
  /** How many decisions are cached; `clearCache` returns how many there were. */
  readonly cached: number
  clearCache(): number
  close(): void
}

export interface PolicyEngine {
  /** Loads and checks a bundle (tar.gz made by `opa build -t wasm`). @throws Error that names what is wrong with the bundle. */
  prepare(bundle: Uint8Array): Promise<PreparedPolicy>
}

/** Receives every decision about a call. */
export interface DecisionObserver {
  /**
   * Never throws and never waits.
   * @param atMs Unix ms.
   * @param schema of the arguments; what it marks as sensitive is not kept.
   * @returns the id under which the decision is kept; undefined when it is allowed and left out.
   */
  recordDecision(input: PolicyInput, decision: Decision, atMs: number, schema?: object): string | undefined
}
