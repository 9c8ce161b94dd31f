/**
 * Shares of what is finite, by owner and by each part of an owner: dynamic thresholds (Choudhury and Hahne, "Dynamic Queue Length Thresholds for
 * Shared-Memory Packet Switches", 1998). Owners that take as much as they get end with equal amounts, and leave a part for those that come later.
 */

/** For whom something is taken. */
export interface Party {
  /** Usually a tenant. */
  readonly owner: string
  /** One of those that the owner has, usually a consumer. */
  readonly part: string
}

/** What a party holds. */
export interface Share extends Party {
  /** All shares of the owner together. */
  readonly of: { held: number }
  held: number
}

interface Owner {
  readonly parts: Map<string, Share>
  held: number
}

/** Parties that hold nothing are removed when so many are known, or twice as many as hold something. */
const MIN_KNOWN = 1_000

/** Amounts of each thread, in units of `unit`; the first cell is the main thread's. */
export function sharedCells(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer((threads + 1) * Int32Array.BYTES_PER_ELEMENT)
}

export interface FairShareOptions {
  readonly max: number
  /**
   * An owner may hold this many times what is free: 8 times allows one owner alone 8 ninths, and n of them together all but 1 of 8n + 1 parts. The
   * same holds for the parts of an owner, in what the owner may still take.
   */
  readonly factor: number
  /** What so many owners always get, whatever others took before them. */
  readonly guarantee?: { readonly owners: number; readonly each: number }
  /** Shared by all threads that take of the same; absent: this one alone does. */
  readonly cells?: SharedArrayBuffer | undefined
  /** Index of this thread's cell. A thread that takes the place of another one takes its index. */
  readonly thread?: number | undefined
  /** What one step of a cell stands for: a cell is a 32-bit number. */
  readonly unit?: number
}

export class FairShares {
  readonly counts = { refused: 0 }
  /** Nothing more is taken while it is true. */
  isClosed = false
  #max: number
  readonly #factor: number
  readonly #each: number
  readonly #reserved: number
  readonly #cells: Int32Array | undefined
  readonly #thread: number
  readonly #unit: number
  readonly #owners = new Map<string, Owner>()
  #known = 0
  #removeAt = MIN_KNOWN
  #own = 0

  constructor({ max, factor, guarantee, cells, thread = 0, unit = 1 }: FairShareOptions) {
    this.#max = max
    this.#factor = factor
    this.#each = guarantee?.each ?? 0
    this.#reserved = this.#each * (guarantee?.owners ?? 0)
    this.#cells = cells && new Int32Array(cells)
    this.#thread = thread
    this.#unit = unit
    this.#publish()
  }

  /** @param max what is taken beyond it stays so until it is released */
  resize(max: number): void {
    this.#max = max
  }

  /** Taken by this thread. */
  get held(): number {
    return this.#own
  }

  /** Not taken by any thread. */
  get free(): number {
    if (this.#cells === undefined) return this.#max - this.#own
    let free = this.#max
    for (let at = 0; at < this.#cells.length; at++) free -= Atomics.load(this.#cells, at) * this.#unit
    return free
  }

  /** @returns undefined when the party has its share, or nothing is free */
  take(owner: string, part: string, amount: number): Share | undefined {
    const known = this.#owners.get(owner)
    const share = known?.parts.get(part)
    if (!this.#mayTake(known?.held ?? 0, share?.held ?? 0, amount)) {
      this.counts.refused++
      return undefined
    }
    const taken = share ?? this.#add(known, owner, part)
    taken.of.held += amount
    taken.held += amount
    this.#own += amount
    this.#publish()
    return taken
  }

  #mayTake(heldByOwner: number, heldByPart: number, amount: number): boolean {
    if (this.isClosed) return false
    const all = this.free
    if (heldByOwner + amount <= this.#each) return amount <= all
    const free = all - this.#reserved
    const maxOfOwner = this.#factor * free
    const maxOfPart = this.#factor * Math.min(free, maxOfOwner - heldByOwner)
    return amount <= free && heldByOwner + amount <= maxOfOwner && heldByPart + amount <= maxOfPart
  }

  /** @param share from `take` */
  release(share: Share, amount: number): void {
    share.held -= amount
    share.of.held -= amount
    this.#own -= amount
    this.#publish()
  }

  #add(known: Owner | undefined, owner: string, part: string): Share {
    if (this.#known >= this.#removeAt) this.#removeIdle()
    const of = known ?? { parts: new Map<string, Share>(), held: 0 }
    this.#owners.set(owner, of)
    const share = { owner, part, of, held: 0 }
    of.parts.set(part, share)
    this.#known++
    return share
  }

  /** Making the records of a party again for each of its calls takes longer than the decision. */
  #removeIdle(): void {
    for (const [name, owner] of this.#owners) {
      for (const [part, { held }] of owner.parts) if (held === 0 && owner.parts.delete(part)) this.#known--
      if (owner.parts.size === 0) this.#owners.delete(name)
    }
    this.#removeAt = Math.max(MIN_KNOWN, 2 * this.#known)
  }

  #publish(): void {
    if (this.#cells !== undefined) Atomics.store(this.#cells, this.#thread, Math.ceil(this.#own / this.#unit))
  }
}
