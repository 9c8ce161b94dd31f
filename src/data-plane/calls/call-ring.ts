/** A ring of the latest calls of a thread, the queries on it, and the rounding of times. */
import { randomBytes } from 'node:crypto'
import type { CallWindow } from '../../link/call-summary.ts'
import type { Principal } from '../../model/principal.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { isCall } from '../pipeline/operation.ts'
import { CallIds } from './call-ids.ts'
import { type CallPage, type CallQuery, type CallRow, kindOf } from './call-query.ts'

const CAPACITY = 10_000

/** Fields of a call that are numbers. */
const NUMBERS = 7
const AT = 0
const DURATION = 1
const BACKEND = 2
const REQUEST_BYTES = 3
const SAVED_BYTES = 4
const STATUS = 5
const FLAGS = 6

const CACHE_HIT = 1
const DETAILED = 2
const UNKNOWN_TOOL = 4
const PROXIED = 8

/** Fields of a call that are references. No result, argument or credential is among them: they would keep memory in use. */
const REFERENCES = 11
const ACTION = 0
const ACCESS = 1
const TENANT = 2
const PRINCIPAL = 3
/** Name of the tool, of the unknown tool, or id of the API. */
const TARGET = 4
const TOOL_SET = 5
const OUTCOME = 6
const REFUSAL = 7
const SNAPSHOT = 8
const REVISION = 9
const DECISION_ID = 10

/** For a tool that does not exist; longer than names of tools are. */
const MAX_NAME = 128
const LONG_NAME = `(more than ${MAX_NAME} characters)`

type Reference = string | Principal | Refusal | undefined

/** Arrays that are written over and over: recording a call creates no object. */
export class CallRing {
  readonly worker: number
  readonly capacity: number
  /** Part of the ids of its calls. */
  readonly name = randomBytes(4).toString('hex')
  readonly #numbers: Float64Array
  readonly #references: Reference[]
  readonly #ids: CallIds
  /** Shows a name that no tool has; the caller chose it. */
  readonly #shownName: (name: string) => string
  #recorded = 0
  #slot = 0

  constructor(worker: number, shownName: (name: string) => string, capacity = CAPACITY) {
    this.worker = worker
    this.capacity = capacity
    this.#shownName = shownName
    this.#numbers = new Float64Array(capacity * NUMBERS)
    this.#references = new Array<Reference>(capacity * REFERENCES).fill(undefined)
    this.#ids = new CallIds(capacity)
  }

  /** Calls recorded so far; the number of the next one. */
  get recorded(): number {
    return this.#recorded
  }

  /** @returns the number of the call */
  record(exchange: Exchange, outcome: string, status: number, isDetailed: boolean): number {
    const slot = this.#slot
    this.#slot = slot + 1 === this.capacity ? 0 : slot + 1
    const { operation, tool, final } = exchange
    const numbers = this.#numbers
    const number = slot * NUMBERS
    let flags = (exchange.cacheHit ? CACHE_HIT : 0) | (isDetailed ? DETAILED : 0)
    let target: string | undefined
    if (tool !== undefined) target = tool.tool.name
    else if (isCall(operation) && operation.tool !== '') {
      // a text of the caller: a long one would keep its memory in use
      target = operation.tool.length > MAX_NAME ? LONG_NAME : operation.tool
      flags |= UNKNOWN_TOOL
    } else if (operation.action === 'proxy') {
      target = operation.api.id
      flags |= PROXIED
    }
    numbers[number + AT] = exchange.receivedAtMs
    numbers[number + DURATION] = exchange.durationMs
    numbers[number + BACKEND] = exchange.backendMs
    numbers[number + REQUEST_BYTES] = exchange.requestBytes
    numbers[number + SAVED_BYTES] = exchange.optimized === undefined ? 0 : exchange.optimized.savedBytes
    numbers[number + STATUS] = status
    numbers[number + FLAGS] = flags
    const references = this.#references
    const at = slot * REFERENCES
    references[at + ACTION] = operation.action
    references[at + ACCESS] = exchange.access
    references[at + TENANT] = exchange.tenant
    references[at + PRINCIPAL] = exchange.principal
    references[at + TARGET] = target
    references[at + TOOL_SET] = tool === undefined ? undefined : tool.tool.toolSet
    references[at + OUTCOME] = outcome
    references[at + REFUSAL] = final?.kind === 'refusal' ? final : undefined
    references[at + SNAPSHOT] = exchange.snapshot.version
    references[at + REVISION] = exchange.decision?.revision
    references[at + DECISION_ID] = exchange.decisionId
    this.#ids.write(slot, exchange.requestId, exchange.traceId)
    return this.#recorded++
  }

