/** The journal of a thread: records counts and reserved units in segments, and removes replaced segments. It restores no count: `restore.ts` does. */
import {
  BUSY,
  READ_DAY,
  READ_DAY_COUNT,
  READ_DAY_LIMIT,
  READ_MINUTE,
  READ_MINUTE_QUANTUM,
  READ_MONTH,
  READ_MONTH_COUNT,
  READ_MONTH_LIMIT,
  READ_PAIRS,
  READ_RESERVED,
  READ_SECOND,
  READ_SECOND_AGE,
  READ_SECOND_QUANTUM,
  READ_SEQUENCE,
} from '../memory/abi.ts'
import type { TableQuota } from '../memory/table-quota.ts'
import type { Note } from './note.ts'
import { listSegments, removeSegments, SegmentWriter } from './segments.ts'

/** Slots written per turn of the event loop at the start of a segment; some 5 ms. */
const SLICE = 2_000
/** Complete segments that wait at most for the sync of a newer one: while the disk syncs nothing, they protect nothing. */
const MAX_UNSYNCED = 4
/** Quanta that a ring byte can count. */
const QUANTA = 255

export interface JournalOptions {
  readonly dir: string
  /** Number of the thread, part of the names of its segments; no two threads share one. */
  readonly thread: number
  /** Size after which a new segment begins, with all counters. */
  readonly segmentBytes: number
  /** Interval of fdatasync; a power failure may return units reserved within it. */
  readonly syncMs: number
  readonly onFault: (error: Error) => void
}

/** By name; 0 or absent: never reset. */
export type Generations = Pick<ReadonlyMap<string, number>, 'get'>

export class Journal {
  /** Recorded with every consumer. Set by a store that shares counts with other instances. */
  generations: Generations | undefined = undefined
  readonly #options: JournalOptions
  readonly #quota: TableQuota
  readonly #timer: NodeJS.Timeout
  #writer: SegmentWriter
  /** For the newest segment that was tried: each number is used once, because the file of a failed attempt may still be there. */
  #number: number
  /** Older segments of this thread; not needed when the new one holds all counters. */
  #old: { readonly path: string }[]
  /** Not needed any more as soon as the current segment is on the disk up to `#neededBytes`; a power failure before it needs them. */
  #replaced: { readonly path: string }[] = []
  #neededBytes = 0
  /** Bytes at which the current segment is full. */
  #fullBytes: number
  #next: SegmentWriter | undefined
  #closed = false

  /** @throws Error of the file system */
  constructor(quota: TableQuota, options: JournalOptions) {
    this.#quota = quota
    this.#options = options
    const old = listSegments(options.dir).filter(file => file.thread === options.thread)
    this.#old = old
    this.#number = (old.at(-1)?.number ?? 0) + 1
    this.#writer = new SegmentWriter(options.dir, options.thread, this.#number)
    this.#fullBytes = options.segmentBytes
    this.#timer = setInterval(() => this.#sync(), options.syncMs)
    this.#timer.unref()
  }

  /** Bytes of this thread's current segment. */
  get bytes(): number {
    return this.#writer.bytes
  }

