/** Limits on open event streams (docs/reference/http.md, SSE connection limits): per address, per tenant, in total, new ones per minute. */
import type { MaybePromise } from '../../../base/and-then.ts'
import { BoundedMap } from '../../../base/async/bounded-map.ts'
import type { Party } from '../../../base/fair-shares.ts'

export interface StreamLimiterOptions {
  readonly enabled: boolean
  readonly maxPerIp: number
  readonly maxPerTenant: number
  readonly maxTotal: number
  /** New streams per address in any 60 s. */
  readonly newPerMinutePerIp: number
}

/** Closed set: it is a metric label. */
export type StreamRefusal = 'ip' | 'tenant' | 'total' | 'rate'

export interface StreamRequest {
  readonly ip: string
  /** Tenant, '' without one, and consumer. */
  readonly party: Party
  readonly nowMs: number
  /** A new connection, which counts for the limit per minute; a POST uses one that the client has. */
  readonly isConnection: boolean
}

/** Slots for event streams. */
export interface StreamSlots {
  /**
   * Takes a slot.
   * @param evict called once when another consumer of the tenant, which has fewer streams, gets the slot
   * @returns the limit that was reached, or a function that releases the slot (once)
   */
  open(request: StreamRequest, evict: () => void): MaybePromise<StreamRefusal | (() => void)>
}

/** A slot that may be evicted before its stream is open. */
export class StreamSlot {
  /** Set when the slot is taken. */
  release: () => void = () => {}
  #isEvicted = false
  #end: (() => void) | undefined

  readonly evict = (): void => {
    this.#isEvicted = true
    this.#end?.()
  }

  /** @param end ends the stream; called at once when the slot was evicted already */
  whenEvicted(end: () => void): void {
    this.#end = end
    if (this.#isEvicted) end()
  }
}

interface Slot {
  readonly ip: string
  readonly tenant: string
  readonly consumer: string
  readonly evict: () => void
}

const MINUTE_MS = 60_000
/** Addresses whose recent streams are counted; beyond it the oldest are evicted. */
const MAX_ADDRESSES = 50_000

export class StreamLimiter implements StreamSlots {
  readonly #options: StreamLimiterOptions
  readonly #byIp = new Map<string, number>()
  /** By tenant and consumer, oldest first. */
  readonly #byTenant = new Map<string, { held: number; readonly consumers: Map<string, Set<Slot>> }>()
  /** Times of the newest openings, at most `newPerMinutePerIp` of them. */
  readonly #recent = new BoundedMap<string, number[]>(MAX_ADDRESSES)
  readonly #held = new Set<Slot>()

  constructor(options: StreamLimiterOptions) {
    this.#options = options
  }

  open({ ip, party, nowMs, isConnection }: StreamRequest, evict: () => void): StreamRefusal | (() => void) {
    const { enabled, maxPerIp, maxPerTenant, maxTotal, newPerMinutePerIp } = this.#options
    if (!enabled) return () => {}
    if ((this.#byIp.get(ip) ?? 0) >= maxPerIp) return 'ip'
    const recent = (this.#recent.get(ip) ?? []).filter(atMs => nowMs - atMs < MINUTE_MS)
    if (isConnection && recent.length >= newPerMinutePerIp) return 'rate'
    const { owner: tenant, part: consumer } = party
    if (tenant !== '' && (this.#byTenant.get(tenant)?.held ?? 0) >= maxPerTenant) {
      const over = this.#overShare(tenant, consumer)
      if (over === undefined) return 'tenant'
      this.#release(over)
      over.evict()
    } else if (this.#held.size >= maxTotal) return 'total'
    if (isConnection) this.#recent.set(ip, [...recent, nowMs])
    const slot: Slot = { ip, tenant, consumer, evict }
    this.#take(slot)
    return () => this.#release(slot)
  }

  /** The newest stream of the consumer of the tenant that has the most, if it has more than this one would have with another. */
  #overShare(tenant: string, consumer: string): Slot | undefined {
    const { consumers } = this.#byTenant.get(tenant)!
    let most = new Set<Slot>()
    for (const slots of consumers.values()) if (slots.size > most.size) most = slots
    return most.size > (consumers.get(consumer)?.size ?? 0) + 1 ? [...most].at(-1) : undefined
  }

  #take(slot: Slot): void {
    this.#held.add(slot)
    add(this.#byIp, slot.ip, 1)
    const of = this.#byTenant.get(slot.tenant) ?? { held: 0, consumers: new Map<string, Set<Slot>>() }
    this.#byTenant.set(slot.tenant, of)
    of.held++
    const slots = of.consumers.get(slot.consumer) ?? new Set()
    of.consumers.set(slot.consumer, slots.add(slot))
  }

  /** Does nothing for a slot that was released or evicted. */
  #release(slot: Slot): void {
    if (!this.#held.delete(slot)) return
    add(this.#byIp, slot.ip, -1)
    const of = this.#byTenant.get(slot.tenant)!
    const slots = of.consumers.get(slot.consumer)!
    of.held--
    slots.delete(slot)
    if (slots.size === 0) of.consumers.delete(slot.consumer)
    if (of.held === 0) this.#byTenant.delete(slot.tenant)
  }
}

function add(counts: Map<string, number>, key: string, step: number): void {
  const count = (counts.get(key) ?? 0) + step
  if (count <= 0) counts.delete(key)
  else counts.set(key, count)
}
