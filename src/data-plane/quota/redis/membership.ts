/**
 * The membership of this instance in the buckets: heartbeats, epochs, the availability and the clock of Redis, and reports of counts to a new epoch.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { QuotaTable } from '../memory/table.ts'
import type { Clocks } from '../memory/table-quota.ts'
import { BUCKETS, type Keys } from './keys.ts'
import { MINUTE_MS } from './lua-prelude.ts'
import { BEAT } from './membership-lua.ts'
import type { QuotaConnection, RunScript } from './quota-connection.ts'
import type { Reset } from './resets.ts'

const BEAT_MS = 250
const BEAT_DOWN_MS = 100
/** How long leases with calendar limits wait for the counts of a member that ended together with the data. */
const ABSENT_MS = 600_000

export interface MembershipOptions {
  readonly connection: QuotaConnection
  readonly keys: Keys
  readonly instance: string
  /** For the longest lease. */
  readonly leaseMs: number
  readonly maxCallMs: number
  /** Calls of the process before this one may be running until then: ms of `monotonicMs`. */
  readonly earlierCallsUntilMs: number
  /** A Redis without data may have lost them although no instance knows of any: its leases and windows are waited for. */
  readonly distrustEmpty: boolean
  /** Counts of an earlier process were restored: a Redis without any has lost data. */
  readonly history: boolean
  readonly monotonicMs: () => number
  /** Reports all counts of the consumers of a bucket; true when Redis accepted every report. */
  readonly reportAll: (bucket: number) => Promise<boolean>
  readonly onReset: (reset: Reset) => void
  /** Called when Redis becomes available or unavailable. */
  readonly onUp: (up: boolean) => void
  /** Moved by tests, and by this class when another instance was moved further. */
  readonly clock: Pick<QuotaTable, 'skewMs' | 'advance' | 'nowMs' | 'unixOffsetMs'>
}

interface Bucket {
  epoch: string
  state: string
  version: number
  admitted: boolean
  /** The epoch to which all counts were reported. */
  reported: string
  members: readonly string[]
  reporting: boolean
}

export class Membership {
  readonly #options: MembershipOptions
  readonly #buckets: Bucket[]
  readonly #script: RunScript
  #up = false
  #closed = false
  #beating: Promise<void> = Promise.resolve()

  constructor(options: MembershipOptions) {
    this.#options = options
    this.#script = options.connection.define(BEAT)
    this.#buckets = Array.from({ length: BUCKETS }, () => ({
      epoch: '',
      state: '',
      version: 0,
      admitted: false,
      reported: '',
      members: [],
      reporting: false,
    }))
    this.#beating = this.#run()
  }

  /** Whether Redis responded last time. */
  get up(): boolean {
    return this.#up
  }

  /** Epoch to pass to a script; '' before the first heartbeat. */
  epoch(bucket: number): string {
    return this.#buckets[bucket]!.epoch
  }

  /** Every bucket may grant units to this instance. */
  get open(): boolean {
    return this.#up && this.#buckets.every(({ state, admitted }) => state === 'open' && admitted)
  }

  /** Redis has responded. @param nowMs its clock */
  handleResponse(nowMs: number): void {
    this.#setUp(true)
    const { clock } = this.#options
    // The response took time, so this clock is never ahead of Redis. What a test has moved stays moved.
    clock.unixOffsetMs = nowMs - (clock.nowMs() - clock.skewMs)
  }

  /** A request has failed: no call waits for Redis until Redis responds again. */
  handleFailure(): void {
    this.#setUp(false)
  }

  /** A script has reported another epoch. */
  async refresh(bucket: number): Promise<void> {
    await this.#beat(bucket)
  }

  /** Sends the heartbeats of all buckets. */
  async refreshAll(): Promise<void> {
    await Promise.all(this.#buckets.map((_, bucket) => this.#beat(bucket)))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#beating
  }

  #setUp(up: boolean): void {
    if (this.#up === up) return
    this.#up = up
    this.#options.onUp(up)
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      await this.refreshAll()
      await sleep(this.#up ? BEAT_MS : BEAT_DOWN_MS, undefined, { ref: false })
    }
  }

  async #beat(number: number): Promise<void> {
    const bucket = this.#buckets[number]!
    const { keys, instance, history, leaseMs, clock, maxCallMs, earlierCallsUntilMs, distrustEmpty } =
      this.#options
    try {
      const reply = await this.#script(
        keys.epoch(number),
        instance,
        bucket.epoch,
        bucket.reported,
        bucket.version,
        history && bucket.epoch === '' ? '1' : '0',
        JSON.stringify(bucket.members),
        MINUTE_MS,
        leaseMs,
        ABSENT_MS,
        clock.skewMs,
        Math.max(0, Math.ceil(earlierCallsUntilMs - this.#options.monotonicMs())),
        maxCallMs,
        distrustEmpty ? 1 : 0,
      )
      const movedMs = Number(reply[7])
      if (movedMs > clock.skewMs) clock.advance(movedMs - clock.skewMs)
      this.handleResponse(Number(reply[4]))
      bucket.epoch = String(reply[0])
      bucket.state = String(reply[1])
      bucket.version = Number(reply[2])
      bucket.admitted = Number(reply[3]) === 1
      bucket.members = list<string>(reply[5])
      for (const reset of list<Reset>(reply[6])) this.#options.onReset(reset)
      if (bucket.reported !== bucket.epoch) void this.#report(number)
    } catch {
      this.handleFailure()
    }
  }

  async #report(number: number): Promise<void> {
    const bucket = this.#buckets[number]!
    if (bucket.reporting) return
    bucket.reporting = true
    const { epoch } = bucket
    try {
      if (await this.#options.reportAll(number)) bucket.reported = epoch
    } finally {
      bucket.reporting = false
    }
    if (bucket.reported === bucket.epoch) await this.#beat(number)
  }
}

/** Redis encodes an empty list as an empty object. */
function list<T>(json: string | number | undefined): readonly T[] {
  const value: unknown = JSON.parse(String(json))
  return Array.isArray(value) ? value : []
}

/** Before the first response of Redis: the time of the request, and the clock of this machine. */
export function storeClocks(
  table: () => QuotaTable | undefined,
): Required<Pick<Clocks, 'unixMs' | 'calendarMs'>> {
  function storeMs(): number | undefined {
    const own = table()
    return own === undefined || own.unixOffsetMs === 0
      ? undefined
      : Math.floor(own.nowMs() + own.unixOffsetMs)
  }
  return { unixMs: () => storeMs() ?? Date.now(), calendarMs: nowMs => storeMs() ?? nowMs }
}
