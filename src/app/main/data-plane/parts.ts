/** The parts with which a data plane is started, such as context, listener and adapters. Types only. */
import type { RecordAdminAction } from '../../../data-plane/http/admin/admin-audit.ts'
import type { StreamSlots } from '../../../data-plane/http/mcp/stream-limiter.ts'
import type { Meter } from '../../../data-plane/metering/meter.ts'
import type { Quota } from '../../../data-plane/quota/quota.ts'
import type { OpenedSessions } from '../../../data-plane/sessions/opened-sessions.ts'
import type { AppContext, OpenListener } from '../app-context.ts'
import type { PolicyOwner } from '../policy-served.ts'
import type { Siblings } from './signals.ts'

export interface DataPlaneParts {
  readonly context: AppContext
  /** Opened when the plane is ready; with port 0 it is open already. */
  readonly server: OpenListener
  /** Public address without trailing slash. */
  readonly gatewayUrl: string
  /** Public address of the control plane, without trailing slash. */
  readonly apiUrl: string
  readonly issuer: string
  /** One set of counters for all threads of the process. */
  readonly quota: Quota
  readonly sessions: OpenedSessions
  /** Slots for event streams, counted by another thread; counted here when absent. */
  readonly places?: StreamSlots
  /** Owner of the policy bundles; absent: the owner in this thread. */
  readonly policyOwner?: PolicyOwner
  /** For this thread. */
  readonly meter: Meter
  /** Records the actions of administrators, for the audit. */
  readonly recordAction: RecordAdminAction
  /** From 1; absent: the only one. */
  readonly thread?: number
  /** Held bytes of the process; absent: of this thread. See `FairShares`. */
  readonly heldBytes?: SharedArrayBuffer
  /** Absent: this thread is the only one. */
  readonly siblings?: Siblings
}
