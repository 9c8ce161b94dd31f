/** Requests leases of consumers' units and slots from Redis, credits them to the table, returns units and slots, and applies resets. */
import type { Journal } from '../journal/journal.ts'
import { BUSY, HASHED, READ_DAY } from '../memory/abi.ts'
import { clamp, type TableQuota } from '../memory/table-quota.ts'
import type { LimitKind } from '../quota.ts'
import type { ConsumerLease } from './consumer-lease.ts'
import type { Keys } from './keys.ts'
import { LEASE } from './leases-lua.ts'
import type { Membership } from './membership.ts'
import type { QuotaConnection, RedisReply, RunScript } from './quota-connection.ts'
import { beginReport, type LeaseReport } from './report.ts'

/** A lease ends here this much before it ends in Redis. */
const EARLY_MS = 200
/** Slots requested at least, so that a few calls at once do not wait one after another. */
const MIN_SLOTS = 4
/** After a response this recent, Redis must still hold the consumer. */
const KNOWN_MS = 100_000
const NAMES_KEPT = 4_096
/** As many as consumers in a table of default size: without its generation a consumer would be reset again. */
const MAX_GENERATIONS = 131_072

export interface LeaseOptions {
  readonly quota: TableQuota
  readonly journal: Journal | undefined
  readonly connection: QuotaConnection
  readonly keys: Keys
  readonly membership: Membership
  readonly instance: string
  readonly leaseMs: number
  readonly maxCallMs: number
  readonly nextSequence: () => number
  readonly onFault: (error: Error) => void
  /** Generations that an earlier process knew. */
  readonly generations: ReadonlyMap<string, number>
  /** Called once for each reset. */
  readonly onReset: (name: string) => void
}

/** Contents of a request; nothing: it only reports. */
export interface Ask {
  readonly units?: number
  /** Calls that wait for a slot. */
  readonly calls?: number
  /** Returns unspent units, and all slots unless `slots` is given. */
  readonly surrender?: boolean
  /** Returns slots beyond this number, as the calls in them end. */
  readonly slots?: number
}

