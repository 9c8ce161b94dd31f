/** What the files of the MCP endpoint share: its parts, and the checks of a caller and of a session's owner. */

import type { MaybePromise } from '../../../base/and-then.ts'
import { Cancellation } from '../../../base/cancellation.ts'
import type { Party } from '../../../base/fair-shares.ts'
import type { ResourceWatches } from '../../../mcp/client/resource-watches.ts'
import type { Principal } from '../../../model/principal.ts'
import type { Refusal } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { ownerOf } from '../../sessions/owner.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { Cors } from '../cors.ts'
import { type GatewayParts, runCall } from '../gateway.ts'
import type { Dispatcher } from './dispatch.ts'
import type { InFlight } from './in-flight.ts'
import type { InquiryStates } from './inquiry-states.ts'
import type { ResourceSubscriptions } from './resource-subscriptions.ts'
import { type StreamRefusal, StreamSlot, type StreamSlots } from './stream-limiter.ts'
import type { Streams } from './streams.ts'

export interface McpParts {
  readonly gateway: GatewayParts
  readonly cors: Cors
  readonly dispatcher: Dispatcher
  readonly inFlight: InFlight
  readonly streams: Streams
  readonly places: StreamSlots
  readonly inquiries: InquiryStates
  readonly watches: ResourceWatches
  readonly subscriptions: ResourceSubscriptions
  /** Address of the caller, trusted proxies taken into account. */
  readonly clientAddress: (call: Call) => string
  readonly onStreamRefused: (reason: string) => void
}

/** Binds the session to the principal of an exchange. */
export function claimOf(
  parts: GatewayParts,
  session: Session,
): (principal: Principal) => MaybePromise<boolean> {
  return principal => {
    const owner = ownerOf(principal)
    return session.owner === owner || parts.sessions.claim(session, owner)
  }
}

/** Authenticates the caller and checks that the session, if there is one, belongs to it. */
export async function authenticated(
  parts: GatewayParts,
  call: Call,
  snapshot: Snapshot,
  session: Session | undefined,
): Promise<{ readonly exchange: Exchange; readonly refusal: Refusal | undefined }> {
  const transport = session === undefined ? {} : { claimSession: claimOf(parts, session) }
  const operation = { action: 'session' } as const
  const { exchange, final } = await runCall(
    parts,
    snapshot,
    call,
    'jsonrpc',
    operation,
    new Cancellation(),
    transport,
  )
  return { exchange, refusal: final?.kind === 'refusal' ? final : undefined }
}

/** For a public method: undefined without valid credentials. */
export async function callerOf(
  parts: GatewayParts,
  call: Call,
  snapshot: Snapshot,
): Promise<Exchange | undefined> {
  if (call.authorization === '' && call.apiKey === '') return undefined
  const { exchange, refusal } = await authenticated(parts, call, snapshot, undefined)
  return refusal === undefined ? exchange : undefined
}

/** As `authenticated`, for a request whose response is an event stream: it begins only for a caller for whom it would go on. */
export async function authenticatedStream(
  ...request: Parameters<typeof authenticated>
): ReturnType<typeof authenticated> {
  const { exchange, refusal } = await authenticated(...request)
  const [{ access }] = request
  return { exchange, refusal: refusal ?? (await access.refusalOf(exchange, exchange.snapshot)) }
}

/** @returns the limit that was reached, which is counted */
export async function takeSlot(
  { places, clientAddress, onStreamRefused }: McpParts,
  call: Call,
  { owner, part }: Party,
  isConnection: boolean,
): Promise<StreamSlot | StreamRefusal> {
  const slot = new StreamSlot()
  // no more of the party, which may be posted to another thread
  const party = { owner, part }
  const request = { ip: clientAddress(call), party, nowMs: call.receivedAtMs, isConnection }
  let taken: StreamRefusal | (() => void)
  try {
    taken = await places.open(request, slot.evict)
  } catch {
    taken = 'total'
  }
  if (typeof taken === 'string') {
    onStreamRefused(taken)
    return taken
  }
  slot.release = taken
  return slot
}

/** Body of the 429. */
export function tooManyStreams(limit: StreamRefusal, requestId: string) {
  return { error: 'too_many_connections', message: MESSAGE_OF_LIMIT[limit], request_id: requestId }
}

const MESSAGE_OF_LIMIT = {
  ip: 'Too many event streams are open from this IP address.',
  tenant: 'Too many event streams are open for this tenant.',
  total: 'Too many event streams are open.',
  rate: 'Too many event streams were opened from this IP address within a minute.',
} as const
