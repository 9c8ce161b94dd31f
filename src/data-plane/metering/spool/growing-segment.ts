/** The file of a segment that a writer appends to: creates, fills, syncs, closes and removes it. */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { isMissing } from '../../../base/fs/missing.ts'
import { frameAt } from './frame.ts'
import { segmentFile } from './segment-name.ts'

export class GrowingSegment {
  readonly key: string
  readonly #path: string
  readonly #file: number
  #bytes = 0
  #last: number

  /**
   * The name of the new file is on disk when this returns.
   * @param last number of the last frame before it
   * @throws Error of the file system; no file is left then
   */
  constructor(directory: string, key: string, last: number) {
    mkdirSync(directory, { recursive: true })
    this.key = key
    this.#path = join(directory, segmentFile(key, true))
    this.#last = last
    this.#file = openSync(this.#path, 'wx')
    try {
      const folder = openSync(directory, 'r')
      try {
        fsyncSync(folder)
      } finally {
        closeSync(folder)
      }
    } catch (error) {
      this.close()
      this.remove()
      throw error
    }
  }

  /** Bytes of its whole frames. */
  get bytes(): number {
    return this.#bytes
  }

  /** Number of the last whole frame. */
  get last(): number {
    return this.#last
  }

  /**
   * @param last number of the last of the frames
   * @returns an error of the file system: frames that were written whole stay, because they may have been delivered, and the next call overwrites the rest
   */
  append(frames: Buffer, length: number, last: number): Error | undefined {
    let done = 0
    try {
      while (done < length) done += writeSync(this.#file, frames, done, length - done, this.#bytes + done)
    } catch (error) {
      this.#keepWhole(frames.subarray(0, done))
      return error as Error
    }
    this.#bytes += length
    this.#last = last
    return undefined
  }

  #keepWhole(written: Buffer): void {
    let end = 0
    for (let frame = frameAt(written, 0); frame !== undefined; frame = frameAt(written, end)) {
      end = frame.end
      this.#last = frame.number
    }
    this.#bytes += end
  }

  /** Removes what a failed call has written after the whole frames, and syncs. @returns false: the disk refuses it */
  truncate(): boolean {
    try {
      ftruncateSync(this.#file, this.#bytes)
      this.syncNow()
      return true
    } catch {
      return false
    }
  }

  /** @throws Error of the file system */
  syncNow(): void {
    fdatasyncSync(this.#file)
  }

  sync(done: (error: Error | null) => void): void {
    fdatasync(this.#file, done)
  }

  /** The events were synced before, and an error leaves the descriptor closed as well. */
  close(): void {
    try {
      closeSync(this.#file)
    } catch {
      // nothing is lost by it
    }
  }

  /** For a segment without events: an empty complete one would count as damage. @throws Error of the file system */
  remove(): void {
    unlinkSync(this.#path)
  }
}

/** Renames it, which marks it as complete for readers; a file that an operator removed is ignored. @throws Error of the file system */
export function completeSegment(directory: string, key: string): void {
  try {
    renameSync(join(directory, segmentFile(key, true)), join(directory, segmentFile(key, false)))
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