export class Leases {
  readonly #options: LeaseOptions
  readonly #lease: RunScript
  /** Number of resets by consumer; absent: none. */
  readonly #generations: Map<string, number>

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#lease = options.connection.define(LEASE)
    this.#generations = new Map(options.generations)
    if (options.journal !== undefined) options.journal.generations = this.#generations
  }

  /**
   * Sends one request and stores the result in the table and in `lease`. Never rejects.
   * @returns false when no lease could be requested: another thread was requesting one, Redis did not respond, or the epoch changed
   */
  async ask(lease: ConsumerLease, { units = 0, calls = 0, surrender = false, slots }: Ask): Promise<boolean> {
    const { quota, keys, membership, instance, leaseMs, maxCallMs } = this.#options
    const { kernel } = quota.table
    const bucket = keys.bucketOf(lease.name)
    const epoch = membership.epoch(bucket)
    const sentMs = quota.monotonicMs()
    if (surrender) {
      quota.table.writeKey(lease.key)
      // the last note counts them as used
      if (quota.table.patiently(() => kernel.quotaSurrender(HASHED, 0), BUSY) > 0) this.#record(lease.name)
    }
    // before the report: slots that it no longer contains may be granted to others at once
    const lapsed = sentMs >= lease.deadlineMs
    const share = lapsed ? 0 : Math.min(lease.share, slots ?? (surrender ? 0 : lease.share))
    this.shrink(lease, share)
    const known = sentMs - lease.respondedMs < KNOWN_MS
    const report = beginReport(
      quota,
      lease.key,
      quota.unixMs(),
      this.#generations.get(lease.name) ?? 0,
      known,
    )
    if (report === undefined) {
      // a share needs a slot in the table
      if (quota.statisticsOf(lease.name) === undefined) lease.share = lease.slots = 0
      return false
    }
    lease.unreported = 0
    lease.requestedMs = sentMs
    const { unitsLacking } = lease
    lease.lacking = 0
    lease.unitsLacking = 0
    if (units > 0 || surrender) {
      lease.asked = 0
      lease.leasedMs = sentMs
    }
    try {
      const reply = await this.#lease(
        keys.consumer(lease.name),
        keys.epoch(bucket),
        keys.names(bucket),
        instance,
        this.#options.nextSequence(),
        epoch,
        JSON.stringify(report),
        units,
        leaseMs,
        JSON.stringify(limitsOf(lease)),
        report.inFlight + calls,
        lease.name,
        maxCallMs,
        NAMES_KEPT,
        calls > 0 ? Math.max(share, 2 * (report.inFlight + calls), MIN_SLOTS) : report.slots,
        keys.channel,
        unitsLacking,
      )
      if (reply[0] === 'ok') {
        this.#take(lease, report, reply, sentMs, units)
        return true
      }
      this.#end(lease, 0, 0, -1)
      if (reply[0] === 'epoch') {
        lease.respondedMs = Number.NEGATIVE_INFINITY
        await membership.refresh(bucket)
      }
      return reply[0] === 'stale'
    } catch {
      // Redis may still run the script; the next report corrects its counts.
      this.#end(lease, 0, 0, -1)
      membership.handleFailure()
      return false
    }
  }

  #take(lease: ConsumerLease, report: LeaseReport, reply: RedisReply, sentMs: number, asked: number): void {
    const { quota, membership } = this.#options
    const numbers = reply.map(Number)
    const [, granted = 0, leaseMs = 0, midnightMs = 0, nowMs = 0, generation = 0, slots = 0] = numbers
    membership.handleResponse(nowMs)
    this.reset(lease.name, generation)
    const calendar = clamp(lease.limits.perDay) > 0 || clamp(lease.limits.perMonth) > 0
    const expiresMs = sentMs + Math.min(leaseMs - EARLY_MS, calendar ? midnightMs : leaseMs)
    const now = quota.monotonicMs()
    lease.respondedMs = now
    lease.granted = granted
    lease.others = numbers.slice(11, 15)
    lease.lengthMs = leaseMs
    lease.keep = numbers[15] ?? -1
    lease.slots = slots
    // more than reported was granted; what was in flight beyond the share returns as the calls end
    if (slots > report.slots) this.#setShare(lease, slots)
    lease.deadlineMs = report.held + granted + lease.share > 0 ? expiresMs : 0
    const kind = String(reply[7])
    // A response from before a reset does not apply after it.
    const outdated = generation < (this.#generations.get(lease.name) ?? 0)
    if (outdated) lease.denial = undefined
    else if (kind !== '')
      lease.denial = {
        kind: kind as LimitKind | 'closed',
        used: numbers[8]!,
        limit: numbers[9]!,
        untilMs: now + Math.max(numbers[10]!, 1),
      }
    // a request without units does not learn whether units are left
    else if (asked > 0 || lease.denial?.kind === 'burst') lease.denial = undefined
    this.#credit(lease, granted, expiresMs)
  }

  /** Stops using slots beyond `share`; the next report returns them as the calls in them end. */
  shrink(lease: ConsumerLease, share: number): void {
    if (share < lease.share) this.#setShare(lease, share)
  }

  #setShare(lease: ConsumerLease, share: number): void {
    const { table } = this.#options.quota
    lease.share = share
    table.writeKey(lease.key)
    table.patiently(() => table.kernel.quotaShare(HASHED, share), BUSY)
  }

  /** Records the leased units in the journal before they can be spent: after a crash this instance must not report less use. */
  #credit(lease: ConsumerLease, granted: number, expiresMs: number): void {
    const { quota, journal, onFault } = this.#options
    const { table } = quota
    if (granted === 0 || quota.monotonicMs() >= expiresMs) return this.#end(lease, 0, 0, expiresMs)
    table.writeKey(lease.key)
    const reserve = () =>
      table.kernel.quotaReserve(HASHED, 0, granted, 1, quota.monotonicMs(), quota.unixMs())
    if (table.patiently(reserve, BUSY) !== 1) return this.#end(lease, 0, 0, expiresMs)
    const day = table.out[READ_DAY / 4]!
    try {
      journal?.handleReservation(
        lease.name,
        granted,
        clamp(lease.limits.perSecond),
        clamp(lease.limits.perMinute),
      )
      this.#end(lease, granted, granted, expiresMs, day)
    } catch (error) {
      this.#end(lease, granted, 0, expiresMs, day)
      onFault(error as Error)
    }
  }

  /** Ends what `beginReport` began, and releases `reserved` units. */
  #end(lease: ConsumerLease, reserved: number, units: number, untilMs: number, day = 0): void {
    const { table } = this.#options.quota
    table.writeKey(lease.key)
    table.patiently(
      () => table.kernel.quotaCredit(HASHED, 0, reserved + 1, units, day, untilMs < 0 ? -1 : untilMs),
      BUSY,
    )
  }

  /** Applies a reset by any instance. It is announced several times and applied once. */
  reset(name: string, generation: number): void {
    if ((this.#generations.get(name) ?? 0) >= generation) return
    this.#generations.delete(name)
    this.#generations.set(name, generation)
    if (this.#generations.size > MAX_GENERATIONS)
      this.#generations.delete(this.#generations.keys().next().value as string)
    const { quota, onReset } = this.#options
    quota.table.revise()
    onReset(name)
    if (quota.reset(name)) this.#record(name)
  }

  /** Records the counts of a consumer as they are, instead of those that its leases would reach. */
  #record(name: string): void {
    const { quota, journal, onFault } = this.#options
    try {
      journal?.whole(quota.table.find(name))
    } catch (error) {
      onFault(error as Error)
    }
  }
}

function limitsOf({ limits }: ConsumerLease): number[] {
  return [limits.perSecond, limits.perMinute, limits.perDay, limits.perMonth, limits.burst].map(clamp)
}
