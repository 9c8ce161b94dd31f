/** The file with the last share: reads it, appends updates, rewrites it, and reports damage. */

import { SerialQueue } from '../../base/async/serial-queue.ts'
import { appendLines, readLines, replaceLines } from '../../base/fs/checked-lines.ts'
import { applyUpdate, type ControlShare, EMPTY_SHARE, wholeShare } from '../../link/control-share.ts'
import { versionOf } from '../../link/share-version.ts'
import { eventsOf, type MarkedUpdate, type StreamEvent, UpdateReader } from '../../link/update-events.ts'

/** Below this size, reading appended updates is fast. */
const MIN_REWRITE_BYTES = 1024 * 1024

export class ShareFile {
  readonly #path: string
  /** Size of the first update in the file, which is the whole share, and of everything after it. */
  #wholeBytes = 0
  #addedBytes = 0
  /** Version after the last complete update in the file; '' when the next write has to be a whole one. */
  #version = ''
  readonly #writes = new SerialQueue()

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The share of the newest complete update in the file. A torn end is what a crash leaves: the updates before it are used. A file with
   * altered content is not used, because its updates may be missing revocations.
   * @returns EMPTY_SHARE when there is none that can be used, and what is wrong with the file
   * @throws Error of the file system
   */
  async load(): Promise<{ readonly share: ControlShare; readonly damage: string | undefined }> {
    const { lines, fault, bytes } = await readLines(this.#path)
    const describeDamage = (what: string): string =>
      `the snapshot in DATA_DIR (${this.#path}) ${what}. The next snapshot from the control plane replaces this file.`
    let share = EMPTY_SHARE
    let isComplete = true
    const reader = new UpdateReader()
    let wholeBytes = 0
    try {
      if (fault === 'altered') throw new Error('a line does not match its checksum')
      for (const line of lines) {
        const marked = reader.take(JSON.parse(line) as StreamEvent)
        // the first update is the whole share; those after it count as appended, or each start would let the file grow further
        if (share === EMPTY_SHARE) wholeBytes += Buffer.byteLength(line)
        isComplete = marked !== undefined
        if (marked !== undefined) share = applyUpdate(share, marked.update)
      }
      if (share.version !== '' && versionOf(share) !== share.version)
        throw new Error('the content does not match the version in the file')
    } catch (error) {
      return { share: EMPTY_SHARE, damage: describeDamage(`is not used: ${(error as Error).message}`) }
    }
    this.#wholeBytes = wholeBytes
    this.#addedBytes = bytes - wholeBytes
    if (fault === undefined && isComplete) {
      this.#version = share.version
      return { share, damage: undefined }
    }
    // nothing is appended to a torn file: the next write is a whole one
    return {
      share,
      damage: describeDamage('ends in the middle of an update; the gateway does not apply that update'),
    }
  }

  /**
   * Writes the update that led to `share`, or the whole share. Calls run one after the other.
   * @throws Error of the file system; the next write is then a whole one
   */
  save(share: ControlShare, last: MarkedUpdate): Promise<void> {
    return this.#writes.run(() => this.#save(share, last))
  }

  async #save(share: ControlShare, last: MarkedUpdate): Promise<void> {
    const fits =
      last.update.base !== null &&
      last.update.base === this.#version &&
      this.#addedBytes < Math.max(this.#wholeBytes, MIN_REWRITE_BYTES)
    this.#version = ''
    if (fits) this.#addedBytes += await appendLines(this.#path, linesOf(last))
    else {
      this.#wholeBytes = await replaceLines(this.#path, linesOf({ update: wholeShare(share), resync: null }))
      this.#addedBytes = 0
    }
    this.#version = share.version
  }
}

function* linesOf(marked: MarkedUpdate): Generator<string, void, void> {
  for (const event of eventsOf(marked)) yield JSON.stringify(event)
}
