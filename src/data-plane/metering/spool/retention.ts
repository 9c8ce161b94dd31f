/** Removes complete segments, older ones first, from a spool near its maximum size, and counts their unread events as dropped. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { SegmentName } from './segment-name.ts'
import type { SpoolReader } from './spool-reader.ts'

export interface RetentionOptions {
  readonly directory: string
  /** `METERING_SPOOL_MAX`. */
  readonly maxBytes: number
  /** Space kept free for events until the next check. */
  readonly spareBytes: number
  readonly reader: SpoolReader
  /** Called with the first error when segments cannot be listed, read or removed, and with undefined when a check had no error again. */
  readonly onFault: (error: Error | undefined) => void
}

export class Retention {
  readonly counts = { dropped: 0, bytes: 0, segments: 0 }
  readonly #options: RetentionOptions
  /** First error of the check. */
  #fault: Error | undefined
  #isReported = false

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  /** Never throws: what fails is reported and left to the next check. @returns number of unread events dropped by this call */
  enforce(): number {
    this.#fault = undefined
    const dropped = this.#dropOldest()
    this.counts.dropped += dropped
    this.#report()
    return dropped
  }

  #dropOldest(): number {
    const { reader, maxBytes, spareBytes } = this.#options
    const segments = this.#attempt(() => reader.segments())
    if (segments === undefined) return 0
    const sizes = segments.map(({ file }) => this.#sizeOf(file))
    let total = sizes.reduce((sum, size) => sum + size, 0)
    let dropped = 0
    let removed = 0
    for (const [index, segment] of segments.entries()) {
      if (total <= maxBytes - spareBytes) break
      if (segment.growing) continue
      const unread = this.#attempt(() => this.#remove(segment))
      if (unread === undefined) continue
      dropped += unread
      total -= sizes[index]!
      removed++
    }
    this.counts.bytes = total
    this.counts.segments = segments.length - removed
    return dropped
  }

  /** A segment that cannot be read now stays, because what is lost with it could not be counted. @returns number of its unread events */
  #remove(segment: SegmentName): number {
    const { reader } = this.#options
    const unread = reader.unread(segment)
    reader.remove(segment)
    return unread
  }

  #attempt<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#fault ??= error as Error
      return undefined
    }
  }

  #report(): void {
    const isFaulty = this.#fault !== undefined
    if (isFaulty === this.#isReported) return
    this.#isReported = isFaulty
    this.#options.onFault(this.#fault)
  }

  #sizeOf(file: string): number {
    try {
      return statSync(join(this.#options.directory, file)).size
    } catch {
      return 0
    }
  }
}
