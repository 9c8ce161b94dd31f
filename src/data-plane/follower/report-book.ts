/** What a gateway has counted and not yet handed in, on disk before it is sent: added exactly once, whoever dies when. It sends nothing. */

import type { CountRows, UsageCount } from '../../link/report.ts'
import { Counts } from './counts.ts'
import { readLines, replaceLines } from './private-file.ts'

/** Rows of each kind in one report: they fit into a request body of a megabyte. */
const MAX_ROWS = 2_000

interface Page {
  readonly sequence: number
  /** Sent under `sequence` and not confirmed, or about to be. */
  readonly batch: CountRows | null
  readonly waiting: CountRows
}

export class ReportBook {
  readonly #path: string
  readonly #counts = new Counts()
  /** 1 is for signs of life before anything was counted. */
  #sequence = 1
  #batch: CountRows | undefined
  #written = false

  constructor(path: string) {
    this.#path = path
  }

  get sequence(): number {
    return this.#sequence
  }

  /** Rows that had no place, since the start. */
  get dropped(): number {
    return this.#counts.dropped
  }

  add(rows: CountRows): void {
    this.#counts.add(rows)
  }

  /** @throws Error of the file system; a damaged file is as good as none */
  async load(): Promise<void> {
    const [line] = (await readLines(this.#path)).lines
    if (line === undefined) return
    const { sequence, batch, waiting } = JSON.parse(line, revive) as Page
    this.#sequence = sequence
    this.#batch = batch ?? undefined
    this.#counts.add(waiting)
    this.#written = true
  }

  /** The control plane says which report it took last: one that was under way when either side went away is settled. */
  settle(lastTaken: number): void {
    if (lastTaken >= this.#sequence) this.#batch = undefined
    this.#sequence = Math.max(this.#sequence, lastTaken)
  }

  /**
   * What the next report holds. The same rows come again, under the same number, until `confirm`.
   * @throws Error of the file system
   */
  async next(): Promise<CountRows> {
    if (this.#batch === undefined && !this.#counts.empty) {
      this.#batch = this.#counts.take(MAX_ROWS)
      this.#sequence++
    }
    if (this.#batch !== undefined) await this.save()
    return this.#batch ?? { usage: [], keysUsed: [], consumersSeen: [] }
  }

  confirm(): void {
    this.#batch = undefined
  }

  /** True when rows are left for another report. */
  get waiting(): boolean {
    return !this.#counts.empty
  }

  /** @throws Error of the file system */
  async save(): Promise<void> {
    if (this.#batch === undefined && this.#counts.empty && !this.#written) return
    const page: Page = {
      sequence: this.#sequence,
      batch: this.#batch ?? null,
      waiting: this.#counts.rows(),
    }
    await replaceLines(this.#path, [JSON.stringify(page)])
    this.#written = true
  }
}

const MOMENTS = new Set<string>(['at', 'lastRequestAt' satisfies keyof UsageCount])

function revive(name: string, value: unknown): unknown {
  return typeof value === 'string' && MOMENTS.has(name) ? new Date(value) : value
}