  /**
   * Records the counts that the kernel has just written to READ_… (`quotaReserve`).
   * @param fresh units reserved with it
   * @throws Error of the file system; the units may not be spent then
   */
  handleReservation(name: string, fresh: number, secondLimit: number, minuteLimit: number): void {
    this.#writer.append(this.#describe(name, secondLimit, minuteLimit, fresh, 0, undefined))
    if (this.#writer.bytes > this.#fullBytes && this.#next === undefined) this.#rotate()
  }

  /** Records all counts of a slot. False when the slot is free. @throws Error of the file system, or that the slot stays locked */
  whole(slot: number): boolean {
    const status = this.#record(slot, false)
    if (status === BUSY)
      throw new Error(`the counts of slot ${slot} cannot be read: another thread has left the slot locked`)
    return status === 1
  }

  /** @returns 1; 0 when the slot is free, BUSY when it stays locked */
  #record(slot: number, surrender: boolean): number {
    const { table, names } = this.#quota
    const read = () =>
      table.kernel.quotaExport(slot, this.#quota.monotonicMs(), this.#quota.unixMs(), surrender ? 1 : 0)
    const status = table.patiently(read, BUSY)
    if (status !== 1) return status
    const { out } = table
    const words = new Uint32Array(table.keyBytes.buffer, table.keyBytes.byteOffset, out[READ_PAIRS / 4]! * 2)
    const past = Array.from(
      { length: out[READ_PAIRS / 4]! },
      (_, i) => [words[i * 2]!, words[i * 2 + 1]!] as const,
    )
    const seconds = out[READ_SECOND_QUANTUM / 4]! * QUANTA
    const minutes = out[READ_MINUTE_QUANTUM / 4]! * QUANTA
    this.#writer.append(
      this.#describe(
        names.read(slot) ?? '',
        seconds,
        minutes,
        out[READ_SECOND / 4]!,
        out[READ_SECOND_AGE / 4]!,
        past,
      ),
    )
    return 1
  }

  /** Records all counters at once: for the start, before calls arrive. @throws Error of the file system */
  begin(): void {
    const { used } = this.#quota.table.health()
    for (let slot = 0; slot < used; slot++) this.whole(slot)
    this.#writer.syncNow()
    this.#finish()
    this.#removeReplaced()
  }

  /** Releases unspent units, so that the next start counts exactly. @throws Error of the file system */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#timer)
    const { table } = this.#quota
    const { used } = table.health()
    // the last notes of some consumers may be in an older segment alone
    const all = this.#old.length > 0
    let isWhole = true
    try {
      for (let slot = 0; slot < used; slot++)
        if ((all || this.#stale(slot)) && this.#record(slot, true) === BUSY) isWhole = false
    } finally {
      this.#writer.close()
    }
    removeSegments(this.#replaced)
    if (isWhole) removeSegments(this.#old)
  }

  /** Whether the last note differs from the slot, or does not contain its calendar counts. */
  #stale(slot: number): boolean {
    const { table } = this.#quota
    const { out } = table
    const read = () => table.kernel.quotaRead(slot, this.#quota.monotonicMs(), this.#quota.unixMs())
    if (table.patiently(read, BUSY) !== 1) return false
    const open = out[READ_RESERVED / 4]! + out[READ_SECOND / 4]! + out[READ_MINUTE / 4]!
    const unlimited = out[READ_DAY_LIMIT / 4] === 0 && out[READ_MONTH_LIMIT / 4] === 0
    return open > 0 || unlimited
  }

  #describe(
    name: string,
    secondLimit: number,
    minuteLimit: number,
    fresh: number,
    newestMs: number,
    past: Note['past'],
  ): Note {
    const { out, hashWords } = this.#quota.table
    const pending = out[READ_RESERVED / 4]!
    return {
      hash: [hashWords[0]!, hashWords[1]!, hashWords[2]!, hashWords[3]!],
      name,
      sequence: out[READ_SEQUENCE / 4]! + out[READ_SEQUENCE / 4 + 1]! * 2 ** 32,
      wallMs: this.#quota.unixMs(),
      day: out[READ_DAY / 4]!,
      month: out[READ_MONTH / 4]!,
      dayCount: out[READ_DAY_COUNT / 4]! + pending,
      monthCount: out[READ_MONTH_COUNT / 4]! + pending,
      dayLimit: out[READ_DAY_LIMIT / 4]!,
      monthLimit: out[READ_MONTH_LIMIT / 4]!,
      secondLimit,
      minuteLimit,
      pending,
      fresh,
      newestMs,
      past,
      generation: this.generations?.get(name) ?? 0,
    }
  }

  /** Begins a new segment; the counters follow in slices, then the old segments are removed. */
  #rotate(): void {
    const { dir, thread, onFault } = this.#options
    const full = this.#writer
    try {
      this.#next = new SegmentWriter(dir, thread, ++this.#number)
    } catch (error) {
      // the old segment continues; a later note retries
      this.#fullBytes = full.bytes + this.#options.segmentBytes
      return onFault(error as Error)
    }
    this.#old.push({ path: full.path })
    this.#writer = this.#next
    setImmediate(() => this.#slice(0))
    try {
      full.close()
      removeSegments(this.#replaced)
    } catch (error) {
      // the new segment will hold its counters, too
      onFault(error as Error)
      this.#old.unshift(...this.#replaced)
    }
    this.#replaced = []
  }

  #slice(from: number): void {
    if (this.#closed) return
    const { used } = this.#quota.table.health()
    try {
      for (let slot = from; slot < Math.min(from + SLICE, used); slot++) this.whole(slot)
      if (from + SLICE < used) setImmediate(() => this.#slice(from + SLICE))
      else this.#finish()
    } catch (error) {
      // the old segments stay until a later one is complete
      this.#next = undefined
      this.#fullBytes = this.#writer.bytes + this.#options.segmentBytes
      this.#options.onFault(error as Error)
    }
  }

  #finish(): void {
    this.#next = undefined
    // the counters of many consumers must not fill a segment alone
    this.#fullBytes = Math.max(this.#options.segmentBytes, this.#writer.bytes * 2)
    this.#replaced = this.#old
    this.#old = []
    this.#neededBytes = this.#writer.bytes
    if (this.#replaced.length > MAX_UNSYNCED) removeSegments(this.#replaced.splice(0))
    this.#sync()
  }

  #sync(): void {
    this.#writer.sync(this.#options.onFault, () => {
      if (this.#writer.durableBytes >= this.#neededBytes) this.#removeReplaced()
    })
  }

  #removeReplaced(): void {
    removeSegments(this.#replaced.splice(0))
  }
}
