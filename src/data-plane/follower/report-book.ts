/** Holds the counts of a gateway until a report of them is confirmed, in memory and, with a path, on disk; and the number of the report. */

import { readLines, replaceLines } from '../../base/fs/checked-lines.ts'
import type { OnDamage } from '../../base/fs/damage.ts'
import type { CountRows } from '../../link/report.ts'
import type { UsageCount } from '../../link/usage-count.ts'
import { Counts } from './counts.ts'

/** Rows of each kind in one report: more would exceed the limit of a request body. */
const MAX_ROWS = 2_000

interface Page {
  readonly sequence: number
  /** Sent, or about to be, under `sequence` and not confirmed. */
  readonly batch: CountRows | null
  readonly waiting: CountRows
}

export class ReportBook {
  readonly #path: string | undefined
  readonly #onDamage: OnDamage
  readonly #counts = new Counts()
  /** 1 is the number of reports before anything was counted. */
  #sequence = 1
  #batch: CountRows | undefined
  #written = false

  /** @param path undefined: counts are kept in memory only */
  constructor(path: string | undefined, onDamage: OnDamage) {
    this.#path = path
    this.#onDamage = onDamage
  }

  get sequence(): number {
    return this.#sequence
  }

  add(rows: CountRows): void {
    this.#counts.add(rows)
  }

  /** A damaged file is reported, and the counts in it are lost. @throws Error of the file system */
  async load(): Promise<void> {
    if (this.#path === undefined) return
    const { lines, fault } = await readLines(this.#path)
    if (fault !== undefined)
      this.#onDamage(
        this.#path,
        'calls that were counted but not reported before the restart are missing from the usage that the control plane shows',
      )
    const [line] = lines
    if (line === undefined) return
    const { sequence, batch, waiting } = JSON.parse(line, revive) as Page
    this.#sequence = sequence
    this.#batch = batch ?? undefined
    this.#counts.add(waiting)
    this.#written = true
  }

  /** Settles the report that was in flight when the connection broke. @param lastTaken number of the last report that the control plane took */
  settle(lastTaken: number): void {
    if (lastTaken >= this.#sequence) this.#batch = undefined
    this.#sequence = Math.max(this.#sequence, lastTaken)
  }

  /**
   * The rows of the next report. Until `confirm` they stay the same, under the same number.
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

  /** Whether rows are left for another report. */
  get hasMore(): boolean {
    return !this.#counts.empty
  }

  /** @throws Error of the file system */
  async save(): Promise<void> {
    if (this.#path === undefined) return
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
