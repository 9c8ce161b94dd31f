/** Reads events from the segments of a spool, stores its position, counts damaged and unread events, and removes segments. */

import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, readSync, unlinkSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { OnDamage } from '../../../base/fs/damage.ts'
import { isFull } from '../../../base/fs/full.ts'
import { isMissing, readTextIfPresent } from '../../../base/fs/missing.ts'
import { getOrSet } from '../../../base/once-per.ts'
import { findFrame, frameAt, MAX_FRAME_BYTES } from './frame.ts'
import { type SegmentName, segmentsAmong } from './segment-name.ts'

export interface SpoolReaderOptions {
  readonly directory: string
  /** Names its cursor; one reader per purpose. */
  readonly purpose: string
  /** Segments that have been read are removed. */
  readonly removes: boolean
  readonly onDamage: OnDamage
}

export interface SpooledEvent {
  readonly writer: string
  /** For the frame. */
  readonly number: number
  /** The event in protobuf. */
  readonly bytes: Uint8Array
}

const READ_BYTES = 1024 * 1024

interface Place {
  at: number
  /** The segment has been read to its end and does not grow. */
  finished: boolean
}

export class SpoolReader {
  readonly counts = {
    read: 0,
    /** Events that were written and cannot be read: damaged, or their segment was removed. */
    damaged: 0,
  }
  readonly #options: SpoolReaderOptions
  readonly #cursorPath: string
  #isPositioned = false
  readonly #places = new Map<string, Place>()
  readonly #next = new Map<string, number>()
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES)

  constructor(options: SpoolReaderOptions) {
    this.#options = options
    this.#cursorPath = join(options.directory, `${options.purpose}.cursor`)
  }

  /** When it is first needed, and again after an error: a file system that fails for a moment must not set the position back to the beginning. */
  #readPosition(): void {
    if (this.#isPositioned) return
    const { state, whole } = readCursor(this.#cursorPath)
    this.#isPositioned = true
    if (!whole)
      this.#options.onDamage(
        this.#cursorPath,
        'delivery starts again at the oldest event in the spool; an event that is delivered twice is counted once, by its id',
      )
    for (const [key, at] of Object.entries(state.segments)) this.#places.set(key, { at, finished: false })
    for (const [writer, number] of Object.entries(state.next)) this.#next.set(writer, number)
  }

  /**
   * The next events, in the order of each writer; their bytes are valid until the next call. Empty: no new events.
   * They are returned again after a restart without `commit`.
   * @throws Error of the file system; the position stays, and a later call continues there
   */
  read(maxEvents: number): SpooledEvent[] {
    const events: SpooledEvent[] = []
    const segments = this.segments()
    for (const [index, segment] of segments.entries()) {
      const place = this.#placeOf(segment)
      if (place.finished) continue
      this.#readSegment(segment, place, isLast(segments, index), maxEvents, events)
      // one buffer: a batch contains events of one segment
      if (events.length > 0) break
    }
    this.counts.read += events.length
    return events
  }

  /**
   * Marks returned events as processed: stores the cursor, then removes segments. On a full disk it removes segments first, which makes the space
   * for the cursor; when the process ends between the two, their events count as missing.
   * @throws Error of the file system; it can be repeated
   */
  async commit(): Promise<void> {
    const segments = this.segments()
    const there = new Set(segments.map(segment => segment.key))
    for (const key of this.#places.keys()) if (!there.has(key)) this.#places.delete(key)
    const finished = segments.filter(segment => this.#places.get(segment.key)?.finished === true)
    const { removes } = this.#options
    try {
      await this.#writeCursor()
    } catch (error) {
      if (!removes || finished.length === 0 || !isFull(error)) throw error
      for (const segment of finished) this.#remove(segment)
      await this.#writeCursor()
    }
    if (!removes) return
    for (const segment of finished) this.#remove(segment)
    const writers = new Set(this.segments().map(segment => segment.writer))
    for (const writer of this.#next.keys()) if (!writers.has(writer)) this.#next.delete(writer)
  }

  #writeCursor(): Promise<void> {
    return writeCursor(this.#cursorPath, {
      segments: Object.fromEntries([...this.#places].map(([key, { at }]) => [key, at])),
      next: Object.fromEntries(this.#next),
    })
  }

  /** Oldest first. @throws Error of the file system: an empty list would remove all positions */
  segments(): SegmentName[] {
    this.#readPosition()
    try {
      return segmentsAmong(readdirSync(this.#options.directory))
    } catch (error) {
      if (!isMissing(error)) throw error
      return [] // no event has been written yet
    }
  }

  /** Number of unread events of a segment; 0 when its file is missing. @throws Error of the file system: it cannot be counted now */
  unread(segment: SegmentName): number {
    const next = this.#nextOf(segment)
    const from = Math.max(segment.first, this.#next.get(segment.writer) ?? 0)
    if (next !== undefined) return Math.max(0, next.first - from)
    const counting = new SpoolReader({ ...this.#options, purpose: 'count' })
    const place = { at: this.#places.get(segment.key)?.at ?? 0, finished: false }
    for (let before = -1; !place.finished && before < counting.counts.read; ) {
      before = counting.counts.read
      const events: SpooledEvent[] = []
      counting.#readSegment(segment, place, true, Number.POSITIVE_INFINITY, events)
      counting.counts.read += events.length
    }
    return counting.counts.read
  }

  /** Removes a segment, read or not; its events do not count as damaged. @throws Error of the file system; the segment stays then */
  remove(segment: SegmentName): void {
    const next = this.#nextOf(segment)
    this.#remove(segment)
    if (next !== undefined && (this.#next.get(segment.writer) ?? 0) < next.first)
      this.#next.set(segment.writer, next.first)
  }

  #nextOf(segment: SegmentName): SegmentName | undefined {
    return this.segments().find(later => later.writer === segment.writer && later.first > segment.first)
  }

  #placeOf(segment: SegmentName): Place {
    return getOrSet(this.#places, segment.key, () => ({ at: 0, finished: false }))
  }

  /** @param last no other segment of the writer follows */
  #readSegment(
    segment: SegmentName,
    place: Place,
    last: boolean,
    maxEvents: number,
    events: SpooledEvent[],
  ): void {
    const { growing } = segment
    const file = this.#open(segment.file)
    // removed by an operator, or renamed just now: the next read of the directory decides
    if (file === undefined) return
    try {
      if (place.at === 0) this.#reach(segment.writer, segment.first)
      while (events.length === 0 && !place.finished) {
        const length = readSync(file, this.#buffer, 0, READ_BYTES, place.at)
        const read = this.#readFrames(segment, this.#buffer.subarray(0, length), maxEvents, events)
        place.at += read
        if (read > 0) continue
        if (length === READ_BYTES) {
          // a megabyte without a complete frame: continue after it, but not after the start of a frame at its end
          place.at += READ_BYTES - MAX_FRAME_BYTES
        } else if (growing) {
          return
        } else {
          // the first number of the next segment shows how many events a torn end contained; for the last one it is unknown
          // it ends within an event, or before the place up to which it was read
          const { size } = fstatSync(file)
          if (length > 0 || size === 0 || place.at > size) this.#reportDamage(segment.file)
          // reported once
          if (size === 0) this.#removeEmpty(segment)
          if (length > 0 && last) this.counts.damaged++
          place.finished = true
        }
      }
      if (!growing && place.at >= fstatSync(file).size) place.finished = true
    } finally {
      closeSync(file)
    }
  }

  /** @returns number of bytes processed */
  #readFrames(
    { writer, file }: SegmentName,
    window: Buffer,
    maxEvents: number,
    events: SpooledEvent[],
  ): number {
    let at = 0
    while (events.length < maxEvents) {
      const frame = frameAt(window, at)
      if (frame === undefined) {
        const next = at < window.length ? findFrame(window, at + 1) : -1
        if (next < 0) break
        this.#reportDamage(file)
        at = next
        continue
      }
      this.#reach(writer, frame.number)
      this.#next.set(writer, frame.number + 1)
      events.push({ writer, number: frame.number, bytes: frame.bytes })
      at = frame.end
    }
    return at
  }

  #reach(writer: string, number: number): void {
    const expected = this.#next.get(writer) ?? number
    if (number > expected) this.counts.damaged += number - expected
    if (number >= expected) this.#next.set(writer, number)
  }

  /** Kept events of the segment are delivered; what is missing is counted by its numbers. */
  #reportDamage(file: string): void {
    this.#options.onDamage(join(this.#options.directory, file), 'its unreadable metering events are lost')
  }

  /** undefined: the file is missing. @throws Error of the file system */
  #open(file: string): number | undefined {
    try {
      return openSync(join(this.#options.directory, file), 'r')
    } catch (error) {
      if (!isMissing(error)) throw error
      return undefined
    }
  }

  /** A file that an operator has removed is ignored. @throws Error of the file system; its position stays, so that it is not read again */
  #remove(segment: SegmentName): void {
    try {
      unlinkSync(join(this.#options.directory, segment.file))
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    this.#places.delete(segment.key)
  }

  /** Where it cannot be removed, it is reported again after a restart; nothing else depends on it. */
  #removeEmpty(segment: SegmentName): void {
    try {
      this.#remove(segment)
    } catch {
      // the segments after it are read nevertheless
    }
  }
}

function isLast(segments: readonly SegmentName[], index: number): boolean {
  const { writer } = segments[index]!
  return !segments.slice(index + 1).some(later => later.writer === writer)
}

interface CursorState {
  /** Segment → position of the next byte to read. Absent segments have not been read. */
  readonly segments: { readonly [name: string]: number }
  /** Writer → number of the frame that comes next. */
  readonly next: { readonly [writer: string]: number }
}

const EMPTY: CursorState = { segments: {}, next: {} }

/** No file: the beginning. @returns the state, and false when the file is damaged @throws Error of the file system */
function readCursor(path: string): { readonly state: CursorState; readonly whole: boolean } {
  const text = readTextIfPresent(path)
  if (text === undefined) return { state: EMPTY, whole: true }
  const end = text.indexOf('\n')
  const body = text.slice(0, end)
  if (end < 0 || digest(body) !== text.slice(end + 1).trim()) return { state: EMPTY, whole: false }
  return { state: JSON.parse(body) as CursorState, whole: true }
}

/** Resolves when the cursor is replaced; a power failure may bring the old one back. @throws Error of the file system; the old cursor stays then */
async function writeCursor(path: string, state: CursorState): Promise<void> {
  const body = JSON.stringify(state)
  const file = await open(`${path}.new`, 'w')
  try {
    await file.writeFile(`${body}\n${digest(body)}\n`)
    await file.datasync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

function digest(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}
