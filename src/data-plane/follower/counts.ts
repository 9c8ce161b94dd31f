/** Adds up counts of usage, and of keys and consumers in use, for the reports of a gateway. */
import type { CountRows } from '../../link/report.ts'
import { addUsage, type UsageCount, usageKey } from '../../link/usage-count.ts'

/** Rows of each kind; more are dropped, because a gateway cut off for weeks must not fill its memory. */
const MAX_ENTRIES = 100_000

type KeyUse = CountRows['keysUsed'][number]
type ConsumerSeen = CountRows['consumersSeen'][number]

export class Counts {
  readonly #usage = new Map<string, UsageCount>()
  readonly #keysUsed = new Map<string, KeyUse>()
  readonly #consumersSeen = new Map<string, ConsumerSeen>()

  add(rows: CountRows): void {
    for (const count of rows.usage) this.#put(this.#usage, usageKey(count), count, addUsage)
    for (const use of rows.keysUsed) this.#put(this.#keysUsed, use.id, use, later)
    for (const use of rows.consumersSeen)
      this.#put(this.#consumersSeen, `${use.tenantId} ${use.subject}`, use, later)
  }

  get empty(): boolean {
    return this.#usage.size === 0 && this.#keysUsed.size === 0 && this.#consumersSeen.size === 0
  }

  /** Removes and returns the oldest rows, `maxRows` of each kind at most. */
  take(maxRows: number): CountRows {
    return {
      usage: takeRows(this.#usage, maxRows),
      keysUsed: takeRows(this.#keysUsed, maxRows),
      consumersSeen: takeRows(this.#consumersSeen, maxRows),
    }
  }

  rows(): CountRows {
    return {
      usage: [...this.#usage.values()],
      keysUsed: [...this.#keysUsed.values()],
      consumersSeen: [...this.#consumersSeen.values()],
    }
  }

  #put<T>(rows: Map<string, T>, key: string, row: T, join: (before: T, row: T) => T): void {
    const before = rows.get(key)
    if (before !== undefined) rows.set(key, join(before, row))
    else if (rows.size < MAX_ENTRIES) rows.set(key, row)
  }
}

function takeRows<T>(rows: Map<string, T>, maxRows: number): T[] {
  const given: T[] = []
  for (const [key, row] of rows) {
    if (given.length === maxRows) break
    given.push(row)
    rows.delete(key)
  }
  return given
}

function later<T extends { readonly at: Date }>(a: T, b: T): T {
  return a.at > b.at ? a : b
}
