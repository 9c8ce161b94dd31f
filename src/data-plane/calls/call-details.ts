/** Chooses some of the latest calls and keeps their details, such as stages, arguments and decision. */

import { writeJson } from '../../base/json/exact-number.ts'
import type { Decision } from '../../policy/engine.ts'
import { type KeepArguments, keptArguments } from '../../policy/log/entry.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Peer, StageTiming } from '../pipeline/exchange-parts.ts'
import { isCall } from '../pipeline/operation.ts'

export type ArgumentsState = 'recorded' | 'masked' | 'too_large' | 'not_recorded'

export interface CallDetail {
  /** `performance.now()` at the start of the call, as in its timings. */
  readonly startedAt: number
  readonly timings: readonly StageTiming[] | undefined
  /** JSON. */
  readonly arguments: string | undefined
  readonly argumentsState: ArgumentsState
  readonly decision: Pick<Decision, 'allow' | 'revision' | 'obligations'> | undefined
  readonly decisionId: string | undefined
  readonly clientAddress: string
}

const CAPACITY = 512
/** At least 12 s of details are kept; each costs tens of microseconds of the thread that serves calls. */
const PER_SECOND = 40
const MAX_ARGUMENT_CHARS = 4096
/** For a request: more would take too long to write. */
const MAX_REQUEST_BYTES = 64 * 1024
/** After the last look at the calls. */
const WATCHED_MS = 15_000

export class CallDetails {
  readonly #keep: KeepArguments
  readonly #clientAddress: (peer: Peer) => string
  readonly #numbers = new Float64Array(CAPACITY).fill(-1)
  readonly #details: (CallDetail | undefined)[] = new Array<undefined>(CAPACITY).fill(undefined)
  #next = 0
  /** Latest of them, of `performance.now()`. */
  #second = 0
  #inSecond = 0
  #watchedUntilMs = 0

  /** @param clientAddress of the client that sent a request, through trusted proxies or directly */
  constructor(keep: KeepArguments, clientAddress: (peer: Peer) => string) {
    this.#keep = keep
    this.#clientAddress = clientAddress
  }

  /** An operator looks at the calls: for a while the stages of more calls are timed. */
  watch(nowMs: number): void {
    this.#watchedUntilMs = nowMs + WATCHED_MS
  }

  /** Whether the stages of a call that begins now should be timed for its detail. */
  isWanted({ receivedAtMs, startedAt }: Pick<Exchange, 'receivedAtMs' | 'startedAt'>): boolean {
    return receivedAtMs < this.#watchedUntilMs && this.#hasCapacity(startedAt)
  }

  /** Whether the detail of a call is kept; then `keep` follows. */
  takes(exchange: Pick<Exchange, 'timings' | 'startedAt' | 'durationMs'>, isSuccess: boolean): boolean {
    if (isSuccess && exchange.timings === undefined) return false
    if (!this.#hasCapacity(exchange.startedAt + exchange.durationMs)) return false
    this.#inSecond++
    return true
  }

  keep(number: number, exchange: Exchange): void {
    const at = this.#next
    this.#next = (at + 1) % CAPACITY
    this.#numbers[at] = number
    this.#details[at] = this.#detailOf(exchange)
  }

  find(number: number): CallDetail | undefined {
    const at = this.#numbers.indexOf(number)
    return at < 0 ? undefined : this.#details[at]
  }

  /** @param at `performance.now()`; one before the latest second counts in that second, because calls do not end in the order of their starts */
  #hasCapacity(at: number): boolean {
    const second = Math.floor(at / 1000)
    if (second > this.#second) {
      this.#second = second
      this.#inSecond = 0
    }
    return this.#inSecond < PER_SECOND
  }

  #detailOf(exchange: Exchange): CallDetail {
    const { timings, decision, startedAt, decisionId, peer } = exchange
    return {
      startedAt,
      timings,
      ...this.#argumentsOf(exchange),
      decision,
      decisionId,
      clientAddress: this.#clientAddress(peer),
    }
  }

  #argumentsOf({
    operation,
    requestBytes,
    tool,
  }: Exchange): Pick<CallDetail, 'arguments' | 'argumentsState'> {
    if (!isCall(operation) || operation.tool === '') return NOT_RECORDED
    if (requestBytes > MAX_REQUEST_BYTES) return TOO_LARGE
    const { kept, isMasked } = keptArguments(operation.arguments, this.#keep, tool?.tool.inputSchema)
    if (kept === undefined) return NOT_RECORDED
    const json = writeJson(kept)
    if (json.length > MAX_ARGUMENT_CHARS) return TOO_LARGE
    return { arguments: json, argumentsState: isMasked ? 'masked' : 'recorded' }
  }
}

const NOT_RECORDED = { arguments: undefined, argumentsState: 'not_recorded' } as const
const TOO_LARGE = { arguments: undefined, argumentsState: 'too_large' } as const
