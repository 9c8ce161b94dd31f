/** What a stage is, and the phases in their order. Read this first. It runs nothing: `compose.ts` does. */
import type { ToolResult } from '../../model/tool.ts'
import type { Refusal, RefusalReason } from '../../shared/call/refusal.ts'
import type { Exchange } from './exchange.ts'

/** A request walks these in order; `settle` runs on every exit. */
export const PHASES = ['admit', 'identify', 'limit', 'decide', 'invoke', 'settle'] as const
export type Phase = (typeof PHASES)[number]

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

/**
 * One step. It cannot run code after a later stage (there is no `next`), and throwing means a bug.
 * Return a value, not a Promise, wherever the answer is at hand: the runner awaits only what is a Promise.
 */
export interface Stage {
  /** Imperative, kebab-case: `authenticate`, `invoke-tool`. Shown in profiles, metrics and `Server-Timing`. */
  readonly id: string
  readonly phase: Phase
  run(exchange: Exchange): Outcome | Promise<Outcome>
}
