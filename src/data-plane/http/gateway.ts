/** What endpoints share: the parts of the gateway, the run of an operation, and headers, timings and challenges of responses. */

import {
  andThen,
  continueWith,
  isPending,
  type MaybePending,
  type MaybePromise,
  passTo,
} from '../../base/and-then.ts'
import { NOT_WATCHED, type Watched } from '../../base/async/deadlines.ts'
import type { Cancellation } from '../../base/cancellation.ts'
import type { FairShares } from '../../base/fair-shares.ts'
import { Later, type Reader } from '../../base/later.ts'
import type { McpSessions } from '../../mcp/client/sessions.ts'
import type { Presentation } from '../../model/presentation.ts'
import type { Principal } from '../../model/principal.ts'
import { rateLimitFields, rateLimitHeaders } from '../../model/rate-limit-headers.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Pages } from '../../net/server/pages.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Pipeline } from '../pipeline/compose.ts'
import { Exchange, type ExchangeInit } from '../pipeline/exchange.ts'
import type { Credentials } from '../pipeline/exchange-parts.ts'
import type { Operation } from '../pipeline/operation.ts'
import type { Final } from '../pipeline/outcome.ts'
import type { Transport } from '../pipeline/transport.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { TaskLimits } from '../sessions/task-store.ts'
import type { Snapshot, ToolListing } from '../snapshot/snapshot.ts'
import type { AccessWatch, WaitingCall } from './access-watch.ts'
import type { AttemptLimit } from './attempt-limit.ts'
import type { Call } from './call.ts'
import { resourceMetadataUrl } from './oauth/metadata.ts'
import type { OAuthResponse } from './oauth/oauth-response.ts'
import { mayReadTiming, ServerTiming, wantsTiming } from './server-timing.ts'

export interface GatewayParts {
  readonly pipeline: Pipeline
  /** undefined until the first snapshot compiled. */
  readonly snapshot: () => Snapshot | undefined
  /** Why the newest document is not served; undefined when it is. It can name consumers and plans: for administrators and the log. */
  readonly snapshotFault: () => string | undefined
  /** Names of the parts of the process that have a fault. Why is for administrators and the log: it can name tenants and files. */
  readonly faultyParts: () => readonly string[]
  readonly keysReady: () => boolean
  /** Nearly all memory is used: other instances serve new calls better. */
  readonly memoryFull: () => boolean
  readonly draining: () => boolean
  readonly sessions: SessionStore
  /** With MCP servers; absent: there are none. */
  readonly serverSessions?: Pick<McpSessions, 'endCaller'>
  readonly access: AccessWatch
  readonly attempts: AttemptLimit
  /** Client registrations, with a smaller bound. */
  readonly registrations: AttemptLimit
  /** For the log: a request for a token, its revocation or a registration has ended. */
  readonly recordOAuth: (call: Call, response: OAuthResponse) => void
  /** Public address without trailing slash. */
  readonly url: string
  /** For `GET /`. */
  readonly pages: Pages
  readonly name: string
  readonly version: string
  readonly presentation: Presentation
  readonly maxBodyBytes: number
  /** Held bytes of this thread. */
  readonly heldBytes: FairShares
  /** For the texts of one tool result, for MCP clients; a tool may have another. */
  readonly maxResultBytes: number
  readonly taskLimits: TaskLimits
  /** The tools that the caller of an exchange may use, by the rule that decides lists; undefined: the policy cannot decide now. */
  readonly listingOf: (caller: Exchange) => MaybePromise<ToolListing | undefined>
  readonly verifyCredentials: (credentials: Credentials, nowMs: number) => MaybePromise<Principal | Refusal>
  readonly nowMs: () => number
  /** For errors that no code expected. */
  readonly log: Pick<Log, 'error'>
}

/** An exchange that has ended, and how. */
export interface Ended {
  readonly exchange: Exchange
  readonly final: Final
}

/** What is run, and for which request. */
type RunParameters = [
  parts: GatewayParts,
  snapshot: Snapshot,
  call: Call,
  access: ExchangeInit['access'],
  operation: Operation,
  cancellation: Cancellation,
  transport?: Transport<Exchange>,
]

/** Runs one operation through the pipeline; pending only when a stage was. Never rejects. */
export function runCall(...run: RunParameters): MaybePending<Ended> {
  return runAndRender(asEnded, ...run)
}

function asEnded(ended: Ended): Ended {
  return ended
}

