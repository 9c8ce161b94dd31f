/** Leases of tools' token buckets: their state, requests to Redis, and the credit to the table. `tool-leases-lua.ts` contains the script. */
import { BUSY, HASHED, READ_TOKENS } from '../memory/abi.ts'
import type { HashedKey } from '../memory/table.ts'
import { clamp, type Lacking, perHour, type TableQuota } from '../memory/table-quota.ts'
import type { Denial } from './consumer-lease.ts'
import type { Keys } from './keys.ts'
import type { Membership } from './membership.ts'
import type { QuotaConnection, RunScript } from './quota-connection.ts'
import { TOOL } from './tool-leases-lua.ts'

const EARLY_MS = 200
/** Units of one lease: they expire unused when the instance is killed. */
const MAX_UNITS = 64

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
  /** Calls since the last lease was requested. */
  asked = 0
  granted = 0
  leasedMs: number
  lastCallMs: number
  /** Monotonic ms at which the units expire here. */
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

  denialFor(_lacking: Lacking, nowMs: number): Denial | undefined {
    return this.denial !== undefined && nowMs < this.denial.untilMs ? this.denial : undefined
  }
}

export interface ToolLeaseOptions {
  readonly quota: TableQuota
  readonly connection: QuotaConnection
  readonly keys: Keys
  readonly membership: Membership
  readonly instance: string
  readonly leaseMs: number
  readonly nextSequence: () => number
}

export class ToolLeases {
  readonly #options: ToolLeaseOptions
  readonly #lease: RunScript

  constructor(options: ToolLeaseOptions) {
    this.#options = options
    this.#lease = options.connection.define(TOOL)
  }

  /**
   * Sends one request; never rejects.
   * @param surrender returns unspent units to the bucket
   * @returns false when no lease could be requested
   */
  async ask(lease: ToolLease, want: number, surrender = false): Promise<boolean> {
    const { quota, keys, membership, instance, leaseMs, nextSequence } = this.#options
    const { table, monotonicMs } = quota
    const { kernel, out } = table
    const bucket = keys.bucketOf(lease.name)
    const epoch = membership.epoch(bucket)
    const sentMs = monotonicMs()
    const returned = surrender
      ? Math.max(
          0,
          this.#call(lease, () => kernel.quotaSurrender(HASHED, HASHED)),
        )
      : 0
    const begun = this.#call(lease, () => kernel.quotaBegin(HASHED, HASHED, monotonicMs(), quota.unixMs()))
    if (begun !== 1) return false
    const held = out[READ_TOKENS / 4]!
    lease.asked = 0
    lease.leasedMs = sentMs
    const { requestsPerMinute, burst } = lease.rate
    try {
      const reply = await this.#lease(
        keys.tool(lease.name, lease.tool),
        keys.epoch(bucket),
        instance,
        nextSequence(),
        epoch,
        held,
        returned,
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
      const [, granted = 0, durationMs = 0, nowMs = 0, waitMs = 0] = reply.map(Number)
      membership.handleResponse(nowMs)
      const expiresMs = sentMs + durationMs - EARLY_MS
      lease.granted = granted
      lease.deadlineMs = held + granted > 0 ? expiresMs : 0
      lease.denial =
        want > 0 && granted === 0
          ? {
              kind: 'tool',
              used: requestsPerMinute,
              limit: requestsPerMinute,
              untilMs: monotonicMs() + Math.max(1, waitMs),
            }
          : undefined
      this.#end(lease, monotonicMs() < expiresMs ? granted : 0, expiresMs)
      return true
    } catch {
      this.#end(lease, 0, -1)
      membership.handleFailure()
      return false
    }
  }

  /** Units for about one lease time at the recent rate. */
  wantedUnits(lease: ToolLease, nowMs: number): number {
    const rate = (lease.asked / Math.max(1, nowMs - lease.leasedMs)) * this.#options.leaseMs
    return Math.min(MAX_UNITS, Math.max(1, Math.ceil(Math.min(rate, lease.asked * 4))))
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
    const writeLease = () => {
      table.writeTool(lease.toolKey, table.writeKey(lease.key))
      return call()
    }
    return table.patiently(writeLease, BUSY)
  }
}
