/** Reserves units, tokens and slots through the thread that holds the connection to Redis, caches denials, and reports calls that were decided here. */
import { within } from '../../../base/async/within.ts'
import type { PortLine } from '../../../base/threads/port-line.ts'
import type { HashedKey } from '../memory/table.ts'
import {
  type Lacking,
  nameOf,
  quotaUnavailable,
  type Reserver,
  type TableQuota,
} from '../memory/table-quota.ts'
import type { QuotaKey, QuotaRefusal, QuotaRequest } from '../quota.ts'
import { type Denial, refusalOf } from './consumer-lease.ts'
import { RESPONSE_MS } from './quota-connection.ts'
import { type Caller, type Decided, keyData, type Reserved } from './thread-messages.ts'

/** How often the calls decided here are reported. */
const REPORT_MS = 50
/** Reports are sent at once when this share of the last lease, or less, is left. */
const PREFETCH = 0.4
/** The other thread requests a new lease when a denial ends; after this delay it can be asked again. */
const RETRY_MS = 2
const EVICT_AFTER_MS = 5_000
const MAX_CACHED = 100_000

/** A consumer, or a consumer and tool. */
interface Known {
  caller: Caller
  granted: number
  refused: number
  /** After the last grant, and the maximum since it last rose. */
  unitsLeft: number
  max: number
  denial: Denial | undefined
  /** The denial that the other thread knows to have refused later calls. */
  reported: Denial | undefined
  pending: Promise<Reserved | undefined> | undefined
  lastCallMs: number
}

export class ThreadReserver implements Reserver {
  readonly #quota: TableQuota
  readonly #line: PortLine
  readonly #responseMs: number
  /** By consumer, and by consumer and tool. */
  readonly #known = new Map<string, Known>()
  readonly #timer: NodeJS.Timeout
  /** Calls that waited for Redis, or for the other thread without a response. */
  waited = 0

  /**
   * @param line its other end is served by `serveThread`
   * @param responseMs how long a call waits; as long as for Redis itself when absent
   */
  constructor(quota: TableQuota, line: PortLine, responseMs = RESPONSE_MS) {
    this.#quota = quota
    this.#line = line
    this.#responseMs = responseMs
    this.#timer = setInterval(() => this.#flush(), REPORT_MS)
    this.#timer.unref()
  }

  reserve(
    request: QuotaRequest,
    lacking: Lacking,
    since: number | undefined,
  ): QuotaRefusal | Promise<true | QuotaRefusal> {
    const nowMs = this.#quota.monotonicMs()
    const known = this.#knownOf(request, lacking === 'tool', nowMs)
    const { denial } = known
    const applies = denial !== undefined && (denial.kind !== 'burst' || lacking === 'burst')
    if (applies && nowMs < denial.untilMs) {
      known.refused++
      this.#reportOnce(known, denial)
      return refusalOf(denial, request, nowMs, this.#quota.unixMs())
    }
    const leftMs = since === undefined ? this.#responseMs : this.#responseMs - (performance.now() - since)
    if (leftMs <= 0) return quotaUnavailable('store_unavailable', request)
    known.pending ??= this.#request(known, lacking)
    return within(known.pending, leftMs).then(reserved => {
      if (since === undefined && reserved?.waited !== false) this.waited++
      return reserved?.outcome ?? quotaUnavailable('store_unavailable', request)
    })
  }

  handleGrant(request: QuotaRequest, unitsLeft: number): void {
    const known = this.#knownOf(request, request.tool !== undefined, this.#quota.monotonicMs())
    known.granted++
    if (unitsLeft >= known.unitsLeft) known.max = unitsLeft
    const low = known.max * PREFETCH
    const falls = known.unitsLeft > low && unitsLeft <= low
    known.unitsLeft = unitsLeft
    if (falls || unitsLeft === 0) this.#flush()
  }

  /** After a reset no limit is known to be used up. */
  evictDenials(name: string): void {
    for (const known of this.#known.values()) if (known.caller.key.name === name) known.denial = undefined
  }

  close(): void {
    clearInterval(this.#timer)
    this.#flush()
  }

  /** @returns undefined when the other thread did not respond */
  async #request(known: Known, lacking: Lacking): Promise<Reserved | undefined> {
    try {
      const reserved = await this.#line.ask<Reserved>('quota.reserve', known.caller, lacking)
      this.#cache(known, reserved)
      return reserved
    } catch {
      return undefined
    } finally {
      known.pending = undefined
    }
  }

  /** Reports all calls decided since the last report. */
  #flush(): void {
    const nowMs = this.#quota.monotonicMs()
    const calls: Decided[] = []
    for (const [name, known] of this.#known) {
      const { caller, granted, refused, unitsLeft } = known
      if (granted + refused > 0) {
        calls.push({ caller, granted, refused, unitsLeft })
        known.granted = 0
        known.refused = 0
      } else if (nowMs - known.lastCallMs > EVICT_AFTER_MS && known.pending === undefined)
        this.#known.delete(name)
    }
    if (calls.length > 0) this.#line.notify('quota.decided', calls)
  }

  /** The other thread then requests the next units when the denial ends, before a call has to wait for them. */
  #reportOnce(known: Known, denial: Denial): void {
    if (known.reported === denial) return
    known.reported = denial
    const { caller, granted, refused, unitsLeft } = known
    known.granted = 0
    known.refused = 0
    this.#line.notify('quota.decided', [{ caller, granted, refused, unitsLeft }] satisfies Decided[])
  }

  #cache(known: Known, { outcome, denial }: Reserved): void {
    const nowMs = this.#quota.monotonicMs()
    known.denial =
      outcome !== true && denial !== undefined && denial.untilMs <= nowMs
        ? { ...denial, untilMs: nowMs + RETRY_MS }
        : denial
  }

  #knownOf(request: QuotaRequest, ofTool: boolean, nowMs: number): Known {
    const { limits, tool } = request
    const name = nameOf(request.key)
    const id = ofTool ? `${name}\0${nameOf(tool!.key)}` : name
    let known = this.#known.get(id)
    if (known === undefined || known.caller.limits !== limits) {
      const caller = {
        key: keyData(this.#hash(request.key)),
        limits,
        ...(tool === undefined
          ? {}
          : { tool: { key: keyData(this.#hash(tool.key)), rateLimit: tool.rateLimit } }),
      }
      if (known === undefined) {
        known = {
          caller,
          granted: 0,
          refused: 0,
          unitsLeft: 0,
          max: 0,
          denial: undefined,
          reported: undefined,
          pending: undefined,
          lastCallMs: nowMs,
        }
        if (this.#known.size >= MAX_CACHED) this.#known.delete(this.#known.keys().next().value as string)
        this.#known.set(id, known)
      }
      known.caller = caller
    }
    known.lastCallMs = nowMs
    return known
  }

  #hash(key: string | QuotaKey): HashedKey {
    return typeof key === 'string' ? this.#quota.table.key(key) : (key as HashedKey)
  }
}
