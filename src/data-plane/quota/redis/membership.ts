/**
 * This instance's part in the roll call of every bucket: beats, the epoch it knows, whether it may be granted units.
 * It leases nothing: it says when everything has to be told again, and to whom a lease may be asked of.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { QuotaTable } from '../memory/table.ts'
import type { Connection } from './connection.ts'
import { BUCKETS, type Keys } from './keys.ts'
import { MINUTE_MS } from './lua-common.ts'

const BEAT_MS = 250
const BEAT_DOWN_MS = 100
/** So long the calendar counts of a member that vanished together with the data are waited for. */
const ABSENT_MS = 600_000

export interface Reset {
  readonly n: string
  readonly g: number
}

export interface MembershipOptions {
  readonly connection: Connection
  readonly keys: Keys
  readonly instance: string
  readonly leaseMs: number
  /** True when counters of an earlier process have been restored: then a server that knows nothing has lost something. */
  readonly history: boolean
  readonly monotonicMs: () => number
  /** Tells everything that is known of the consumers of a bucket; true when all of it was taken. */
  readonly reportAll: (bucket: number) => Promise<boolean>
  readonly onReset: (reset: Reset) => void
  /** Told when Redis begins or ceases to answer. */
  readonly onUp: (up: boolean) => void
  /** By how much tests have moved the clock; moved further when another instance has. */
  readonly clock: Pick<QuotaTable, 'skewMs' | 'advance' | 'unixOffsetMs'>
}

interface Bucket {
  epoch: string
  state: string
  version: number
  admitted: boolean
  reported: string
  members: readonly string[]
  reporting: boolean
}

export class Membership {
  readonly #options: MembershipOptions
  readonly #buckets: Bucket[]
  #up = false
  #closed = false
  #beating: Promise<void> = Promise.resolve()

  constructor(options: MembershipOptions) {
    this.#options = options
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

  /** Whether Redis answered last time. */
  get up(): boolean {
    return this.#up
  }

  /** Epoch to name in a script; '' when this instance has not heard of one. */
  epoch(bucket: number): string {
    return this.#buckets[bucket]!.epoch
  }

  /** Every bucket would grant to this instance. */
  get open(): boolean {
    return this.#up && this.#buckets.every(({ state, admitted }) => state === 'open' && admitted)
  }

  /** An answer has told the time. */
  heard(nowMs: number): void {
    this.#turn(true)
    // Told a moment ago, so never ahead of Redis.
    this.#options.clock.unixOffsetMs = nowMs - this.#options.monotonicMs()
  }

  /** A call has failed: nobody waits for Redis until a beat has been answered. */
  failed(): void {
    this.#turn(false)
  }

  /** A script has named another epoch. */
  async refresh(bucket: number): Promise<void> {
    await this.#beat(bucket)
  }

  /** Every bucket at once: the clock has been moved. */
  async refreshAll(): Promise<void> {
    await Promise.all(this.#buckets.map((_, bucket) => this.#beat(bucket)))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#beating
  }

  #turn(up: boolean): void {
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
    const { connection, keys, instance, history, leaseMs, clock } = this.#options
    try {
      const reply = await connection.quotaBeat(
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
      )
      const movedMs = Number(reply[7])
      if (movedMs > clock.skewMs) clock.advance(movedMs - clock.skewMs)
      this.heard(Number(reply[4]))
      bucket.epoch = String(reply[0])
      bucket.state = String(reply[1])
      bucket.version = Number(reply[2])
      bucket.admitted = Number(reply[3]) === 1
      bucket.members = list<string>(reply[5])
      for (const reset of list<Reset>(reply[6])) this.#options.onReset(reset)
      if (bucket.reported !== bucket.epoch) void this.#report(number)
    } catch {
      this.failed()
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

/** Lua writes an empty list as an empty object. */
function list<T>(json: string | number | undefined): readonly T[] {
  const value: unknown = JSON.parse(String(json))
  return Array.isArray(value) ? value : []
}
