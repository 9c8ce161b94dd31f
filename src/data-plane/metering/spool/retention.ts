/** Keeps a spool below its maximum size: removes the oldest complete segments first, counts their unread events as dropped. It delivers none. */
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
}

export class Retention {
  readonly counts = { dropped: 0, bytes: 0, segments: 0 }
  readonly #options: RetentionOptions

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  /** @returns number of unread events dropped by this call */
  enforce(): number {
    const { reader, maxBytes, spareBytes } = this.#options
    const segments = reader.segments()
    const sizes = segments.map(({ file }) => this.#sizeOf(file))
    let total = sizes.reduce((sum, size) => sum + size, 0)
    let dropped = 0
    let removed = 0
    for (const [index, segment] of segments.entries()) {
      if (total <= maxBytes - spareBytes) break
      if (segment.growing) continue
      const unread = this.#unreadOf(segment)
      if (unread === undefined) continue
      dropped += unread
      reader.remove(segment)
      total -= sizes[index]!
      removed++
    }
    this.counts.dropped += dropped
    this.counts.bytes = total
    this.counts.segments = segments.length - removed
    return dropped
  }

  /** undefined: it cannot be read now, so what is lost with it could not be counted; the next check tries again. */
  #unreadOf(segment: SegmentName): number | undefined {
    try {
      return this.#options.reader.unread(segment)
    } catch {
      return undefined
    }
  }

  #sizeOf(file: string): number {
    try {
      return statSync(join(this.#options.directory, file)).size
    } catch {
      return 0
    }
  }
}
