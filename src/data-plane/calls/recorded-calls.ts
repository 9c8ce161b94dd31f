/** Records the calls of a thread, and gives their rows, details, callers and summaries. `process-calls.ts` merges those of several threads. */

import { getOrSet } from '../../base/once-per.ts'
import type { Summary } from '../../link/call-summary.ts'
import type { Principal } from '../../model/principal.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { CallDetails } from './call-details.ts'
import type { CallPage, CallQuery, CallRow } from './call-query.ts'
import type { CallRing } from './call-ring.ts'
import { CallCounter } from './figures.ts'

/** A call with everything that was kept of it: plain data. */
export interface FoundCall {
  readonly row: CallRow
  readonly principal: Pick<Principal, 'kind' | 'subject' | 'roles' | 'scopes'> | undefined
  readonly refusal: object | undefined
  readonly detail: ReturnType<CallDetails['find']>
}

export interface SummaryQuery extends CallQuery {
  readonly fromMs: number
  readonly toMs: number
  readonly parts: number
}

/** Positions in the rings of the threads. undefined: at the newest calls. */
export type Positions = { readonly [ring: string]: number } | undefined

const SUMMARIES = 64

export class RecordedCalls {
  readonly ring: CallRing
  readonly details: CallDetails
  /** The latest summaries: consoles that look at the same ask the same. */
  readonly #summaries = new Map<string, Summary>()

  constructor(ring: CallRing, details: CallDetails) {
    this.ring = ring
    this.details = details
  }

  record(exchange: Exchange, outcome: string, status: number): void {
    const isDetailed = this.details.takes(exchange, outcome === 'success')
    const number = this.ring.record(exchange, outcome, status, isDetailed)
    if (isDetailed) this.details.keep(number, exchange)
  }

  before(query: CallQuery, positions: Positions, limit: number, nowMs: number): CallPage {
    this.details.watch(nowMs)
    // the calls of a thread that started later are newer than the page
    return this.ring.before(
      query,
      positions === undefined ? undefined : (positions[this.ring.name] ?? 0),
      limit,
    )
  }

  after(query: CallQuery, positions: Positions, limit: number, nowMs: number): CallPage {
    this.details.watch(nowMs)
    const from = positions === undefined ? this.ring.recorded : (positions[this.ring.name] ?? 0)
    return this.ring.after(query, from, limit)
  }

  find(ring: string, number: number): FoundCall | undefined {
    const row = ring === this.ring.name ? this.ring.row(number) : undefined
    if (row === undefined) return undefined
    const { principal, refusal } = this.ring.partiesOf(number)
    return {
      row,
      principal: principal && {
        kind: principal.kind,
        subject: principal.subject,
        roles: principal.roles,
        scopes: principal.scopes,
      },
      refusal: refusal && {
        reason: refusal.reason,
        status: refusal.row.status,
        message: refusal.message,
        retry_after_secs: refusal.retryAfterSecs ?? null,
        reasons: refusal.reasons ?? [],
      },
      detail: row.detailed ? this.details.find(number) : undefined,
    }
  }

  /** Caller of the newest call that matches and has one. */
  callerOf(query: CallQuery): { readonly atMs: number; readonly principal: Principal } | undefined {
    let found: { readonly atMs: number; readonly principal: Principal } | undefined
    this.ring.visit(query, ({ atMs, principal }) => {
      if (principal !== undefined) found = { atMs, principal }
      return found === undefined
    })
    return found
  }

  /** Once for all who ask for the same time, so that the first one decides what is counted. */
  summary(query: SummaryQuery, nowMs: number): Summary {
    const key = JSON.stringify(query)
    return getOrSet(this.#summaries, key, () => {
      // their times differ: an entry is seldom used again
      if (this.#summaries.size >= SUMMARIES) this.#summaries.clear()
      return this.#summarize(query, nowMs)
    })
  }

  #summarize({ fromMs, toMs, parts, ...query }: SummaryQuery, nowMs: number): Summary {
    const window = this.ring.window
    const isFull = window.calls === window.capacity
    const counter = new CallCounter()
    const partMs = (toMs - fromMs) / parts
    this.ring.visit(query, call => {
      if (call.atMs >= fromMs && call.atMs < toMs)
        counter.add(call, parts === 0 ? 0 : Math.floor((call.atMs - fromMs) / partMs))
      return true
    })
    const coveredFromMs = isFull ? Math.max(fromMs, window.sinceMs!) : fromMs
    return { ...counter.totals(parts), coveredFromMs, coveredToMs: Math.min(toMs, nowMs), window }
  }
}
