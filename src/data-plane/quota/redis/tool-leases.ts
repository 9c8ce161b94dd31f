/** Leases of tools' token buckets from Redis. A bucket's level is known there; here only the units held are. */
import { BUSY, HASHED, READ_TOKENS } from '../memory/abi.ts'
import type { HashedKey } from '../memory/table.ts'
import { clamp, perHour, type TableQuota } from '../memory/table-quota.ts'
import type { Connection } from './connection.ts'
import type { Denial } from './consumer-lease.ts'
import type { Keys } from './keys.ts'
import type { Membership } from './membership.ts'

const EARLY_MS = 200
/** Most units of one lease: what is held lapses unused when its instance is killed. */
const MOST = 64

export interface ToolRate {
  readonly requestsPerMinute: number
  readonly burst: number
}

export class ToolLease {
  readonly name: string
  readonly key: HashedKey
  readonly tool: string
  readonly toolKey: HashedKey
  rate: ToolRate
  asked = 0
  granted = 0
  leasedMs: number
  lastCallMs: number
  deadlineMs = 0
  denial: Denial | undefined = undefined
  pending: Promise<void> | undefined = undefined

  constructor(name: string, key: HashedKey, tool: string, toolKey: HashedKey, rate: ToolRate, nowMs: number) {
    this.name = name
    this.key = key
    this.tool = tool
    this.toolKey = toolKey
    this.rate = rate
    this.leasedMs = nowMs
    this.lastCallMs = nowMs
  }
}

export interface ToolLeaseOptions {
  readonly quota: TableQuota
  readonly connection: Connection
  readonly keys: Keys
  readonly membership: Membership
  readonly instance: string
  readonly leaseMs: number
  readonly nextSequence: () => number
}

export class ToolLeases {
  readonly #options: ToolLeaseOptions

  constructor(options: ToolLeaseOptions) {
    this.#options = options
  }

  /**
   * Asks once; never rejects.
   * @param surrender gives unspent units back, which flow into the bucket again
   * @returns false when it could not be asked
   */
  async ask(lease: ToolLease, want: number, surrender = false): Promise<boolean> {
    const { quota, connection, keys, membership, instance, leaseMs, nextSequence } = this.#options
    const { table, monotonicMs } = quota
    const { kernel, out } = table
    const bucket = keys.bucketOf(lease.name)
    const epoch = membership.epoch(bucket)
    const sentMs = monotonicMs()
    const back = surrender
      ? Math.max(
          0,
          this.#call(lease, () => kernel.quotaSurrender(HASHED, HASHED)),
        )
      : 0
    const begun = this.#call(lease, () => kernel.quotaBegin(HASHED, HASHED, monotonicMs(), quota.unixMs()))
    if (begun !== 1) return false
    const keep = out[READ_TOKENS / 4]!
    lease.asked = 0
    lease.leasedMs = sentMs
    const { requestsPerMinute, burst } = lease.rate
    try {
      const reply = await connection.quotaTool(
        keys.tool(lease.name, lease.tool),
        keys.epoch(bucket),
        instance,
        nextSequence(),
        epoch,
        keep,
        back,
        want,
        leaseMs,
        perHour(requestsPerMinute),
        Math.max(1, clamp(burst)),
      )
      if (reply[0] !== 'ok') {
        this.#end(lease, 0, -1)
        if (reply[0] === 'epoch') await membership.refresh(bucket)
        return reply[0] === 'stale'
      }
      const [, granted = 0, lastsMs = 0, nowMs = 0, waitMs = 0] = reply.map(Number)
      membership.heard(nowMs)
      const lapsesMs = sentMs + lastsMs - EARLY_MS
      lease.granted = granted
      lease.deadlineMs = keep + granted > 0 ? lapsesMs : 0
      lease.denial =
        want > 0 && granted === 0
          ? {
              kind: 'tool',
              used: requestsPerMinute,
              limit: requestsPerMinute,
              untilMs: monotonicMs() + Math.max(1, waitMs),
            }
          : undefined
      this.#end(lease, monotonicMs() < lapsesMs ? granted : 0, lapsesMs)
      return true
    } catch {
      this.#end(lease, 0, -1)
      membership.failed()
      return false
    }
  }

  /** What lasts for the lease time at the rate of late, and little beyond. */
  wanted(lease: ToolLease, nowMs: number): number {
    const rate = (lease.asked / Math.max(1, nowMs - lease.leasedMs)) * this.#options.leaseMs
    return Math.min(MOST, Math.max(1, Math.ceil(Math.min(rate, lease.asked * 4))))
  }

  #end(lease: ToolLease, units: number, untilMs: number): void {
    const { kernel } = this.#options.quota.table
    if (units > 0)
      this.#call(lease, () =>
        kernel.quotaReserve(HASHED, HASHED, units, 1, this.#options.quota.monotonicMs(), 0),
      )
    this.#call(lease, () => kernel.quotaCredit(HASHED, HASHED, units + 1, units, 0, untilMs))
  }

  #call(lease: ToolLease, call: () => number): number {
    const { table } = this.#options.quota
    const written = () => {
      table.writeTool(lease.toolKey, table.writeKey(lease.key))
      return call()
    }
    return table.patiently(written, BUSY)
  }
}
