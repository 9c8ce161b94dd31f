/** Merges the recorded calls and the states of the threads of a process, and reads and writes cursors of pages. */

import { BoundedMap } from '../../base/async/bounded-map.ts'
import { getOrSet } from '../../base/once-per.ts'
import { type CallWindow, mergedSummary, type Summary, windowOf } from '../../link/call-summary.ts'
import type { Principal } from '../../model/principal.ts'
import type { CallPage, CallQuery, CallRow } from './call-query.ts'
import type { FoundCall, Positions, SummaryQuery } from './recorded-calls.ts'

/** State of a thread that serves calls; names are those of the wire. */
export interface WorkerState {
  readonly worker: number
  readonly status: 'online' | 'degraded' | 'draining'
  readonly reason: string | null
  readonly snapshot: string | null
  readonly policy_revision: string
  readonly tools: number
  readonly in_flight: number
  readonly streams: number
  /** Recorded since the thread started. */
  readonly calls: number
}

/** What a thread responds to. */
export interface ThreadSignals {
  before(query: CallQuery, positions: Positions, limit: number): CallPage
  after(query: CallQuery, positions: Positions, limit: number): CallPage
  find(ring: string, number: number): FoundCall | undefined
  summary(query: SummaryQuery): Summary
  callerOf(query: CallQuery): { readonly atMs: number; readonly principal: Principal } | undefined
  state(): WorkerState
}

/** Asks every thread of the process, the one that asks included; the responses of those that work. */
export type EveryThread = <Name extends keyof ThreadSignals>(
  name: Name,
  ...args: Parameters<ThreadSignals[Name]>
) => Promise<readonly ReturnType<ThreadSignals[Name]>[]>

export interface MergedPage {
  readonly rows: readonly CallRow[]
  readonly positions: NonNullable<Positions>
  readonly missed: number
  readonly window: CallWindow
  /** Older calls may match. */
  readonly more: boolean
}

const CURSOR = /^[0-9a-f]{8}:\d{1,15}(?:,[0-9a-f]{8}:\d{1,15}){0,63}$/
const ID = /^([0-9a-f]{8})-([0-9a-z]{1,11})$/

/** Summaries of different times: an entry is used for a few seconds. */
const MAX_SUMMARIES = 16

export class ProcessCalls {
  readonly everyThread: EveryThread
  readonly #summaries = new BoundedMap<string, Promise<Summary>>(MAX_SUMMARIES)

  constructor(everyThread: EveryThread) {
    this.everyThread = everyThread
  }

  /** The newest calls first. */
  async before(query: CallQuery, positions: Positions, limit: number): Promise<MergedPage> {
    const pages = await this.everyThread('before', query, positions, limit)
    const taken = rowsOf(pages, Math.min)
      .sort((a, b) => b.order - a.order || b.number - a.number)
      .slice(0, limit)
    const nexts = pages.map(({ ring, rows, numbers, next }) => {
      const own = taken.filter(row => row.ring === ring)
      if (own.length === rows.length) return [ring, next]
      return [ring, own.at(-1)?.number ?? numbers[0]! + 1]
    })
    return {
      rows: taken.map(({ row }) => row),
      positions: Object.fromEntries(nexts),
      missed: 0,
      window: windowOf(pages),
      more: taken.length === limit,
    }
  }

  /** What was recorded since, the oldest first. */
  async after(query: CallQuery, positions: Positions, limit: number): Promise<MergedPage> {
    const pages = await this.everyThread('after', query, positions, limit)
    const rows = rowsOf(pages, Math.max).sort((a, b) => a.order - b.order || a.number - b.number)
    const taken = rows.slice(-limit)
    const missed = pages.reduce((sum, page) => sum + page.missed, rows.length - taken.length)
    return {
      rows: taken.map(({ row }) => row),
      positions: { ...positions, ...Object.fromEntries(pages.map(({ ring, next }) => [ring, next])) },
      missed,
      window: windowOf(pages),
      more: false,
    }
  }

  /** @param id of a row; undefined when it is not recorded any more */
  async find(id: string): Promise<FoundCall | undefined> {
    const [, ring, number] = ID.exec(id) ?? []
    if (ring === undefined) return undefined
    const found = await this.everyThread('find', ring, Number.parseInt(number!, 36))
    return found.find(one => one !== undefined)
  }

  /** Shared by requests that ask the same: it must not be changed. */
  summary(query: SummaryQuery): Promise<Summary> {
    const key = JSON.stringify(query)
    return getOrSet(this.#summaries, key, () => {
      const summary = this.#summarize(query)
      summary.catch(() => this.#summaries.delete(key))
      return summary
    })
  }

  async #summarize(query: SummaryQuery): Promise<Summary> {
    const summaries = await this.everyThread('summary', query)
    return mergedSummary(summaries, query.fromMs, query.parts)
  }

  /** Caller of the newest recorded call that matches. */
  async callerOf(query: CallQuery): Promise<Principal | undefined> {
    const found = (await this.everyThread('callerOf', query)).filter(one => one !== undefined)
    return found.sort((a, b) => b.atMs - a.atMs)[0]?.principal
  }

  async workers(): Promise<readonly WorkerState[]> {
    return [...(await this.everyThread('state'))].sort((a, b) => a.worker - b.worker)
  }
}

/** All threads serve the same configuration under the same policy. */
export function areConsistent(workers: readonly WorkerState[]): boolean {
  const served = workers.map(({ snapshot, policy_revision }) => `${snapshot} ${policy_revision}`)
  return new Set(served).size <= 1
}

export function cursorOf(positions: NonNullable<Positions>): string {
  return Object.entries(positions)
    .map(([ring, number]) => `${ring}:${number}`)
    .join(',')
}

/** undefined when it is not one of ours. */
export function readCursor(text: string): NonNullable<Positions> | undefined {
  if (!CURSOR.test(text)) return undefined
  return Object.fromEntries(
    text.split(',').map(part => {
      const [ring, number] = part.split(':') as [string, string]
      return [ring, Number(number)]
    }),
  )
}

/** @param bound keeps the rows of one thread in their order, whatever their times are: positions are numbers */
function rowsOf(pages: readonly CallPage[], bound: (a: number, b: number) => number) {
  return pages.flatMap(({ ring, rows, numbers }) => {
    let last: number | undefined
    return rows.map((row, at) => {
      const ended = Date.parse(row.at) + row.duration_ms
      last = last === undefined ? ended : bound(last, ended)
      return { ring, row, number: numbers[at]!, order: last }
    })
  })
}
