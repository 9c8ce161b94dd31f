/** What the files of the MCP endpoint share: parts, streams, calls in flight, and the check of a session's owner. */

import type { Principal } from '../../../model/principal.ts'
import { andThen } from '../../../shared/call/and-then.ts'
import { Cancellation } from '../../../shared/call/cancellation.ts'
import type { Refusal } from '../../../shared/call/refusal.ts'
import type { CallReader } from '../../kernel/envelope.ts'
import { ownerOf } from '../../sessions/owner.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { Cors } from '../cors.ts'
import { type Ended, type GatewayParts, run } from '../gateway.ts'
import type { Dispatcher } from './dispatch.ts'
import type { InFlight } from './in-flight.ts'
import type { InquiryStates } from './inquiry-states.ts'
import type { StreamSlots } from './stream-limiter.ts'
import type { Streams } from './streams.ts'

export interface McpParts {
  readonly gateway: GatewayParts
  readonly cors: Cors
  readonly dispatcher: Dispatcher
  readonly inFlight: InFlight
  /** Reads the bodies of plain calls; `JSON.parse` has all others. */
  readonly calls: CallReader
  readonly streams: Streams
  readonly places: StreamSlots
  readonly inquiries: InquiryStates
  /** Address of the caller, trusted proxies taken into account. */
  readonly clientAddress: (call: Call) => string
  readonly onStreamRefused: (reason: string) => void
}

/** Binds the session to the principal of an exchange. */
export function claimOf(
  parts: GatewayParts,
  session: Session,
): (principal: Principal) => boolean | Promise<boolean> {
  return principal => {
    const owner = ownerOf(principal)
    return session.owner === owner || parts.sessions.claim(session, owner)
  }
}

/** Authenticates a caller and, with a session, makes sure that it is the caller's own. */
export function authenticated(
  parts: GatewayParts,
  call: Call,
  snapshot: Snapshot,
  session: Session | undefined,
  then: (ended: Ended) => void,
  refused: (refusal: Refusal) => void,
): void {
  const finish = (ended: Ended): void => {
    if (ended.final?.kind === 'refusal') refused(ended.final)
    else then(ended)
  }
  const transport = session === undefined ? {} : { claimSession: claimOf(parts, session) }
  const ended = run(parts, snapshot, call, 'jsonrpc', { action: 'session' }, new Cancellation(), transport)
  void andThen(ended, finish)
}
