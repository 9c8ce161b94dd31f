/** Segments of the quota journal: lists, writes, syncs and removes the files, and reads their notes. It applies no note: `restore.ts` does. */
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { decodeNote, encodeNote, MAX_NOTE_BYTES, type Note } from './note.ts'

const NAME = /^notes-(\d+)-(\d+)\.log$/
const CHUNK_BYTES = 1 << 20
/** Header of a segment: magic u32, version u32, f64 bytes that were on the disk, CRC-32 of these. */
const MAGIC = 0x5154_4753
const VERSION = 1
const HEADER_BYTES = 20

export interface SegmentFile {
  readonly path: string
  readonly thread: number
  readonly number: number
}

/** Segments of a directory, oldest of each thread first. */
export function listSegments(dir: string): SegmentFile[] {
  return readdirSync(dir)
    .flatMap(file => {
      const match = NAME.exec(file)
      return match === null
        ? []
        : [{ path: join(dir, file), thread: Number(match[1]), number: Number(match[2]) }]
    })
    .sort((a, b) => a.thread - b.thread || a.number - b.number)
}

/** Appends notes to a new segment. When `append` has returned, the note survives any end of the process. */
export class SegmentWriter {
  readonly path: string
  bytes = HEADER_BYTES
  /** Bytes of these that survive a power failure. */
  durableBytes = 0
  readonly #fd: number
  #dirty = false
  #syncing = false
  #closed = false
  readonly #buffer = Buffer.alloc(MAX_NOTE_BYTES)

