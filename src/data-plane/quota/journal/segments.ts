/** Files of notes: appends to one, reads all in the order of their ranks. It does not interpret notes. */
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  openSync,
  readdirSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { decodeNote, encodeNote, MAX_NOTE_BYTES, type Note } from './note.ts'

const NAME = /^notes-(\d+)-(\d+)\.log$/
const CHUNK_BYTES = 1 << 20

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
  bytes = 0
  readonly #fd: number
  #dirty = false
  #syncing = false
  #closed = false
  readonly #buffer = Buffer.alloc(MAX_NOTE_BYTES)

  /** @throws Error of the file system; a segment is never opened twice */
  constructor(dir: string, thread: number, number: number) {
    this.path = join(dir, `notes-${thread}-${number}.log`)
    this.#fd = openSync(this.path, 'ax', 0o600)
  }

  /** @throws Error of the file system; a part that was written is skipped by readers */
  append(note: Note): void {
    if (this.#closed) throw new Error(`${this.path} is closed; no note can be appended after close()`)
    const length = encodeNote(note, this.#buffer)
    for (let written = 0; written < length; )
      written += writeSync(this.#fd, this.#buffer, written, length - written)
    this.bytes += length
    this.#dirty = true
  }

  /** Starts an fdatasync when there are new notes and none is running. Failures go to `onFault`. */
  sync(onFault: (error: Error) => void): void {
    if (!this.#dirty || this.#syncing || this.#closed) return
    this.#dirty = false
    this.#syncing = true
    fdatasync(this.#fd, error => {
      this.#syncing = false
      if (error !== null && error.code !== 'EBADF') onFault(error)
    })
  }

  close(): void {
    // the descriptor may be reused for another file
    this.#closed = true
    fdatasyncSync(this.#fd)
    closeSync(this.#fd)
  }
}

export interface ReadReport {
  notes: number
  /** Bytes that are not part of a complete note: torn ends and damage. */
  skippedBytes: number
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
    let buffer = Buffer.alloc(0)
    let at = 0
    for (let ended = false; ; ) {
      const found = decodeNote(buffer, at)
      if (typeof found === 'object') {
        report.notes++
        at += found.bytes
        yield found.note
      } else if (found === 'short' && !ended) {
        const chunk = Buffer.alloc(CHUNK_BYTES)
        const read = readSync(fd, chunk)
        ended = read === 0
        buffer = Buffer.concat([buffer.subarray(at), chunk.subarray(0, read)])
        at = 0
      } else if (at < buffer.length) {
        // no complete note begins here; one may begin at any later byte
        report.skippedBytes++
        at++
      } else return
    }
  } finally {
    closeSync(fd)
  }
}

/** Removes segments; a missing one is ignored. */
export function removeSegments(files: readonly { readonly path: string }[]): void {
  for (const { path } of files) if (existsSync(path)) unlinkSync(path)
}
