/** Appends events to the segments of a writer, syncs them to disk, and buffers events while the disk refuses them. `spool-reader.ts` reads them. */
import type { MaybePending } from '../../../base/and-then.ts'
import { isFull } from '../../../base/fs/full.ts'
import { Later } from '../../../base/later.ts'
import { EventEncoder, MAX_EVENT_BYTES } from '../event-encoder.ts'
import { newWriterName } from '../event-id.ts'
import type { CallOrigin, Meter, MeteredCall } from '../meter.ts'
import { EndedSegments } from './ended-segments.ts'
import { beginFrame, FRAME_HEADER_BYTES, sealFrames } from './frame.ts'
import { GrowingSegment } from './growing-segment.ts'
import { segmentKey } from './segment-name.ts'

/** `batch`: time between two fdatasync; with that of the next one, events are on disk within the promised 5 ms. */
const SYNC_EVERY_MS = 3
const RETRY_AFTER_MS = 100
const BUFFER_BYTES = 1024 * 1024
/** Full buffers that wait for a disk that accepts nothing. With all of them in use, calls are refused. */
const MAX_WAITING_BUFFERS = 32
/** Longest wait of a response for a disk that does not accept its event. */
const MAX_HOLD_MS = 10_000

export interface SpoolWriterOptions {
  readonly directory: string
  /**
   * `batch`: a response waits until its event is written, so that it survives the end of the process; fdatasync follows. `sync`: a response
   * waits for fdatasync, which is one for the responses of the moment. While the disk refuses events, they wait in memory; responses then
   * do not wait (`batch`), or for `MAX_HOLD_MS` at most (`sync`).
   */
  readonly durability: 'batch' | 'sync'
  /** Size after which a new segment begins. */
  readonly segmentBytes: number
  /** Name of the gateway instance, part of every event. */
  readonly gateway: string
  /** Called when the disk refuses events or does not rename a segment, and with undefined when it does both again. */
  readonly onFault: (error: Error | undefined) => void
}

/** Responses that wait for the same fdatasync. */
interface Group {
  readonly promise: Promise<undefined>
  readonly release: () => void
  size: number
}

interface WaitingBuffer {
  readonly bytes: Buffer
  filled: number
  /** For its last frame. */
  readonly number: number
}

export class SpoolWriter implements Meter {
  readonly name = newWriterName()
  readonly counts = {
    events: 0,
    /** Lost: the disk refused them and no buffer was free, or the writer was closed before they were written. */
    dropped: 0,
    /** `sync`: responses sent before their event was on disk, after `MAX_HOLD_MS`. */
    unsynced: 0,
  }
  readonly #options: SpoolWriterOptions
  readonly #encoder: EventEncoder
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #filled = 0
  /** Sealed, in their order, all before `#buffer`. */
  readonly #waiting: WaitingBuffer[] = []
  /** `performance.now()`. */
  #syncedAt = 0
  #sequence = 0
  /** For frames, which unlike the sequence has no gaps where events were dropped. */
  #number = 0
  #written = 0
  /** undefined: the disk refuses a new one. */
  #segment: GrowingSegment | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #turnEnd: NodeJS.Immediate | undefined
  #unsynced = false
  #syncing = false
  #syncTimer: NodeJS.Timeout | undefined
  /** Responses of `sync` that wait for the next fdatasync. */
  #group: Group | undefined
  /** Responses of `batch` that wait for the write of this turn, the first `#inTurn`; two lists in turns. */
  #ofTurn: (Later<undefined> | undefined)[] = []
  #released: (Later<undefined> | undefined)[] = []
  #inTurn = 0
  #holdTimer: NodeJS.Timeout | undefined
  /** First of the errors since the disk accepted events. */
  #fault: Error | undefined
  readonly #ended: EndedSegments
  #reported: Error | undefined
  #closed = false

  constructor(options: SpoolWriterOptions) {
    this.#options = options
    this.#encoder = new EventEncoder(this.name, options.gateway)
    this.#ended = new EndedSegments(options.directory, () => this.#report())
    this.#begin()
  }

