/** Counts the exchanges in flight, divides their places among tenants and consumers, and refuses those above a maximum. */
import { FairShares } from '../../../base/fair-shares.ts'
import { refuse } from '../../../model/refusal.ts'
import type { Stage } from '../../pipeline/stage.ts'

export interface Admission {
  readonly enter: Stage
  readonly share: Stage
  readonly leave: Stage
  /** Exchanges between the two; a drain waits until there are none. */
  readonly inFlight: () => number
}

/** A tenant may have 8 times as many places as are free: alone it has five sixths of all. */
const FACTOR = 8
/** For 32 tenants at least: one that comes while others hold what they may has so many in 512. */
const GUARANTEED_TENANTS = 32
const GUARANTEED_PART = 512

/**
 * Three stages that share the places: `enter` counts up or refuses with `overloaded`, before anything is known of the caller; `share` refuses with
 * `share_exceeded`; `leave` (settle) counts down.
 *
 * @param maxInFlight places, and exchanges without one: those whose caller is not known yet, or is refused. The two are counted apart: refused calls of
 *   one tenant that wait for the disk must not fill what `share` left to the others.
 */
export function admitWithinBounds(maxInFlight: number): Admission {
  let inFlight = 0
  const each = Math.floor(maxInFlight / GUARANTEED_PART)
  const places = new FairShares({
    max: maxInFlight,
    factor: FACTOR,
    guarantee: { owners: GUARANTEED_TENANTS, each },
  })
  const overloaded = refuse('overloaded', { retryAfterSecs: 1 })
  const shareExceeded = refuse('share_exceeded', { retryAfterSecs: 1 })
  return {
    inFlight: () => inFlight,
    enter: {
      id: 'admit-within-bounds',
      phase: 'admit',
      run() {
        // counted before the check, so that `leave` may count down on every exit
        inFlight++
        return inFlight - places.held > maxInFlight ? overloaded : undefined
      },
    },
    share: {
      id: 'share-places',
      phase: 'identify',
      run(exchange) {
        // as `party`, which would make an object for each call
        exchange.place = places.take(exchange.tenant ?? '', exchange.principal?.consumer ?? '', 1)
        return exchange.place === undefined ? shareExceeded : undefined
      },
    },
    leave: {
      id: 'leave-bounds',
      phase: 'settle',
      // a drain ends connections when nothing is in flight: a response that waits for the disk is
      last: true,
      run(exchange) {
        inFlight--
        if (exchange.place !== undefined) places.release(exchange.place, 1)
        exchange.releaseBytes()
        return undefined
      },
    },
  }
}