  /** @throws Error of the file system; a segment is never opened twice */
  constructor(dir: string, thread: number, number: number) {
    this.path = join(dir, `notes-${thread}-${number}.log`)
    this.#fd = openSync(this.path, 'wx', 0o600)
    try {
      this.#mark(HEADER_BYTES)
    } catch (error) {
      closeSync(this.#fd)
      unlinkSync(this.path)
      throw error
    }
  }

  /** @throws Error of the file system; a part that was written is skipped by readers */
  append(note: Note): void {
    if (this.#closed) throw new Error(`${this.path} is closed; no entry can be appended after close()`)
    const length = encodeNote(note, this.#buffer)
    for (let written = 0; written < length; )
      written += writeSync(this.#fd, this.#buffer, written, length - written, this.bytes + written)
    this.bytes += length
    this.#dirty = true
  }

  /** Starts an fdatasync when there are new notes and none is running. Failures go to `onFault`; after a success `onSynced` is called. */
  sync(onFault: (error: Error) => void, onSynced: () => void): void {
    if (!this.#dirty || this.#syncing || this.#closed) return
    this.#dirty = false
    this.#syncing = true
    const { bytes } = this
    fdatasync(this.#fd, error => {
      this.#syncing = false
      if (this.#closed) return
      try {
        if (error !== null) throw error
        this.#mark(bytes)
        this.durableBytes = bytes
        onSynced()
      } catch (fault) {
        this.#dirty = true
        onFault(fault as Error)
      }
    })
  }

  /** Blocks until all notes are on the disk. @throws Error of the file system */
  syncNow(): void {
    fdatasyncSync(this.#fd)
    this.#mark(this.bytes)
    this.durableBytes = this.bytes
    this.#dirty = false
  }

  /** @throws Error of the file system: a power failure may take the last notes; the descriptor is closed all the same */
  close(): void {
    // the descriptor may be reused for another file
    this.#closed = true
    try {
      this.syncNow()
    } finally {
      closeSync(this.#fd)
    }
  }

  /** Records that `bytes` are on the disk: at the next start, fewer are damage and not a torn end. */
  #mark(bytes: number): void {
    const header = Buffer.alloc(HEADER_BYTES)
    header.writeUInt32LE(MAGIC, 0)
    header.writeUInt32LE(VERSION, 4)
    header.writeDoubleLE(bytes, 8)
    header.writeUInt32LE(crc32(header.subarray(0, HEADER_BYTES - 4)), HEADER_BYTES - 4)
    writeSync(this.#fd, header, 0, HEADER_BYTES, 0)
  }
}

export interface ReadReport {
  notes: number
  /** Bytes that are not part of a complete note: torn ends and damage. */
  skippedBytes: number
  /** Damaged files, with what is wrong; a torn end is not damage. */
  readonly damage: string[]
  /** Notes below this rank may have had successors that were lost. */
  trustedFrom: number
}

/** Notes of all segments in the order of their ranks; those of one thread are in order already. */
export function* readSegments(files: readonly SegmentFile[], report: ReadReport): Generator<Note> {
  const threads = new Map<number, SegmentFile[]>()
  for (const file of files) threads.set(file.thread, [...(threads.get(file.thread) ?? []), file])
  const heads = [...threads.values()].map(own => readThread(own, report))
  const next = heads.map(head => head.next())
  while (true) {
    let first = -1
    for (const [i, { done, value }] of next.entries())
      if (done !== true && (first < 0 || value.sequence < (next[first]!.value as Note).sequence)) first = i
    if (first < 0) return
    yield next[first]!.value as Note
    next[first] = heads[first]!.next()
  }
}

function* readThread(files: readonly SegmentFile[], report: ReadReport): Generator<Note> {
  for (const { path } of files) yield* readSegment(path, report)
}

function* readSegment(path: string, report: ReadReport): Generator<Note> {
  const fd = openSync(path, 'r')
  try {
    const { size } = fstatSync(fd)
    const durableBytes = markOf(fd)
    let buffer = Buffer.alloc(0)
    let at = 0
    /** Offset in the file of the start of `buffer`, and of the first byte skipped since the last note; -1: none. */
    let base = durableBytes === 0 ? 0 : HEADER_BYTES
    let skippedAt = -1
    /** Segments of earlier versions begin with a note; all others with a header, which may be damaged. */
    let headed = durableBytes > 0 || size === 0
    for (let ended = false; ; ) {
      const found = decodeNote(buffer, at)
      if (typeof found === 'object') {
        report.notes++
        at += found.bytes
        if (skippedAt >= 0) {
          report.damage.push(`${path}: bytes ${skippedAt} to ${base + at - found.bytes} are not readable`)
          report.trustedFrom = Math.max(report.trustedFrom, found.note.sequence)
          skippedAt = -1
        }
        yield found.note
      } else if (found === 'short' && !ended) {
        const chunk = Buffer.alloc(CHUNK_BYTES)
        const read = readSync(fd, chunk, 0, CHUNK_BYTES, base + buffer.length)
        ended = read === 0
        buffer = Buffer.concat([buffer.subarray(at), chunk.subarray(0, read)])
        base += at
        at = 0
      } else if (at < buffer.length) {
        // no complete note begins here; one may begin at any later byte
        report.skippedBytes++
        if (skippedAt < 0) skippedAt = base + at
        if (skippedAt === 0) headed = true
        at++
      } else {
        const unread = skippedAt >= 0 && skippedAt < durableBytes
        const whole = durableBytes > 0 && size >= durableBytes && !unread
        if (whole || !headed) return
        report.damage.push(`${path} (${size} bytes): the last entries are missing or not readable`)
        report.trustedFrom = Number.POSITIVE_INFINITY
        return
      }
    }
  } finally {
    closeSync(fd)
  }
}

/** Bytes of the segment that were on the disk according to its header; 0 without a valid header. */
function markOf(fd: number): number {
  const header = Buffer.alloc(HEADER_BYTES)
  if (readSync(fd, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return 0
  const valid = crc32(header.subarray(0, HEADER_BYTES - 4)) === header.readUInt32LE(HEADER_BYTES - 4)
  return valid && header.readUInt32LE(0) === MAGIC ? header.readDoubleLE(8) : 0
}

/** Removes segments; a missing one is ignored. */
export function removeSegments(files: readonly { readonly path: string }[]): void {
  for (const { path } of files) if (existsSync(path)) unlinkSync(path)
}