  get ready(): boolean {
    if (this.#fault === undefined) return true
    return this.#options.durability === 'batch' && this.#waiting.length < MAX_WAITING_BUFFERS
  }

  /** Events of calls that are in memory only, because the disk does not accept them. */
  get held(): number {
    return this.#number - this.#written
  }

  record(origin: CallOrigin, call: MeteredCall): MaybePending<undefined> {
    this.#sequence++
    this.counts.events++
    if (!this.#hasCapacity()) this.#setAside()
    if (this.#closed || !this.#hasCapacity()) {
      this.counts.dropped++
      return undefined
    }
    const at = this.#filled
    const bytesAt = at + FRAME_HEADER_BYTES
    const end = this.#encoder.write(this.#buffer, bytesAt, this.#sequence, origin, call)
    beginFrame(this.#buffer, at, end - bytesAt, ++this.#number)
    this.#filled = end
    if (this.#options.durability === 'sync') return this.#hold()
    // refused events wait for the next attempt, so that a full disk does not delay calls
    return this.#fault === undefined ? this.#untilTurnEnd() : undefined
  }

  /** One write for all events of a turn of the event loop, before the first of their responses leaves. */
  #untilTurnEnd(): Later<undefined> {
    if (this.#inTurn === 0) setImmediate(this.#onTurnEnd)
    const response = new Later<undefined>()
    this.#ofTurn[this.#inTurn++] = response
    return response
  }

  readonly #onTurnEnd = (): void => {
    const [responses, count] = [this.#ofTurn, this.#inTurn]
    this.#ofTurn = this.#released
    this.#released = responses
    this.#inTurn = 0
    this.#write()
    for (let at = 0; at < count; at++) {
      responses[at]!.resolve(undefined)
      responses[at] = undefined
    }
  }

  /** Writes and syncs all buffered events. Later events are lost and counted. */
  close(): void {
    if (this.#closed) return
    this.#write()
    this.#closed = true
    clearTimeout(this.#retryTimer)
    clearTimeout(this.#holdTimer)
    clearTimeout(this.#syncTimer)
    clearImmediate(this.#turnEnd)
    if (this.#segment !== undefined) this.#end(this.#segment)
    this.#ended.close()
    this.counts.dropped += this.held
    this.#group?.release()
  }

  #hasCapacity(): boolean {
    return BUFFER_BYTES - this.#filled > MAX_EVENT_BYTES + FRAME_HEADER_BYTES
  }

  #setAside(): void {
    if (this.#fault === undefined) this.#write()
    if (this.#filled === 0 || this.#waiting.length >= MAX_WAITING_BUFFERS) return
    sealFrames(this.#buffer, 0, this.#filled)
    this.#waiting.push({ bytes: this.#buffer, filled: this.#filled, number: this.#number })
    this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
    this.#filled = 0
  }

  #hold(): Promise<undefined> {
    this.#group ??= newGroup()
    this.#group.size++
    // events that arrive during fdatasync belong to the next group
    if (!this.#syncing && this.#fault === undefined) this.#turnEnd ??= setImmediate(this.#onWrite)
    return this.#group.promise
  }

  readonly #onWrite = (): void => {
    this.#retryTimer = undefined
    this.#turnEnd = undefined
    this.#write()
  }

  #write(): void {
    if (this.#closed) return
    const segment = this.#segment ?? this.#begin()
    if (segment === undefined) return
    for (let waiting = this.#waiting[0]; waiting !== undefined; waiting = this.#waiting[0]) {
      waiting.filled = this.#append(segment, waiting.bytes, waiting.filled, waiting.number)
      if (waiting.filled > 0) return
      this.#waiting.shift()
    }
    if (this.#filled > 0) {
      sealFrames(this.#buffer, 0, this.#filled)
      this.#filled = this.#append(segment, this.#buffer, this.#filled, this.#number)
      if (this.#filled > 0) return
    }
    this.#sync()
  }

  /**
   * @param number of its last frame
   * @returns how many bytes are left, moved to the beginning, when the disk refuses them: the failure has been handled then
   */
  #append(segment: GrowingSegment, bytes: Buffer, filled: number, number: number): number {
    const before = segment.bytes
    const error = segment.append(bytes, filled, number)
    this.#written = segment.last
    this.#unsynced = true
    if (error === undefined) return 0
    const kept = segment.bytes - before
    bytes.copyWithin(0, kept, filled)
    if (isFull(error)) this.#endFull(segment)
    this.#handleFailure(error)
    return filled - kept
  }

  /** On a full disk a segment ends before its size, so that it is removed when it is delivered: only that may make space. */
  #endFull(segment: GrowingSegment): void {
    // where it cannot be ended, the next attempt, which fails as well, does it
    if (segment.bytes === 0 || this.#syncing || !segment.truncate()) return
    segment.close()
    this.#segment = undefined
    this.#ended.add(segment.key)
  }

  #sync(): void {
    const segment = this.#segment
    if (segment === undefined || this.#syncing || !this.#unsynced || this.#syncTimer !== undefined) return
    const group = this.#group
    const waitMs = group === undefined ? this.#syncedAt + SYNC_EVERY_MS - performance.now() : 0
    if (waitMs > 0) {
      this.#syncTimer = setTimeout(() => {
        this.#syncTimer = undefined
        this.#sync()
      }, waitMs)
      return
    }
    this.#group = undefined
    this.#unsynced = false
    this.#syncing = true
    segment.sync(error => {
      this.#syncing = false
      this.#syncedAt = performance.now()
      if (this.#closed) {
        segment.close()
        return group?.release()
      }
      if (error !== null) {
        if (group !== undefined) {
          group.size += this.#group?.size ?? 0
          void group.promise.then(this.#group?.release)
          this.#group = group
        }
        return this.#handleFailure(error)
      }
      group?.release()
      // on a disk where no segment begins, the fault goes on
      if (segment.bytes >= this.#options.segmentBytes && !this.#roll(segment)) return
      this.#handleRecovery()
      if (this.#group !== undefined || this.#filled > 0) this.#write()
      else this.#sync()
    })
  }

  /** @returns false: the disk refuses it, and the segment grows until a later attempt */
  #roll(previous: GrowingSegment): boolean {
    try {
      if (this.#unsynced) previous.syncNow()
    } catch (error) {
      this.#handleFailure(error as Error)
      return false
    }
    if (this.#begin() === undefined) return false
    this.#unsynced = false
    previous.close()
    this.#ended.add(previous.key)
    return true
  }

  /** The last segment. What fails is done by the next start. */
  #end(segment: GrowingSegment): void {
    try {
      segment.syncNow()
      if (segment.bytes === 0) segment.remove()
      else this.#ended.add(segment.key)
    } catch (error) {
      this.#options.onFault(error as Error)
    }
    // a pending fdatasync uses the descriptor
    if (!this.#syncing) segment.close()
  }

  /** Begins the next segment; its name must be on disk before its events. @returns undefined: it could not */
  #begin(): GrowingSegment | undefined {
    try {
      const key = segmentKey(Date.now(), this.name, this.#written + 1)
      this.#segment = new GrowingSegment(this.#options.directory, key, this.#written)
      return this.#segment
    } catch (error) {
      this.#handleFailure(error as Error)
      return undefined
    }
  }

  #handleFailure(error: Error): void {
    this.#fault ??= error
    // the fault ends with a successful fdatasync, even if no event comes
    this.#unsynced = true
    this.#report()
    this.#retryTimer ??= setTimeout(this.#onWrite, RETRY_AFTER_MS)
    this.#holdTimer ??= setTimeout(() => {
      this.counts.unsynced += this.#group?.size ?? 0
      this.#group?.release()
      this.#group = undefined
      this.#holdTimer = undefined
    }, MAX_HOLD_MS)
  }

  #handleRecovery(): void {
    if (this.#fault === undefined) return
    this.#fault = undefined
    clearTimeout(this.#holdTimer)
    this.#holdTimer = undefined
    this.#report()
  }

  #report(): void {
    const fault = this.#fault ?? this.#ended.fault
    if (fault === this.#reported) return
    this.#reported = fault
    this.#options.onFault(fault)
  }
}

function newGroup(): Group {
  let release = (): void => {}
  const promise = new Promise<undefined>(resolve => {
    release = () => resolve(undefined)
  })
  return { promise, release, size: 0 }
}
