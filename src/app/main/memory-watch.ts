/** Watches the memory of the process and the heap of this thread, and says when nearly all of one is used. */
import { getHeapStatistics } from 'node:v8'
import { readMemoryLimit } from '../settings/held-bytes.ts'
import { collectGarbage } from './release-start-memory.ts'

const CHECK_EVERY_MS = 500
/** The memory is full from this part of a limit on, until less than `FREE_PART` is used. */
const FULL_PART = 0.9
const FREE_PART = 0.85
/** A burst of garbage fills a heap for a moment: the next collection empties it. */
const FULL_LOOKS = 2
const COLLECT_EVERY_MS = 10_000

/** Parts of the limits that are used, 0 to 1. */
interface MemoryUse {
  /** Resident memory of the process, of the limit of its cgroup, resource limits or machine. */
  readonly process: number
  readonly heap: number
}

interface MemoryWatchOptions {
  /** @param fault which memory is full; undefined: none is any more */
  readonly onChange: (fault: string | undefined) => void
  readonly read?: () => MemoryUse
  readonly collect?: () => void
  readonly nowMs?: () => number
}

export class MemoryWatch {
  readonly #options: Required<MemoryWatchOptions>
  readonly #timer: NodeJS.Timeout
  #looks = 0
  #isFull = false
  #collectedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: MemoryWatchOptions) {
    const defaults = { read: memoryReader(), collect: collectGarbage, nowMs: () => performance.now() }
    this.#options = { ...defaults, ...options }
    this.#timer = setInterval(() => this.check(), CHECK_EVERY_MS)
    this.#timer.unref()
  }

  get isFull(): boolean {
    return this.#isFull
  }

  check(): void {
    const { read, onChange } = this.#options
    const { process, heap } = read()
    const most = Math.max(process, heap)
    this.#looks = most >= FULL_PART ? this.#looks + 1 : 0
    if (this.#isFull ? most < FREE_PART : this.#looks >= FULL_LOOKS) {
      this.#isFull = !this.#isFull
      const which = process > heap ? 'memory of the process' : 'heap of a thread'
      onChange(
        this.#isFull
          ? `the ${which} is full to ${Math.round(100 * most)} %: new bodies and responses of more than 16 KiB are refused`
          : undefined,
      )
    }
    if (this.#isFull) this.#collect()
  }

  /** What was refused or has ended is garbage now, and V8 sees no need to collect it before its own limit. */
  #collect(): void {
    const { collect, nowMs } = this.#options
    if (nowMs() - this.#collectedAtMs < COLLECT_EVERY_MS) return
    this.#collectedAtMs = nowMs()
    collect()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

function memoryReader(): () => MemoryUse {
  const limitBytes = readMemoryLimit()
  return () => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    return { process: process.memoryUsage.rss() / limitBytes, heap: used_heap_size / heap_size_limit }
  }
}