  get window(): CallWindow {
    const calls = Math.min(this.#recorded, this.capacity)
    return { calls, capacity: this.capacity, sinceMs: calls === 0 ? null : this.#number(this.#oldest, AT) }
  }

  /** The newest calls that match, at most `limit`. @param before a number of `next` of the page before */
  before(query: CallQuery, before = this.#recorded, limit = 100): CallPage {
    const numbers: number[] = []
    let at = Math.min(before, this.#recorded) - 1
    for (; at >= this.#oldest && numbers.length < limit; at--) if (this.#matches(at, query)) numbers.push(at)
    return this.#page(numbers, at + 1, 0)
  }

  /** The calls that match from a number on, oldest first; of more than `limit`, the newest. */
  after(query: CallQuery, from: number, limit: number): CallPage {
    const first = Math.max(from, this.#oldest)
    let missed = first - from
    const numbers: number[] = []
    const isFiltered = hasFilter(query)
    for (let at = this.#recorded - 1; at >= first; at--) {
      if (!isFiltered && numbers.length === limit) {
        missed += at - first + 1
        break
      }
      if (!this.#matches(at, query)) continue
      if (numbers.length < limit) numbers.push(at)
      else missed++
    }
    return this.#page(numbers.reverse(), this.#recorded, missed)
  }

  /** undefined when it has been overwritten. */
  row(number: number): CallRow | undefined {
    return number >= this.#oldest && number < this.#recorded ? this.#row(number) : undefined
  }

  /** Caller and refusal of a call that is still recorded. */
  partiesOf(number: number): {
    readonly principal: Principal | undefined
    readonly refusal: Refusal | undefined
  } {
    return {
      principal: this.#reference(number, PRINCIPAL) as Principal | undefined,
      refusal: this.#reference(number, REFUSAL) as Refusal | undefined,
    }
  }

  /** Calls `visit` for each recorded call that matches, the newest first, until it returns false: with one object, which holds the next call afterwards. */
  visit(query: CallQuery, visit: (call: VisitedCall) => boolean): void {
    const call: { -readonly [Name in keyof VisitedCall]: VisitedCall[Name] } = { ...NO_CALL }
    const numbers = this.#numbers
    const references = this.#references
    const oldest = this.#oldest
    const isFiltered = hasFilter(query)
    let slot = this.#slot
    for (let at = this.#recorded - 1; at >= oldest; at--) {
      slot = slot === 0 ? this.capacity - 1 : slot - 1
      if (isFiltered && !this.#matches(at, query)) continue
      const number = slot * NUMBERS
      const reference = slot * REFERENCES
      const principal = references[reference + PRINCIPAL] as Principal | undefined
      call.atMs = numbers[number + AT]!
      call.durationMs = numbers[number + DURATION]!
      call.backendMs = numbers[number + BACKEND]!
      call.outcome = references[reference + OUTCOME] as string
      call.tenant = references[reference + TENANT] as string | undefined
      call.consumer = principal?.consumer
      call.tool =
        (numbers[number + FLAGS]! & (UNKNOWN_TOOL | PROXIED)) === 0
          ? (references[reference + TARGET] as string | undefined)
          : undefined
      call.toolset = references[reference + TOOL_SET] as string | undefined
      call.principal = principal
      if (!visit(call)) return
    }
  }

  get #oldest(): number {
    return Math.max(0, this.#recorded - this.capacity)
  }

  #number(number: number, field: number): number {
    return this.#numbers[(number % this.capacity) * NUMBERS + field]!
  }

  #reference(number: number, field: number): Reference {
    return this.#references[(number % this.capacity) * REFERENCES + field]
  }

  #flag(number: number, flags: number): boolean {
    return (this.#number(number, FLAGS) & flags) !== 0
  }

  #matches(at: number, query: CallQuery): boolean {
    const { within, tenant, consumer, tool, toolset, access, action, outcome, requestId, minMs } = query
    if (minMs !== undefined && this.#number(at, DURATION) < minMs) return false
    if (within !== undefined && this.#reference(at, TENANT) !== within) return false
    if (tenant !== undefined && this.#reference(at, TENANT) !== tenant) return false
    if (outcome !== undefined) {
      const own = this.#reference(at, OUTCOME) as string
      if (own !== outcome && kindOf(own) !== outcome) return false
    }
    if (tool !== undefined && (this.#reference(at, TARGET) !== tool || this.#flag(at, PROXIED))) return false
    if (toolset !== undefined && this.#reference(at, TOOL_SET) !== toolset) return false
    if (access !== undefined && this.#reference(at, ACCESS) !== access) return false
    if (action !== undefined && this.#reference(at, ACTION) !== action) return false
    if (requestId !== undefined && this.#ids.requestId(at % this.capacity) !== requestId) return false
    if (consumer === undefined) return true
    return (this.#reference(at, PRINCIPAL) as Principal | undefined)?.consumer === consumer
  }

  #page(numbers: readonly number[], next: number, missed: number): CallPage {
    const rows = numbers.map(number => this.#row(number))
    return { ring: this.name, rows, numbers, next, missed, window: this.window }
  }

  #row(number: number): CallRow {
    const outcome = this.#reference(number, OUTCOME) as string
    const principal = this.#reference(number, PRINCIPAL) as Principal | undefined
    const refusal = this.#reference(number, REFUSAL) as Refusal | undefined
    const target = this.#reference(number, TARGET) as string | undefined
    const isUnknown = this.#flag(number, UNKNOWN_TOOL)
    const isProxied = this.#flag(number, PROXIED)
    const backendMs = this.#number(number, BACKEND)
    return {
      id: `${this.name}-${number.toString(36)}`,
      at: new Date(this.#number(number, AT)).toISOString(),
      worker: this.worker,
      action: this.#reference(number, ACTION) as string,
      access: this.#reference(number, ACCESS) as CallRow['access'],
      tenant: (this.#reference(number, TENANT) as string | undefined) ?? null,
      consumer: principal?.consumer ?? null,
      tool: isUnknown || isProxied ? null : (target ?? null),
      toolset: (this.#reference(number, TOOL_SET) as string | undefined) ?? null,
      ...(isUnknown ? { requested_tool: this.#shownName(target!) } : undefined),
      ...(isProxied ? { api: target! } : undefined),
      kind: kindOf(outcome),
      outcome,
      status: this.#number(number, STATUS),
      duration_ms: roundMs(this.#number(number, DURATION)),
      backend_ms: backendMs < 0 ? null : roundMs(backendMs),
      cache_hit: this.#flag(number, CACHE_HIT),
      request_bytes: this.#number(number, REQUEST_BYTES),
      saved_bytes: this.#number(number, SAVED_BYTES),
      request_id: this.#ids.requestId(number % this.capacity),
      trace_id: this.#ids.traceId(number % this.capacity),
      decision_id:
        (this.#reference(number, DECISION_ID) as string | undefined) ?? refusal?.decisionId ?? null,
      snapshot: (this.#reference(number, SNAPSHOT) as string).slice(0, 12),
      policy_revision:
        (this.#reference(number, REVISION) as string | undefined) ?? refusal?.policyRevision ?? null,
      detailed: this.#flag(number, DETAILED),
    }
  }
}

/** A recorded call without the texts that only a row needs. */
export interface VisitedCall {
  readonly atMs: number
  readonly durationMs: number
  readonly backendMs: number
  readonly outcome: string
  readonly tenant: string | undefined
  readonly consumer: string | undefined
  readonly tool: string | undefined
  readonly toolset: string | undefined
  readonly principal: Principal | undefined
}

const NO_CALL: VisitedCall = {
  atMs: 0,
  durationMs: 0,
  backendMs: -1,
  outcome: '',
  tenant: undefined,
  consumer: undefined,
  tool: undefined,
  toolset: undefined,
  principal: undefined,
}

function hasFilter(query: CallQuery): boolean {
  return Object.values(query).some(value => value !== undefined)
}

/** Milliseconds to the microsecond. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
