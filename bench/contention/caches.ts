/** A model of private caches over shared memory: which thread holds which line, and how long an access waits for it. It knows no call and no lock. */

/** Nanoseconds. Assumptions, not measurements: one NUMA node of a server processor with a shared last-level cache. */
export interface Costs {
  /** Line in the own cache. */
  readonly hitNs: number
  /** Added by an atomic read-modify-write and an atomic store: they wait until earlier stores are visible. */
  readonly atomicNs: number
  /** Line that no core has changed: from the shared cache. */
  readonly cleanNs: number
  /** Line that another core has changed, or whose copies must be invalidated. Published figures for one node: 60 to 100 ns. */
  readonly transferNs: number
  /** Line that no core has accessed before. */
  readonly memoryNs: number
}

export const COSTS: Costs = { hitNs: 1.5, atomicNs: 6, cleanNs: 40, transferNs: 80, memoryNs: 80 }

/** Lines of a private cache of 1 MiB. */
export const CACHE_LINES = 16_384

/** Modified, exclusive, shared or invalid in each cache (MESI): by `sharers` and whether it was changed. */
interface Line {
  /** Bit of each thread that has it, the owner included. */
  sharers: number
  isModified: boolean
  /** When the last transfer ends: those of one line happen one after the other. */
  freeAtNs: number
}

export class Caches {
  readonly #costs: Costs
  readonly #capacity: number
  readonly #lines = new Map<number, Line>()
  /** Lines of each thread, the one accessed longest ago first. */
  readonly #recent: readonly Map<number, Line>[]

  constructor(threads: number, costs: Costs = COSTS, capacity = CACHE_LINES) {
    if (!Number.isInteger(threads) || threads < 1 || threads > 31)
      throw new RangeError(`threads is ${threads}; give an integer from 1 to 31`)
    this.#costs = costs
    this.#capacity = capacity
    this.#recent = Array.from({ length: threads }, () => new Map())
  }

  /** @returns when the access is done; every store and load is awaited, so a processor that overlaps them is faster */
  access(thread: number, number: number, write: boolean, atomic: boolean, nowNs: number): number {
    const { cleanNs, transferNs, memoryNs } = this.#costs
    const ownNs = this.ownNs(atomic)
    const bit = 1 << thread
    let line = this.#lines.get(number)
    if (line === undefined) {
      line = { sharers: bit, isModified: write, freeAtNs: nowNs + memoryNs }
      this.#lines.set(number, line)
      this.#touch(thread, number, line)
      return nowNs + memoryNs + ownNs
    }
    const hasCopy = (line.sharers & bit) !== 0
    this.#touch(thread, number, line)
    if (hasCopy && (!write || line.sharers === bit)) {
      if (write) line.isModified = true
      return nowNs + ownNs
    }
    const fromOther = (line.sharers & ~bit) !== 0 && (write || line.isModified)
    const doneNs = Math.max(nowNs, line.freeAtNs) + (fromOther ? transferNs : cleanNs)
    // copies of an unchanged line are read at the same time
    if (write || fromOther) line.freeAtNs = doneNs
    if (write) {
      for (let other = 0; line.sharers >> other !== 0; other++)
        if (other !== thread && (line.sharers & (1 << other)) !== 0) this.#recent[other]!.delete(number)
      line.sharers = bit
      line.isModified = true
    } else {
      line.sharers |= bit
      line.isModified = false
    }
    return doneNs + ownNs
  }

  /** What the access would take with every line in the own cache. */
  ownNs(atomic: boolean): number {
    return this.#costs.hitNs + (atomic ? this.#costs.atomicNs : 0)
  }

  #touch(thread: number, number: number, line: Line): void {
    const recent = this.#recent[thread]!
    recent.delete(number)
    recent.set(number, line)
    if (recent.size <= this.#capacity) return
    const [oldest, evicted] = recent.entries().next().value!
    recent.delete(oldest)
    evicted.sharers &= ~(1 << thread)
    if (evicted.sharers === 0) evicted.isModified = false
  }
}
