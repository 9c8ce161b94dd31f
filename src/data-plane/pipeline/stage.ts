/** What a stage is, and the phases in their order. Read this first. It runs nothing: `compose.ts` does. */

import type { Exchange } from './exchange.ts'
import type { Outcome } from './outcome.ts'

/** A request walks these in order; `settle` runs on every exit. */
export const PHASES = ['admit', 'identify', 'limit', 'decide', 'invoke', 'settle'] as const
export type Phase = (typeof PHASES)[number]

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
