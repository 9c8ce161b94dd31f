/** One call on its way through the pipeline: what it asks, what the stages found out, how it ended. No transport, no logic. */

import type { Principal } from '../../model/principal.ts'
import type { ToolResult } from '../../model/tool.ts'
import type { Cancellation } from '../../shared/call/cancellation.ts'
import type { Decision } from '../../shared/policy/engine.ts'
import type { QuotaGrant } from '../quota/quota.ts'
import type { CompiledApi, CompiledTool, Entitlement, Snapshot, ToolListing } from '../snapshot/snapshot.ts'
import type { ClientAnswers, ClientSide } from './inquiry.ts'
import type { Final } from './outcome.ts'

/** What the caller wants done; the action names are those the policy sees. */
export type Operation =
  | {
      readonly action: 'tools.call'
      readonly tool: string
      readonly arguments: { readonly [name: string]: unknown }
    }
  | { readonly action: 'tools.list' }
  | { readonly action: 'resources.list' }
  | { readonly action: 'prompts.list' }
  | { readonly action: 'capabilities.read' }
  /** Use of the caller's own session (streams, cancellation, its end): ownership is the right to it. */
  | { readonly action: 'session' }
  | { readonly action: 'admin'; readonly resource: 'sessions' | 'quotas' | 'cache' | 'policy' }
  | { readonly action: 'proxy'; readonly api: CompiledApi }

/** Credentials as they arrived; a stage that keeps one beyond its run is wrong. '' when absent. */
export interface Credentials {
  readonly authorization: string
  readonly apiKey: string
  /** Value of `X-Tenant-ID`. */
  readonly tenant: string
}

export interface StageTiming {
  readonly stage: string
  /** `performance.now()`. */
  readonly startedAt: number
  readonly ms: number
}

export interface ExchangeInit {
  readonly requestId: string
  readonly traceId: string
  /** What the caller's `traceparent` named as parent, 16 hex digits; absent without a valid one. */
  readonly parentSpanId?: string | undefined
  /** W3C trace flags as two hex digits, the caller's or `01`. */
  readonly traceFlags?: string
  /** What else travels with the trace (`tracestate`, `baggage`), as headers, flat, valid; read by who calls a backend. */
  readonly travelling?: { readonly traceHeaders: readonly string[] }
  readonly access: 'rest' | 'jsonrpc' | 'proxy' | 'admin'
  readonly snapshot: Snapshot
  readonly operation: Operation
  readonly credentials: Credentials
  /** Whose address is asked for by who needs it: it costs a system call. */
  readonly peer: { readonly peerAddress: string }
  readonly cancellation: Cancellation
  /** Unix ms. */
  readonly receivedAtMs: number
  /** Binds the session the request came in to the principal; false when it is another's. Absent without a session. */
  readonly claimSession?: ((principal: Principal) => boolean | Promise<boolean>) | undefined
  /** Proxied calls: sends the request on and the answer back, both as streams; resolves when the answer has ended. */
  readonly forward?: ((exchange: Exchange) => Promise<Final>) | undefined
  /** The client, where it can be asked something before the call; absent when nothing can reach it. */
  readonly client?: ClientSide | undefined
  /** Modern MCP: what an `Mcp-Param-…` header of the request holds, decoded: undefined when absent, null when it cannot be decoded. */
  readonly mirrored?: ((name: string) => string | undefined | null) | undefined
  /** Receives progress of a streaming backend; absent when the caller did not ask for it. */
  readonly onProgress?:
    | ((progress: number, total: number | undefined, message: string | undefined) => void)
    | undefined
}

export class Exchange {
  readonly requestId: string
  readonly traceId: string
  readonly parentSpanId: string | undefined
  readonly traceFlags: string
  readonly travelling: ExchangeInit['travelling']
  readonly access: ExchangeInit['access']
  readonly snapshot: Snapshot
  readonly operation: Operation
  readonly credentials: Credentials
  readonly peer: ExchangeInit['peer']
  readonly cancellation: Cancellation
  readonly receivedAtMs: number
  readonly onProgress: ExchangeInit['onProgress']
  readonly claimSession: ExchangeInit['claimSession']
  readonly client: ExchangeInit['client']
  readonly mirrored: ExchangeInit['mirrored']
  readonly forward: ExchangeInit['forward']
  /** Monotonic milliseconds (`performance.now`) at the start. */
  readonly startedAt: number

  /** Written by `authenticate`. */
  principal: Principal | undefined = undefined
  /** Tenant the call acts in: the principal's, or what a cpi-admin named in X-Tenant-ID. Written by `authenticate`. */
  tenant: string | undefined = undefined
  /** Written by `resolve-tool`. */
  tool: CompiledTool | undefined = undefined
  /** Written by whichever stage asks for it first (`entitlementOf`). */
  entitlement: Entitlement | undefined = undefined
  /** Written by `take-quota`; its release is called once, by settle. */
  quota: QuotaGrant | undefined = undefined
  /** Written by `authorize`. */
  decision: Decision | undefined = undefined
  /** What the client answered to the policy's questions. Written by `ask-client`. */
  answers: ClientAnswers | undefined = undefined
  /** Written by `list-tools`. */
  listing: ToolListing | undefined = undefined
  /** Milliseconds the backend took, -1 when it was not called. Written by `invoke-tool`. */
  backendMs = -1
  /** The result was remembered or shared; the backend was not called for this exchange. Written by `invoke-tool`. */
  cacheHit = false
  requestBytes = 0
  responseBytes = 0
  /** What token optimization takes off an answer, in bytes; absent where the caller asked for none. */
  savings: ((result: ToolResult) => number) | undefined = undefined
  /** Stages that ran and the milliseconds each took, in their order; undefined where nobody measures. Written by the runner. */
  timings: StageTiming[] | undefined = undefined
  /** Of the span that calls the backend (W3C Trace Context, `parent-id`), 16 hex digits; '' when it was not called. */
  backendSpanId = ''
  /** Set by the runner before settle stages run. */
  final: Final = undefined
  #durationMs = -1

  constructor(init: ExchangeInit) {
    this.requestId = init.requestId
    this.traceId = init.traceId
    this.parentSpanId = init.parentSpanId
    this.traceFlags = init.traceFlags ?? '01'
    this.travelling = init.travelling
    this.access = init.access
    this.snapshot = init.snapshot
    this.operation = init.operation
    this.credentials = init.credentials
    this.peer = init.peer
    this.cancellation = init.cancellation
    this.receivedAtMs = init.receivedAtMs
    this.onProgress = init.onProgress
    this.claimSession = init.claimSession
    this.client = init.client
    this.mirrored = init.mirrored
    this.forward = init.forward
    this.startedAt = performance.now()
  }

  /** For settle stages: how long it took. The clock is read once, so that all of them tell the same. */
  get durationMs(): number {
    if (this.#durationMs < 0) this.#durationMs = performance.now() - this.startedAt
    return this.#durationMs
  }
}
