/** What is known of a request beside its message, such as version, transport and caller. No behaviour. */
import type { Cancellation } from '../../../base/cancellation.ts'
import type { ProtocolVersion } from '../../../mcp/versions.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Transport } from '../../pipeline/transport.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { PendingInput } from './modern-client.ts'
import type { SessionSide } from './session-side.ts'

/** Context of a request. */
export interface Conversation {
  readonly call: Call
  readonly snapshot: Snapshot
  readonly version: ProtocolVersion
  readonly cancellation: Cancellation
  readonly transport: Transport<Exchange>
  /** For `initialize` and `server/discover`: the exchange that checked the credentials; absent where that makes no difference. */
  readonly caller?: Exchange | undefined
  /** From 2026-07-28 on: the client takes tasks in place of results. */
  readonly takesTasks?: boolean
  /** From 2026-07-28 on: the questions to the client when the call is pending. */
  readonly pendingInput?: () => PendingInput | undefined
  /** Up to 2025-11-25, with a session. */
  readonly session?: SessionSide | undefined
}
