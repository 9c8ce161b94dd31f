/** Types of queries of recorded calls and of the rows and pages they return, and the kind of an outcome. */
import type { CallWindow } from '../../link/call-summary.ts'
import type { Exchange } from '../pipeline/exchange.ts'

/** `refused`: ended before its work; `failed`: the tool, its backend or this gateway failed, or the call was cancelled. */
export type CallKind = 'success' | 'refused' | 'failed'

/** Every condition that is given must hold. */
export interface CallQuery {
  /** The caller's tenant, for callers who see no other; in addition to `tenant`. */
  readonly within?: string
  readonly tenant?: string
  readonly consumer?: string
  readonly tool?: string
  readonly toolset?: string
  readonly access?: string
  readonly action?: string
  /** A kind, or one outcome. */
  readonly outcome?: string
  readonly requestId?: string
  readonly minMs?: number
}

/** One recorded call on the wire (docs/reference/http.md, Recorded calls). */
export interface CallRow {
  readonly id: string
  readonly at: string
  readonly worker: number
  readonly action: string
  readonly access: Exchange['access']
  readonly tenant: string | null
  readonly consumer: string | null
  readonly tool: string | null
  readonly toolset: string | null
  /** For a tool that does not exist: the name that was requested. */
  readonly requested_tool?: string
  /** For a proxied call. */
  readonly api?: string
  readonly kind: CallKind
  readonly outcome: string
  readonly status: number
  readonly duration_ms: number
  readonly backend_ms: number | null
  readonly cache_hit: boolean
  readonly request_bytes: number
  readonly saved_bytes: number
  readonly request_id: string
  readonly trace_id: string
  readonly decision_id: string | null
  readonly snapshot: string
  readonly policy_revision: string | null
  readonly detailed: boolean
}

/** Part of the calls of one thread. */
export interface CallPage {
  /** Names the ring of the thread: a restarted thread has another one. */
  readonly ring: string
  readonly rows: readonly CallRow[]
  /** Numbers of the rows, in their order. */
  readonly numbers: readonly number[]
  /** Number from which the next page continues. */
  readonly next: number
  /** For `after`: calls that were left out before the rows. */
  readonly missed: number
  readonly window: CallWindow
}

const FAILURES: ReadonlySet<string> = new Set([
  'tool_execution_failed',
  'backend_unreachable',
  'upstream_unavailable',
  'upstream_busy',
  'backend_timeout',
  'cancelled',
  'internal_error',
])

export function kindOf(outcome: string): CallKind {
  if (outcome === 'success') return 'success'
  return FAILURES.has(outcome) ? 'failed' : 'refused'
}
