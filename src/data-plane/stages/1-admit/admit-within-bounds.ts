/** Counts the exchanges in flight, and refuses those above a maximum. */
import { refuse } from '../../../model/refusal.ts'
import type { Stage } from '../../pipeline/stage.ts'

export interface Admission {
  readonly enter: Stage
  readonly leave: Stage
  /** Exchanges between the two; a drain waits until there are none. */
  readonly inFlight: () => number
}

/** Two stages that share one counter: `enter` counts up or refuses with `overloaded`, `leave` (settle) counts down. */
export function admitWithinBounds(maxInFlight: number): Admission {
  let inFlight = 0
  const overloaded = refuse('overloaded', { retryAfterSecs: 1 })
  return {
    inFlight: () => inFlight,
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
      // a drain ends connections when nothing is in flight: a response that waits for the disk is
      last: true,
      run(exchange) {
        inFlight--
        exchange.releaseBytes()
        return undefined
      },
    },
  }
}
