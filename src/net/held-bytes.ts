/** The budget of bytes that bodies and responses may occupy in the threads of a process, and what one call holds. */
import { FairShares, type Party, type Share } from '../base/fair-shares.ts'

/** What asks before it keeps bytes. */
export interface ByteBudget {
  /** @param bytes as received @returns false when they must not be kept */
  take(bytes: number): boolean
}

/** A body may be kept up to here without asking: most are shorter, and asking for each would cost time. */
export const UNASKED_BYTES = 16 * 1024
/**
 * A response is held as received, as text, within the result and as it is sent, of which some wait for a garbage collection: 80 responses of
 * 7 MB took 29 MB each.
 */
const COPIES = 4
/** Step of the cells in which threads publish what they hold: a 32-bit number lasts for 2 TiB. */
const CELL_BYTES = 1024
/** Alone, a caller holds at most four sevenths. */
const FACTOR = 2

/** Asks for a body that grows. @returns false when it must not be kept */
export function mayGrow(budget: ByteBudget | undefined, fromBytes: number, toBytes: number): boolean {
  if (budget === undefined || toBytes <= UNASKED_BYTES) return true
  return budget.take(fromBytes <= UNASKED_BYTES ? toBytes : toBytes - fromBytes)
}

/** @param cells of `sharedCells`, shared by all threads of the process; absent: this one alone holds bytes */
export function heldBytes(maxBytes: number, cells?: SharedArrayBuffer, thread?: number): FairShares {
  return new FairShares({ max: maxBytes, factor: FACTOR, cells, thread, unit: CELL_BYTES })
}

/** What one call holds, until its response has left and each further user has released it. */
export class Hold implements ByteBudget {
  readonly #budget: FairShares
  readonly #party: Party
  readonly #response: Leaving
  #share: Share | undefined
  #bytes = 0
  /** Taken already for what `take` will ask. */
  #reserved = 0
  #users = 0

  constructor(budget: FairShares, party: Party, response: Leaving) {
    this.#budget = budget
    this.#party = party
    this.#response = response
  }

  /** Takes bytes before they arrive. @returns false when they must not be kept */
  reserve(bytes: number): boolean {
    const isTaken = this.take(bytes)
    if (isTaken) this.#reserved += bytes
    return isTaken
  }

  take(bytes: number): boolean {
    const reserved = Math.min(bytes, this.#reserved)
    this.#reserved -= reserved
    if (reserved === bytes) return true
    const charged = (bytes - reserved) * COPIES
    const share = this.#budget.take(this.#party.owner, this.#party.part, charged)
    if (share === undefined) return false
    this.#bytes += charged
    // most calls never take any
    if (this.#share === undefined) {
      this.#users++
      this.#response.onEnd(() => this.release())
    }
    this.#share = share
    return true
  }

  retain(): this {
    this.#users++
    return this
  }

  release(): void {
    this.#users--
    if (this.#users > 0 || this.#share === undefined) return
    this.#budget.release(this.#share, this.#bytes)
    this.#bytes = 0
  }
}

interface Leaving {
  /** Calls it once, when the response has left or the connection is closed. */
  onEnd(listener: () => void): void
}
