/** Admits an exchange while fewer than a fixed number are in flight. It looks at nothing the caller sent. */
import { refuse } from '../pipeline/refusal.ts'
import type { Stage } from '../pipeline/stage.ts'

/** Two stages that share one counter: `enter` counts up or refuses with `overloaded`, `leave` (settle) counts down. */
export function admitWithinBounds(maxInFlight: number): { readonly enter: Stage; readonly leave: Stage } {
  let inFlight = 0
  const overloaded = refuse('overloaded', { retryAfterSecs: 1 })
  return {
    enter: {
      id: 'admit-within-bounds',
      phase: 'admit',
      run() {
        // counted before the check, so that `leave` may count down on every exit
        inFlight++
        return inFlight > maxInFlight ? overloaded : undefined
      },
    },
    leave: {
      id: 'leave-bounds',
      phase: 'settle',
      run() {
        inFlight--
        return undefined
      },
    },
  }
}
