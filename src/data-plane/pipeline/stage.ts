/** The interface of a stage, and the order of the phases. Read this first. `compose.ts` makes a runner of stages. */

import type { MaybePending } from '../../base/and-then.ts'
import type { Exchange } from './exchange.ts'
import type { Outcome } from './outcome.ts'

/** In order; `settle` runs on every exit. */
export const PHASES = ['admit', 'identify', 'limit', 'decide', 'invoke', 'settle'] as const
export type Phase = (typeof PHASES)[number]

/**
 * One step. It cannot run code after a later stage, because it gets no `next`. A throw is a bug.
 * Return a value, not a Promise, wherever possible: the runner waits only for what is pending.
 */
export interface Stage {
  /** Imperative, kebab-case: `authenticate`, `invoke-tool`. Shown in logs, traces, metrics and `Server-Timing`. */
  readonly id: string
  readonly phase: Phase
  /** A settle stage that runs when the response no longer waits for any other; nothing waits for its Promise, whose rejection is a bug as well. */
  readonly last?: true
  run(exchange: Exchange): MaybePending<Outcome>
}
