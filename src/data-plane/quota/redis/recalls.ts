/**
 * Returns units and slots that this instance holds and does not use, when another instance lacks them. It decides nothing
 * about calls, and takes nothing from calls in flight.
 */
import { BUSY, READ_IN_FLIGHT } from '../memory/abi.ts'
import type { TableQuota } from '../memory/table-quota.ts'
import type { ConsumerLease } from './consumer-lease.ts'
import type { Ask, Leases } from './leases.ts'

/** A recall holds for this time; an instance that still lacks something repeats it. */
const RECALLED_MS = 150
const LOOK_MS = 10
/** What was not used at this many looks in a row is idle. */
const LOOKS = 3
/** After a call this recent, one idle slot stays for the next call, unless the recall is repeated. */
const ACTIVE_MS = 2_000
/** Several calls that lack slots at once cause messages closer together than this. */
const REPEATED_MS = 15
/** A report also brings what the others lack; this often without anything to return. */
const REPORT_MS = 50

interface Recall {
  readonly sinceMs: number
  untilMs: number
  /** The other instance still lacks something. */
  isRepeated: boolean
  /** Calls in flight at the last looks. */
  readonly looks: number[]
}

export class Recalls {
  readonly #options: { readonly quota: TableQuota; readonly leases: Leases }
  readonly #request: (lease: ConsumerLease, ask: Ask) => void
  readonly #recalled = new Map<ConsumerLease, Recall>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    options: { readonly quota: TableQuota; readonly leases: Leases },
    request: (lease: ConsumerLease, ask: Ask) => void,
  ) {
    this.#options = options
    this.#request = request
  }

  add(lease: ConsumerLease): void {
    const nowMs = this.#options.quota.monotonicMs()
    const untilMs = nowMs + RECALLED_MS
    const recall = this.#recalled.get(lease)
    if (recall !== undefined) {
      recall.untilMs = untilMs
      recall.isRepeated ||= nowMs - recall.sinceMs >= REPEATED_MS
      return
    }
    this.#recalled.set(lease, { sinceMs: nowMs, untilMs, isRepeated: false, looks: [] })
    this.#look()
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#recalled.clear()
  }

  #look(): void {
    const nowMs = this.#options.quota.monotonicMs()
    for (const [lease, recall] of this.#recalled)
      if (nowMs >= recall.untilMs) this.#recalled.delete(lease)
      else this.#return(lease, recall, nowMs)
    if (this.#recalled.size === 0) this.close()
  }

  #return(lease: ConsumerLease, { looks, isRepeated }: Recall, nowMs: number): void {
    const { leases } = this.#options
    const inFlight = this.#inFlight(lease)
    looks.push(inFlight)
    if (looks.length > LOOKS) looks.shift()
    const quiet = nowMs - lease.lastCallMs > LOOKS * LOOK_MS
    const used = quiet ? inFlight : looks.length === LOOKS ? Math.max(...looks) : lease.share
    const kept = isRepeated || nowMs - lease.lastCallMs > ACTIVE_MS ? used : Math.max(used, 1)
    const slots = Math.min(kept, lease.keep < 0 ? kept : lease.keep)
    // also while all are in use: otherwise new calls would take them as soon as calls end
    leases.shrink(lease, slots)
    if (lease.pending !== undefined || lease.renewal !== undefined) return
    const surrender = quiet && lease.windowed && lease.deadlineMs > nowMs
    const fewer = Math.max(inFlight, lease.share) < lease.slots
    const informed = lease.slots === 0 || nowMs - lease.requestedMs < REPORT_MS
    if (surrender || fewer || !informed) this.#request(lease, { surrender, slots })
  }

  #inFlight(lease: ConsumerLease): number {
    const { quota } = this.#options
    const { table } = quota
    const slot = table.kernel.quotaFind(table.writeKey(lease.key))
    const read = () => table.kernel.quotaRead(slot, quota.monotonicMs(), quota.unixMs())
    return slot >= 0 && table.patiently(read, BUSY) === 1 ? table.out[READ_IN_FLIGHT / 4]! : 0
  }
}
