/** The last share on disk: the whole of it, then what changed, written anew when the changes outgrow it. It applies no share. */

import { applyUpdate, type ControlShare, EMPTY_SHARE, wholeShare } from '../../link/control-share.ts'
import { eventsOf, type MarkedUpdate, type UpdateEvent, UpdateReader } from '../../link/update-events.ts'
import { SerialQueue } from '../../shared/async/serial-queue.ts'
import { addLines, readLines, replaceLines } from './private-file.ts'

/** Changes of a small share are cheap to read again. */
const MIN_REWRITE_BYTES = 1024 * 1024

export class ShareFile {
  readonly #path: string
  /** Of the last whole share, and of the changes behind it. */
  #wholeBytes = 0
  #addedBytes = 0
  /** Version that the file leads to. */
  #version = ''
  readonly #writes = new SerialQueue()

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The share of the newest complete update in the file; EMPTY_SHARE when there is none.
   * @param onDamage told once when the end of the file is torn or was changed: what stands before it is used
   * @throws Error of the file system
   */
  async load(onDamage: () => void): Promise<ControlShare> {
    const { lines, whole, bytes } = await readLines(this.#path)
    let damaged = !whole
    let share = EMPTY_SHARE
    const reader = new UpdateReader()
    try {
      for (const line of lines) {
        const marked = reader.take(JSON.parse(line) as UpdateEvent)
        if (marked !== undefined) share = applyUpdate(share, marked.update)
      }
    } catch {
      damaged = true
    }
    if (damaged) onDamage()
    // what is damaged is not added to: the next write is a whole one
    this.#version = damaged ? '' : share.version
    this.#wholeBytes = bytes
    return share
  }

  /**
   * Writes what led to `share`. Calls are carried out one after the other.
   * @throws Error of the file system; the next write is a whole one then
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
    if (fits) this.#addedBytes += await addLines(this.#path, linesOf(last))
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
