/** The outcomes of a stage and of the pipeline. */

import type { Refusal, RefusalReason } from '../../model/refusal.ts'
import type { ToolResult } from '../../model/tool.ts'

/** A result. `failure` is the reason why an allowed tool call failed. */
export interface Reply {
  readonly kind: 'reply'
  readonly result: ToolResult
  /** For a resource, prompt or completion: the result as clients receive it; `result` is then empty, or says what failed. */
  readonly served?: { readonly [member: string]: unknown }
  readonly failure?: Extract<
    RefusalReason,
    'tool_execution_failed' | 'backend_unreachable' | 'backend_timeout'
  >
  /** HTTP status of the backend, 0 when it gave none. */
  readonly backendStatus?: number
}

/** undefined: continue with the next stage. */
export type Outcome = undefined | Refusal | Reply

/** Outcome of the pipeline. undefined: every stage continued (an exchange that only asks for permission). */
export type Final = Outcome
