/** Keeps denials and selected other decisions, in memory and in a log, and finds them again. */

import { randomUUID } from 'node:crypto'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { Decision, DecisionObserver, PolicyInput } from '../engine.ts'
import { type DecisionEntry, entryOf, type KeepArguments } from './entry.ts'
import { findDecision } from './find.ts'
import {
  type DecisionCursor,
  type DecisionSearch,
  type FoundDecisions,
  newestDecisions,
  searchDecisions,
} from './search.ts'
import type { DecisionLog } from './writer.ts'

export interface RecorderOptions {
  /** undefined: decisions are kept in memory only, the last of them. */
  readonly log: DecisionLog | undefined
  /** Folder of that log. */
  readonly dir: string
  /** Share of the allowed decisions that is kept, 0 to 1. An obligation `log` keeps a decision regardless of it. */
  readonly sampleAllowed: number
  readonly keepArguments: KeepArguments
  /** Receives every decision, kept or not. */
  readonly also?: (input: PolicyInput, decision: Decision) => void
  /** 0 ≤ x < 1; for tests. */
  readonly random?: () => number
}

/** In memory: enough to ask about a denial that was just seen, when the disk is full or the log switched off. */
const RECENT = 500

export class DecisionRecorder implements DecisionObserver {
  readonly #options: RecorderOptions
  readonly #random: () => number
  readonly #recent: (DecisionEntry | undefined)[] = new Array(RECENT)
  #next = 0
  readonly #searches = new SerialQueue()

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#random = options.random ?? Math.random
  }

  recordDecision(input: PolicyInput, decision: Decision, atMs: number, schema?: object): string | undefined {
    const { log, sampleAllowed, keepArguments, also } = this.#options
    also?.(input, decision)
    if (
      decision.allow &&
      (sampleAllowed <= 0 || (sampleAllowed < 1 && this.#random() >= sampleAllowed)) &&
      !asksForLog(decision)
    )
      return undefined
    const id = randomUUID()
    const entry = entryOf(id, atMs, input, decision, keepArguments, schema)
    this.#recent[this.#next] = entry
    this.#next = (this.#next + 1) % RECENT
    log?.append(entry)
    return id
  }

  /** The decision of this id, from memory or from the log; one search at a time. */
  find(id: string): Promise<DecisionEntry | undefined> {
    const recent = this.#recent.find(entry => entry?.id === id)
    if (recent !== undefined) return Promise.resolve(recent)
    return this.#searches.run(async () => {
      await this.#options.log?.flush()
      return findDecision(this.#options.dir, id)
    })
  }

  /** The newest decisions in the log that match; one search at a time. Without a log, those in the memory of this thread. */
  search(query: DecisionSearch, limit: number, cursor: DecisionCursor | undefined): Promise<FoundDecisions> {
    const { log, dir } = this.#options
    return this.#searches.run(async () => {
      await log?.flush()
      return searchDecisions(
        log === undefined ? this.recent(RECENT) : newestDecisions(dir),
        query,
        limit,
        cursor,
      )
    })
  }

  /** The newest entries of the log first, of all threads, at most so many. Without a log, those in the memory of this thread. */
  newest(count: number): Promise<readonly DecisionEntry[]> {
    const { log, dir } = this.#options
    if (log === undefined) return Promise.resolve(this.recent(count))
    return this.#searches.run(async () => {
      await log.flush()
      const found: DecisionEntry[] = []
      for await (const entry of newestDecisions(dir)) if (found.push(entry) >= count) break
      return found
    })
  }

  /** The newest entries first, at most so many. */
  recent(count: number): readonly DecisionEntry[] {
    const newest: DecisionEntry[] = []
    for (let back = 1; back <= RECENT && newest.length < count; back++) {
      const entry = this.#recent[(this.#next - back + RECENT) % RECENT]
      if (entry === undefined) break
      newest.push(entry)
    }
    return newest
  }
}

function asksForLog({ obligations }: Decision): boolean {
  return obligations?.log !== undefined && obligations.log !== false
}
