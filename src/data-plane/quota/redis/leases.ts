/**
 * Leases of consumers from Redis: asks, credits the table, gives back what is idle. A unit is spent in the table only;
 * here nothing is counted. One lease at a time for each consumer of this process, whoever of its threads asks.
 */
import type { Journal } from '../journal/journal.ts'
import { BUSY, HASHED, READ_DAY } from '../memory/abi.ts'
import { clamp, type TableQuota } from '../memory/table-quota.ts'
import type { LimitKind } from '../quota.ts'
import type { Connection } from './connection.ts'
import type { ConsumerLease } from './consumer-lease.ts'
import type { Keys } from './keys.ts'
import type { Membership } from './membership.ts'
import { beginReport, type Report } from './report.ts'

/** A lease is dropped so much before Redis takes it for ended. */
const EARLY_MS = 200
/** An answer so old no longer says that Redis must know the consumer. */
const KNOWN_MS = 100_000
const NAMES_KEPT = 4_096
/** As many as consumers are counted: one that is forgotten would be reset again. */
const MAX_GENERATIONS = 131_072

export interface LeaseOptions {
  readonly quota: TableQuota
  readonly journal: Journal | undefined
  readonly connection: Connection
  readonly keys: Keys
  readonly membership: Membership
  readonly instance: string
  readonly leaseMs: number
  readonly maxCallMs: number
  readonly nextSequence: () => number
  readonly onFault: (error: Error) => void
  /** What a former process knew of resets. */
  readonly generations: ReadonlyMap<string, number>
  /** Told of each reset, once: nothing is known to be used up any more. */
  readonly onReset: (name: string) => void
}

