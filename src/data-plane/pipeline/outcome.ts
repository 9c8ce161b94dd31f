/** What a stage, and a whole run of the pipeline, can end with. It produces no outcome. */
import type { ToolResult } from '../../model/tool.ts'
import type { Refusal, RefusalReason } from '../../shared/call/refusal.ts'

/** A final answer that is not a refusal. `failure` names why a tool call failed though it was allowed. */
export interface Reply {
  readonly kind: 'reply'
  readonly result: ToolResult
  readonly failure?: Extract<
    RefusalReason,
    'tool_execution_failed' | 'backend_unreachable' | 'backend_timeout'
  >
  /** HTTP status of the backend, 0 when it gave none. */
  readonly backendStatus?: number
}

/** undefined: go on to the next stage. */
export type Outcome = undefined | Refusal | Reply

/** What a whole run ends with. undefined: every stage went on (an exchange that asks only for permission). */
export type Final = Outcome