/** The same; what `render` makes of its end is the result. */
export function runAndRender<R>(
  render: (ended: Ended) => MaybePending<R>,
  ...[parts, snapshot, call, access, operation, cancellation, transport]: RunParameters
): MaybePending<R> {
  const exchange = new Exchange({
    requestId: call.requestId,
    traceId: call.traceId,
    parentSpanId: call.parentSpanId,
    traceFlags: call.traceFlags,
    propagation: call,
    holder: call,
    access,
    snapshot,
    operation,
    credentials: call,
    peer: call.request,
    cancellation,
    receivedAtMs: call.receivedAtMs,
    transport,
  })
  exchange.requestBytes = Math.max(0, call.request.contentLength)
  const shown = wantsTiming(call.request.header('x-debug-timing')) ? timed(call, exchange, render) : render
  const final = parts.pipeline(exchange)
  if (!isPending(final)) return shown(endCall(parts, call, exchange, final))
  const rendered = new Rendered(parts, call, exchange, shown)
  parts.access.begin(rendered)
  passTo(final, rendered)
  return rendered
}

function endCall({ attempts }: GatewayParts, call: Call, exchange: Exchange, final: Final): Ended {
  if (exchange.accessEnd === undefined) attempts.countFailure(call, final)
  if (final?.kind !== 'refusal') return { exchange, final }
  const standing = exchange.quota?.standing
  if (standing === undefined) return { exchange, final }
  // it was counted, so it says what is left as the others do
  return { exchange, final: { ...final, headers: { ...rateLimitFields(standing), ...final.headers } } }
}

/** For an exchange that was pending: has what is rendered in the end. */
class Rendered<R> extends Later<R> implements Reader<Final>, WaitingCall {
  watchedSinceMs: number = NOT_WATCHED
  previous: Watched | undefined
  next: Watched | undefined
  /** For a call that takes long. */
  #unwatch: (() => void) | undefined
  readonly #parts: GatewayParts
  readonly #call: Call
  readonly #exchange: Exchange
  readonly #render: (ended: Ended) => MaybePending<R>

  constructor(
    parts: GatewayParts,
    call: Call,
    exchange: Exchange,
    render: (ended: Ended) => MaybePending<R>,
  ) {
    super()
    this.#parts = parts
    this.#call = call
    this.#exchange = exchange
    this.#render = render
  }

  onLong(): void {
    const exchange = this.#exchange
    // the access of a caller who is not known yet cannot end
    if (exchange.principal === undefined) return this.#parts.access.begin(this)
    this.#unwatch = this.#parts.access.open(exchange, exchange.snapshot, why =>
      exchange.cancellation.cancel(why),
    )
  }

  onValue(final: Final): void {
    this.#parts.access.finish(this)
    this.#unwatch?.()
    try {
      this.settleAs(this.#render(endCall(this.#parts, this.#call, this.#exchange, final)))
    } catch (error) {
      this.reject(error)
    }
  }

  onError(error: unknown): void {
    this.reject(error)
  }
}

/** Has the stages timed, and adds the timings to the response if the caller may see them. */
function timed<R>(
  call: Call,
  exchange: Exchange,
  render: (ended: Ended) => MaybePending<R>,
): (ended: Ended) => MaybePending<R> {
  exchange.timings = []
  return ended => continueWith(addTiming(call, exchange), () => render(ended))
}

/** Adds the timings of an exchange to the response if the caller may see them. */
export function addTiming(call: Call, exchange: Exchange, upstreamMs?: number): void | Promise<void> {
  return andThen(mayReadTiming(exchange), may => {
    if (!may) return
    call.serverTiming ??= new ServerTiming()
    call.serverTiming.add(exchange, upstreamMs)
  })
}

const REVISION = 'x-policy-revision'

/** `X-RateLimit-*` of a call that took quota, the revision of the policy that allowed it, and the bytes that optimization saved. */
export function callHeaders({ quota, decision, optimized }: Exchange): readonly string[] {
  const standing = quota?.standing
  const headers =
    standing !== undefined
      ? rateLimitHeaders(standing, decision && REVISION, decision?.revision)
      : decision === undefined
        ? []
        : [REVISION, decision.revision]
  if (optimized !== undefined) headers.push('x-token-optimization-saved', String(optimized.savedBytes))
  return headers
}

/** The protected-resource document that a challenge of this path points at. */
export function challengeContext(
  parts: GatewayParts,
  path: string,
): { readonly resourceMetadataUrl: string } {
  return { resourceMetadataUrl: resourceMetadataUrl(parts.url, path) }
}
