/** The last share on disk: the whole share, then updates appended, rewritten when the updates outgrow it. It serves nothing. */
import { applyUpdate, type ControlShare, EMPTY_SHARE, wholeShare } from '../../link/control-share.ts'
import { eventsOf, type MarkedUpdate, type StreamEvent, UpdateReader } from '../../link/update-events.ts'
import { SerialQueue } from '../../shared/async/serial-queue.ts'
import { appendLines, readLines, replaceLines } from './private-file.ts'

/** Below this size, reading appended updates is cheap. */
const MIN_REWRITE_BYTES = 1024 * 1024

export class ShareFile {
  readonly #path: string
  /** Of the whole share, and of the updates appended to it. */
  #wholeBytes = 0
  #addedBytes = 0
  /** Version after the last complete update in the file; '' when the next write has to be a whole one. */
  #version = ''
  readonly #writes = new SerialQueue()

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The share of the newest complete update in the file; EMPTY_SHARE when there is none.
   * @param onDamage called when the end of the file is torn or altered; the updates before it are used
   * @throws Error of the file system
   */
  async load(onDamage: () => void): Promise<ControlShare> {
    const { lines, whole, bytes } = await readLines(this.#path)
    let damaged = !whole
    let share = EMPTY_SHARE
    const reader = new UpdateReader()
    try {
      for (const line of lines) {
        const marked = reader.take(JSON.parse(line) as StreamEvent)
        if (marked !== undefined) share = applyUpdate(share, marked.update)
      }
    } catch {
      damaged = true
    }
    if (damaged) onDamage()
    // nothing is appended to a damaged file: the next write is a whole one
    this.#version = damaged ? '' : share.version
    this.#wholeBytes = bytes
    return share
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