export class Leases {
  readonly #options: LeaseOptions
  /** How often a consumer has been reset; most never. */
  readonly #generations: Map<string, number>

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#generations = new Map(options.generations)
    if (options.journal !== undefined) options.journal.generations = this.#generations
  }

  /**
   * Asks once; what comes of it stands in the table and in `lease`. Never rejects.
   * @param want units; 0 only reports
   * @param more calls in flight wanted beyond those there are
   * @param surrender gives unspent units back
   * @returns false when it could not be asked: another thread was asking, or Redis did not answer
   */
  async ask(lease: ConsumerLease, want: number, more: number, surrender = false): Promise<boolean> {
    const { quota, connection, keys, membership, instance, leaseMs, maxCallMs } = this.#options
    const { kernel } = quota.table
    const bucket = keys.bucketOf(lease.name)
    const epoch = membership.epoch(bucket)
    const sentMs = quota.monotonicMs()
    if (surrender) {
      quota.table.writeKey(lease.key)
      quota.table.patiently(() => kernel.quotaSurrender(HASHED, 0), BUSY)
    }
    const known = sentMs - lease.heardMs < KNOWN_MS
    const report = beginReport(
      quota,
      lease.key,
      quota.unixMs(),
      this.#generations.get(lease.name) ?? 0,
      known,
    )
    if (report === undefined) return false
    lease.asked = 0
    lease.leasedMs = sentMs
    try {
      const reply = await connection.quotaLease(
        keys.consumer(lease.name),
        keys.epoch(bucket),
        keys.names(bucket),
        instance,
        this.#options.nextSequence(),
        epoch,
        JSON.stringify(report),
        want,
        leaseMs,
        JSON.stringify(limitsOf(lease)),
        report.f + more,
        lease.name,
        maxCallMs,
        NAMES_KEPT,
      )
      if (reply[0] === 'ok') {
        this.#take(lease, report, reply, sentMs)
        return true
      }
      this.#end(lease, 0, 0, -1)
      if (reply[0] === 'epoch') {
        lease.heardMs = Number.NEGATIVE_INFINITY
        await membership.refresh(bucket)
      }
      return reply[0] === 'stale'
    } catch {
      // Whatever Redis makes of the call when it gets to it, the next report puts right.
      this.#end(lease, 0, 0, -1)
      membership.failed()
      return false
    }
  }

  #take(lease: ConsumerLease, report: Report, reply: readonly (string | number)[], sentMs: number): void {
    const { quota, membership } = this.#options
    const { table } = quota
    const numbers = reply.map(Number)
    const [, granted = 0, leaseMs = 0, midnightMs = 0, nowMs = 0, generation = 0, share = 0] = numbers
    membership.heard(nowMs)
    this.reset(lease.name, generation)
    const calendar = clamp(lease.limits.perDay) > 0 || clamp(lease.limits.perMonth) > 0
    const lapsesMs = sentMs + Math.min(leaseMs - EARLY_MS, calendar ? midnightMs : leaseMs)
    const now = quota.monotonicMs()
    lease.heardMs = now
    lease.granted = granted
    lease.others = numbers.slice(11, 15)
    lease.deadlineMs = report.k + granted > 0 ? lapsesMs : 0
    const kind = String(reply[7])
    // An answer from before a reset does not say what is used up after it.
    const outdated = generation < (this.#generations.get(lease.name) ?? 0)
    lease.denial =
      kind === '' || outdated
        ? undefined
        : {
            kind: kind as LimitKind | 'closed',
            used: numbers[8]!,
            limit: numbers[9]!,
            untilMs: now + Math.max(numbers[10]!, kind === 'burst' ? 20 : 1),
          }
    if (clamp(lease.limits.burst) > 0) {
      lease.share = share
      table.writeKey(lease.key)
      table.patiently(() => table.kernel.quotaShare(HASHED, share), BUSY)
    }
    this.#credit(lease, granted, lapsesMs)
  }

  /** Writes down what was leased before it can be spent: after a crash this instance must not say it used less. */
  #credit(lease: ConsumerLease, granted: number, lapsesMs: number): void {
    const { quota, journal, onFault } = this.#options
    const { table } = quota
    if (granted === 0 || quota.monotonicMs() >= lapsesMs) return this.#end(lease, 0, 0, lapsesMs)
    table.writeKey(lease.key)
    const reserve = () =>
      table.kernel.quotaReserve(HASHED, 0, granted, 1, quota.monotonicMs(), quota.unixMs())
    if (table.patiently(reserve, BUSY) !== 1) return this.#end(lease, 0, 0, -1)
    const day = table.out[READ_DAY / 4]!
    try {
      journal?.reserved(lease.name, granted, clamp(lease.limits.perSecond), clamp(lease.limits.perMinute))
      this.#end(lease, granted, granted, lapsesMs, day)
    } catch (error) {
      this.#end(lease, granted, 0, lapsesMs, day)
      onFault(error as Error)
    }
  }

  /** Takes the mark of `beginReport` back, and `reserved` units with it. */
  #end(lease: ConsumerLease, reserved: number, units: number, untilMs: number, day = 0): void {
    const { table } = this.#options.quota
    table.writeKey(lease.key)
    table.patiently(
      () => table.kernel.quotaCredit(HASHED, 0, reserved + 1, units, day, untilMs < 0 ? -1 : untilMs),
      BUSY,
    )
  }

  /** A reset that was made, here or elsewhere; it is told more than once and done once. */
  reset(name: string, generation: number): void {
    if ((this.#generations.get(name) ?? 0) >= generation) return
    this.#generations.delete(name)
    this.#generations.set(name, generation)
    if (this.#generations.size > MAX_GENERATIONS)
      this.#generations.delete(this.#generations.keys().next().value as string)
    const { quota, journal, onFault } = this.#options
    quota.table.revise()
    this.#options.onReset(name)
    if (!quota.reset(name)) return
    try {
      journal?.whole(quota.table.kernel.quotaFind(quota.table.writeKey(name)))
    } catch (error) {
      onFault(error as Error)
    }
  }
}

function limitsOf({ limits }: ConsumerLease): number[] {
  return [limits.perSecond, limits.perMinute, limits.perDay, limits.perMonth, limits.burst].map(clamp)
}
