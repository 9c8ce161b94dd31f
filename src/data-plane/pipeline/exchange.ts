/** State of one call in the pipeline: its request, the findings of the stages, its outcome. */

import { Cancellation } from '../../base/cancellation.ts'
import type { Party, Share } from '../../base/fair-shares.ts'
import type { Principal } from '../../model/principal.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Hold } from '../../net/held-bytes.ts'
import type { Decision } from '../../policy/engine.ts'
import type { QuotaGrant } from '../quota/quota.ts'
import type { CompiledTool, Entitlement, Snapshot, ToolListing } from '../snapshot/snapshot.ts'
import type { Credentials, OptimizedResult, Peer, StageTiming } from './exchange-parts.ts'
import type { ClientAnswers } from './inquiry.ts'
import type { Operation } from './operation.ts'
import type { Final } from './outcome.ts'
import { NO_TRANSPORT, type Transport } from './transport.ts'

export interface ExchangeInit {
  readonly requestId: string
  readonly traceId: string
  /** What the caller's `traceparent` named as parent, 16 hex digits; absent without a valid one. */
  readonly parentSpanId?: string | undefined
  /** W3C trace flags as two hex digits, the caller's or `01`. */
  readonly traceFlags?: string
  /** `tracestate` and `baggage` as a flat list of valid headers; read by the stages that call a backend. */
  readonly propagation?: { readonly traceHeaders: readonly string[] }
  /** Accounts for the bytes that the exchange makes the gateway hold; absent: nothing does. */
  readonly holder?: { hold(party: Party): Hold }
  readonly access: 'rest' | 'jsonrpc' | 'proxy' | 'admin'
  readonly snapshot: Snapshot
  readonly operation: Operation
  readonly credentials: Credentials
  /** The address is read only when needed: it costs a system call. */
  readonly peer: Peer
  readonly cancellation: Cancellation
  /** Unix ms. */
  readonly receivedAtMs: number
  readonly transport?: Transport<Exchange> | undefined
}

export class Exchange {
  readonly requestId: string
  readonly traceId: string
  readonly parentSpanId: string | undefined
  readonly traceFlags: string
  readonly propagation: ExchangeInit['propagation']
  readonly access: ExchangeInit['access']
  readonly snapshot: Snapshot
  readonly operation: Operation
  readonly credentials: Credentials
  readonly peer: ExchangeInit['peer']
  readonly cancellation: Cancellation
  readonly receivedAtMs: number
  readonly transport: Transport<Exchange>
  /** Monotonic milliseconds (`performance.now`) at the start. */
  readonly startedAt: number

  /** Written by `authenticate`. */
  principal: Principal | undefined = undefined
  /** Tenant the call acts in: the principal's, or what a cpi-admin named in X-Tenant-ID. Written by `authenticate`. */
  tenant: string | undefined = undefined
  /** Share of the places in flight. Written by `share-places`, and released by `leave-bounds`. */
  place: Share | undefined = undefined
  /** Written by `resolve-tool`. */
  tool: CompiledTool | undefined = undefined
  /** Written by the first stage that needs it (`entitlementOf`). */
  entitlement: Entitlement | undefined = undefined
  /** Written by `take-quota`; its release is called once, by settle. */
  quota: QuotaGrant | undefined = undefined
  /** Written by `authorize`. */
  decision: Decision | undefined = undefined
  /** Under which the decision is kept in the decision log; undefined when it is not. Written by `authorize`. */
  decisionId: string | undefined = undefined
  /** The client's answers to the policy's questions (`context.answers` of the policy input). Written by `ask-client`. */
  answers: ClientAnswers | undefined = undefined
  /** Written by `list-tools`. */
  listing: ToolListing | undefined = undefined
  /** Milliseconds the backend took, -1 when it was not called. Written by `invoke-tool` and `invoke-proxy`. */
  backendMs = -1
  /** Why the backend gave no response, for logs; it may hold internal addresses. Written by the stages that call backends. */
  backendFault: string | undefined = undefined
  /** The result was cached, or shared with another call; the backend was not called for this one. Written by the caches of results and APIs. */
  cacheHit = false
  requestBytes = 0
  responseBytes = 0
  /** Result for the response; undefined unless token optimization was requested and the call has a result. Written by `optimize-result`. */
  optimized: OptimizedResult | undefined = undefined
  /** Stages before `settle` that ran, in order, with their durations; undefined unless they are measured. Written by the runner. */
  timings: StageTiming[] | undefined = undefined
  /** Backend span id of the span that calls the backend (W3C Trace Context, `parent-id`), 16 hex digits; '' when it was not called. */
  backendSpanId = ''
  /** Set by the runner before settle stages run. */
  final: Final = undefined
  #durationMs = -1
  readonly #holder: ExchangeInit['holder']
  #hold: Hold | undefined

  constructor(init: ExchangeInit) {
    this.requestId = init.requestId
    this.traceId = init.traceId
    this.parentSpanId = init.parentSpanId
    this.traceFlags = init.traceFlags ?? '01'
    this.propagation = init.propagation
    this.#holder = init.holder
    this.access = init.access
    this.snapshot = init.snapshot
    this.operation = init.operation
    this.credentials = init.credentials
    this.peer = init.peer
    this.cancellation = init.cancellation
    this.receivedAtMs = init.receivedAtMs
    this.transport = init.transport ?? NO_TRANSPORT
    this.startedAt = performance.now()
  }

  /** Why the caller lost access during the call, which is its outcome then; undefined: the caller did not. */
  get accessEnd(): Refusal | undefined {
    const { reason } = this.cancellation
    return typeof reason === 'object' ? (reason as Refusal) : undefined
  }

  /** For settle stages. The clock is read once, so that all of them report the same duration. */
  get durationMs(): number {
    if (this.#durationMs < 0) this.#durationMs = performance.now() - this.startedAt
    return this.#durationMs
  }

  /** For whom it takes what all calls share: its tenant, and there its consumer. */
  get party(): Party {
    return this.place ?? { owner: this.tenant ?? '', part: this.principal?.consumer ?? '' }
  }

  /** For bytes that are kept until the exchange is over and its response has left; they count for its party. Not after `releaseBytes`. */
  get budget(): Hold | undefined {
    // a response may leave before the exchange is over: that of a task, or on another stream
    this.#hold ??= this.#holder?.hold(this.party).retain()
    return this.#hold
  }

  /** Called once, by the last settle stage. */
  releaseBytes(): void {
    this.#hold?.release()
  }
}

/** For what is asked of stages without a request. */
export function exchangeWithoutRequest(
  init: Pick<ExchangeInit, 'access' | 'snapshot' | 'operation' | 'receivedAtMs'> & Partial<ExchangeInit>,
): Exchange {
  return new Exchange({
    requestId: '',
    traceId: '',
    credentials: { authorization: '', apiKey: '', tenant: '' },
    peer: { peerAddress: '' },
    cancellation: new Cancellation(),
    ...init,
  })
}
