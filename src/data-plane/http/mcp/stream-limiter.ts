/** Limits on open event streams (docs/reference/http.md, SSE connection limits): per address, per tenant, in total, new ones per minute. */
import { BoundedMap } from '../../../base/async/bounded-map.ts'

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

/** Slots for event streams. */
export interface StreamSlots {
  /** Takes a slot. @returns the limit that was reached, or a function that releases the slot (once). */
  open(
    ip: string,
    tenant: string | undefined,
    nowMs: number,
  ): StreamRefusal | (() => void) | Promise<StreamRefusal | (() => void)>
}

const MINUTE_MS = 60_000
/** Addresses whose recent streams are counted; beyond it the oldest are evicted. */
const MAX_ADDRESSES = 50_000

export class StreamLimiter implements StreamSlots {
  readonly #options: StreamLimiterOptions
  readonly #byIp = new Map<string, number>()
  readonly #byTenant = new Map<string, number>()
  /** Times of the newest openings, at most `newPerMinutePerIp` of them. */
  readonly #recent = new BoundedMap<string, number[]>(MAX_ADDRESSES)
  #total = 0

  constructor(options: StreamLimiterOptions) {
    this.#options = options
  }

  /** Takes a slot. @returns the limit that was reached, or a function that releases the slot (once). */
  open(ip: string, tenant: string | undefined, nowMs: number): StreamRefusal | (() => void) {
    const { enabled, maxPerIp, maxPerTenant, maxTotal, newPerMinutePerIp } = this.#options
    if (!enabled) return () => {}
    if (this.#total >= maxTotal) return 'total'
    if ((this.#byIp.get(ip) ?? 0) >= maxPerIp) return 'ip'
    if (tenant !== undefined && (this.#byTenant.get(tenant) ?? 0) >= maxPerTenant) return 'tenant'
    const recent = (this.#recent.get(ip) ?? []).filter(atMs => nowMs - atMs < MINUTE_MS)
    if (recent.length >= newPerMinutePerIp) return 'rate'
    recent.push(nowMs)
    this.#recent.set(ip, recent)
    this.#total++
    add(this.#byIp, ip, 1)
    if (tenant !== undefined) add(this.#byTenant, tenant, 1)
    let given = false
    return () => {
      if (given) return
      given = true
      this.#total--
      add(this.#byIp, ip, -1)
      if (tenant !== undefined) add(this.#byTenant, tenant, -1)
    }
  }
}

function add(counts: Map<string, number>, key: string, step: number): void {
  const count = (counts.get(key) ?? 0) + step
  if (count <= 0) counts.delete(key)
  else counts.set(key, count)
}
