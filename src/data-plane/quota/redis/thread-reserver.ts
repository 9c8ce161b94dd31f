/**
 * Gets what a call lacks from the thread that holds the connection to Redis, and tells that one of the calls decided here.
 * A call waits for it only when nothing is held and nothing is known, no longer than it might wait for Redis.
 */
import type { HashedKey } from '../memory/table.ts'
import { type Lacking, nameOf, type Reserver, type TableQuota, unavailable } from '../memory/table-quota.ts'
import type { QuotaKey, QuotaRefusal, QuotaRequest } from '../quota.ts'
import { RESPONSE_MS } from './connection.ts'
import { type Denial, refusalOf } from './consumer-lease.ts'
import { type Caller, keyData, type Question, type Reserved } from './thread-messages.ts'

/** So often the calls decided here are told of. */
const TELL_MS = 50
/** They are told of at once when so little is left of what there was when units last came. */
const PREFETCH = 0.4
/** A denial that has ended is being asked about by the other thread; so soon it can be asked again. */
const AGAIN_MS = 2
const FORGET_MS = 5_000
const MAX_CACHED = 100_000

interface Known {
  caller: Caller
  granted: number
  refused: number
  /** As of the last grant, and the most since it last rose. */
  unitsLeft: number
  max: number
  denial: Denial | undefined
  /** The denial that calls have gone on through, as the other thread knows. */
  reported: Denial | undefined
  pending: Promise<Reserved | undefined> | undefined
  lastCallMs: number
}

export class ThreadReserver implements Reserver {
  readonly #quota: TableQuota
  readonly #ask: (caller: Caller, lacking: Lacking) => Promise<Reserved | undefined>
  readonly #notify: (question: Question) => void
  /** By consumer, and by consumer and tool. */
  readonly #known = new Map<string, Known>()
  readonly #timer: NodeJS.Timeout
  /** Calls that waited for Redis, or in vain for the other thread. */
  waited = 0

  /** @param ask undefined when no answer came */
  constructor(
    quota: TableQuota,
    ask: (caller: Caller, lacking: Lacking) => Promise<Reserved | undefined>,
    notify: (question: Question) => void,
  ) {
    this.#quota = quota
    this.#ask = ask
    this.#notify = notify
    this.#timer = setInterval(() => this.flush(), TELL_MS)
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
    if (denial !== undefined && nowMs < denial.untilMs) {
      known.refused++
      this.#reportOnce(known, denial)
      return refusalOf(denial, request, nowMs, this.#quota.unixMs())
    }
    const leftMs = since === undefined ? RESPONSE_MS : RESPONSE_MS - (performance.now() - since)
    if (leftMs <= 0) return unavailable('store_unavailable', request)
    known.pending ??= this.#ask(known.caller, lacking).then(reserved => {
      known.pending = undefined
      if (reserved !== undefined) this.#cache(known, reserved)
      return reserved
    })
    return within(known.pending, leftMs).then(reserved => {
      if (since === undefined && reserved?.waited !== false) this.waited++
      return reserved?.outcome ?? unavailable('store_unavailable', request)
    })
  }

  granted(request: QuotaRequest, unitsLeft: number): void {
    const known = this.#knownOf(request, request.tool !== undefined, this.#quota.monotonicMs())
    known.granted++
    if (unitsLeft >= known.unitsLeft) known.max = unitsLeft
    const low = known.max * PREFETCH
    const falls = known.unitsLeft > low && unitsLeft <= low
    known.unitsLeft = unitsLeft
    if (falls || unitsLeft === 0) this.flush()
  }

  forgive(name: string): void {
    for (const known of this.#known.values()) if (known.caller.key.name === name) known.denial = undefined
  }

  /** Tells of all calls decided since the last time. */
  flush(): void {
    const nowMs = this.#quota.monotonicMs()
    const calls = []
    for (const [name, known] of this.#known) {
      const { caller, granted, refused, unitsLeft } = known
      if (granted + refused > 0) {
        calls.push({ caller, granted, refused, unitsLeft })
        known.granted = 0
        known.refused = 0
      } else if (nowMs - known.lastCallMs > FORGET_MS && known.pending === undefined) this.#known.delete(name)
    }
    if (calls.length > 0) this.#notify({ kind: 'decided', calls })
  }

  close(): void {
    clearInterval(this.#timer)
    this.flush()
  }

  /** So that the other thread asks for the next units when the denial ends, before a call has to. */
  #reportOnce(known: Known, denial: Denial): void {
    if (known.reported === denial) return
    known.reported = denial
    const { caller, granted, refused, unitsLeft } = known
    known.granted = 0
    known.refused = 0
    this.#notify({ kind: 'decided', calls: [{ caller, granted, refused, unitsLeft }] })
  }

  #cache(known: Known, { outcome, denial }: Reserved): void {
    const nowMs = this.#quota.monotonicMs()
    known.denial =
      outcome !== true && denial !== undefined && denial.untilMs <= nowMs
        ? { ...denial, untilMs: nowMs + AGAIN_MS }
        : denial
  }

  #knownOf(request: QuotaRequest, ofTool: boolean, nowMs: number): Known {
    const { limits, tool } = request
    const name = nameOf(request.key)
    const id = ofTool ? `${name}\0${nameOf(tool!.key)}` : name
    let known = this.#known.get(id)
    if (known === undefined || known.caller.limits !== limits) {
      const caller = {
        key: keyData(this.#hashed(request.key)),
        limits,
        ...(tool === undefined
          ? {}
          : { tool: { key: keyData(this.#hashed(tool.key)), rateLimit: tool.rateLimit } }),
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

  #hashed(key: string | QuotaKey): HashedKey {
    return typeof key === 'string' ? this.#quota.table.key(key) : (key as HashedKey)
  }
}

/** undefined when the promise does not settle in time. */
function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(undefined), ms)
    void promise.then(value => {
      clearTimeout(timer)
      resolve(value)
    })
  })
}
