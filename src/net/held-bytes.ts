/** The budget of bytes that bodies and responses may occupy in the threads of a process, each caller's part of it, and what one call holds. */

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
/** Cell bytes of the cells in which threads publish what they hold: a 32-bit number lasts for 2 TiB. */
const CELL_BYTES = 1024

/** Asks for a body that grows. @returns false when it must not be kept */
export function mayGrow(budget: ByteBudget | undefined, fromBytes: number, toBytes: number): boolean {
  if (budget === undefined || toBytes <= UNASKED_BYTES) return true
  return budget.take(fromBytes <= UNASKED_BYTES ? toBytes : toBytes - fromBytes)
}

/** Cells of the threads of a process; the first one is the main thread. */
export function sharedCells(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer((threads + 1) * Int32Array.BYTES_PER_ELEMENT)
}

export class HeldBytes {
  readonly counts = { refused: 0 }
  readonly #maxBytes: number
  readonly #cells: Int32Array
  readonly #thread: number
  /** Bytes by owner, of this thread. */
  readonly #owners = new Map<string, number>()
  #own = 0

  /** @param cells shared by all threads of the process @param thread index of this one; a thread that takes the place of another one takes its index */
  constructor(maxBytes: number, cells = sharedCells(0), thread = 0) {
    this.#maxBytes = maxBytes
    this.#cells = new Int32Array(cells)
    this.#thread = thread
    this.#publish()
  }

  /** Bytes of this thread. */
  get bytes(): number {
    return this.#own
  }

  /**
   * @param owner who may not take what others need, such as a tenant
   *
   * An owner may hold as much as is free for all (a dynamic threshold, Choudhury and Hahne 1998): alone half of the budget, and one that holds
   * nothing always finds a part that others could not take.
   */
  take(owner: string, bytes: number): boolean {
    const held = this.#owners.get(owner) ?? 0
    let free = this.#maxBytes
    for (let at = 0; at < this.#cells.length; at++) free -= Atomics.load(this.#cells, at) * CELL_BYTES
    if (held + bytes > free) {
      this.counts.refused++
      return false
    }
    this.#owners.set(owner, held + bytes)
    this.#own += bytes
    this.#publish()
    return true
  }

  release(owner: string, bytes: number): void {
    const left = this.#owners.get(owner)! - bytes
    if (left > 0) this.#owners.set(owner, left)
    else this.#owners.delete(owner)
    this.#own -= bytes
    this.#publish()
  }

  #publish(): void {
    Atomics.store(this.#cells, this.#thread, Math.ceil(this.#own / CELL_BYTES))
  }
}

/** What one call holds, until its response has left and each further user has released it. */
export class Hold implements ByteBudget {
  readonly #budget: HeldBytes
  readonly #owner: string
  readonly #response: Leaving
  #bytes = 0
  #users = 0
  #isTied = false

  constructor(budget: HeldBytes, owner: string, response: Leaving) {
    this.#budget = budget
    this.#owner = owner
    this.#response = response
  }

  take(bytes: number): boolean {
    const charged = bytes * COPIES
    if (!this.#budget.take(this.#owner, charged)) return false
    this.#bytes += charged
    // most calls never take any
    if (!this.#isTied) {
      this.#isTied = true
      this.#users++
      this.#response.onEnd(() => this.release())
    }
    return true
  }

  retain(): this {
    this.#users++
    return this
  }

  release(): void {
    this.#users--
    if (this.#users > 0 || this.#bytes === 0) return
    this.#budget.release(this.#owner, this.#bytes)
    this.#bytes = 0
  }
}

interface Leaving {
  /** Calls it once, when the response has left or the connection is closed. */
  onEnd(listener: () => void): void
}
