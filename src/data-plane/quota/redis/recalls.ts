/** Reduces the units and slots that this instance holds of a consumer when another instance lacks them. */
import type { TableQuota } from '../memory/table-quota.ts'
import type { ConsumerLease } from './consumer-lease.ts'
import { heldBy } from './consumer-lease.ts'
import type { Ask, Leases } from './leases.ts'

/** A recall holds for this time; an instance that still lacks something repeats it. */
const RECALLED_MS = 150
const LOOK_MS = 10
/** What was not used at this many looks in a row is idle. */
const LOOKS = 3
/** After a call this recent, the next is to find units, and one idle slot stays for it unless the recall is repeated. */
export const ACTIVE_MS = 2_000
/** For a window of a minute or longer, one unit stays as well, unless the others lack units for this long. */
const LACKED_MS = 500
/** Several calls that lack slots at once cause messages closer together than this. */
const REPEATED_MS = 15
/** A report also brings what the others lack; this often without anything to return. */
const REPORT_MS = 50

interface Recall {
  readonly sinceMs: number
  untilMs: number
  /** The other instance still lacks something. */
  isRepeated: boolean
  /** What is lacked is a unit of a minute, day or month. */
  isOfLongWindow: boolean
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

  /** @param isOfLongWindow a unit of a minute, day or month is lacked */
  add(lease: ConsumerLease, isOfLongWindow: boolean): void {
    const nowMs = this.#options.quota.monotonicMs()
    const untilMs = nowMs + RECALLED_MS
    const recall = this.#recalled.get(lease)
    if (recall !== undefined) {
      recall.untilMs = untilMs
      recall.isOfLongWindow = isOfLongWindow
      recall.isRepeated ||= nowMs - recall.sinceMs >= REPEATED_MS
      return
    }
    this.#recalled.set(lease, { sinceMs: nowMs, untilMs, isRepeated: false, isOfLongWindow, looks: [] })
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

  #return(lease: ConsumerLease, recall: Recall, nowMs: number): void {
    const { leases, quota } = this.#options
    const { looks, isRepeated } = recall
    const { inFlight, units } = heldBy(lease, quota)
    looks.push(inFlight)
    if (looks.length > LOOKS) looks.shift()
    const quiet = nowMs - lease.lastCallMs > LOOKS * LOOK_MS
    const used = quiet ? inFlight : looks.length === LOOKS ? Math.max(...looks) : lease.share
    const active = nowMs - lease.lastCallMs <= ACTIVE_MS
    const kept = isRepeated || !active ? used : Math.max(used, 1)
    const slots = Math.min(kept, lease.keep < 0 ? kept : lease.keep)
    // also while all are in use: otherwise new calls would take them as soon as calls end
    leases.shrink(lease, slots)
    if (lease.pending !== undefined || lease.renewal !== undefined) return
    const keptUnits = active && recall.isOfLongWindow && nowMs - recall.sinceMs < LACKED_MS ? 1 : 0
    const surrender = quiet && lease.windowed && lease.deadlineMs > nowMs && units > keptUnits
    const fewer = Math.max(inFlight, lease.share) < lease.slots
    const informed = lease.slots === 0 || nowMs - lease.requestedMs < REPORT_MS
    if (surrender || fewer || !informed)
      this.#request(lease, { surrender, slots, units: surrender ? keptUnits : 0 })
  }
}
