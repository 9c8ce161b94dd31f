/**
 * Instances of the quota store in this thread, on a real Redis. Their requests are recorded, and may be delayed or lost;
 * their clocks and timers advance only in steps of a test and in `open`, so that a slow machine ends no lease. Heartbeats
 * and the clock of Redis run in real time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { vi } from 'vitest'
import type { QuotaGrant, QuotaRefusal, QuotaRequest } from '../../../src/data-plane/quota/quota.ts'
import { BUCKETS, keysUnder } from '../../../src/data-plane/quota/redis/keys.ts'
import { connect, type QuotaConnection } from '../../../src/data-plane/quota/redis/quota-connection.ts'
import {
  openRedisQuota,
  type RedisQuota,
  type RedisQuotaOptions,
} from '../../../src/data-plane/quota/redis/redis-quota.ts'
import type { LeaseReport } from '../../../src/data-plane/quota/redis/report.ts'
import type { PlanLimits } from '../../../src/model/plan.ts'
import type { RedisServer } from '../../fixtures/redis-server.ts'
import { passMidnight } from '../../fixtures/same-day.ts'

/** So long that no lease ends in Redis, whose clock is the real one, before a test does. */
export const LEASE_MS = 60_000
/** Longer than leases, as usual. */
export const MAX_CALL_MS = 1_200_000
/** How often an instance checks its leases. */
const SWEEP_MS = 50
const STEP_MS = 10
const PATIENCE_MS = 20_000

type Values = readonly (string | number)[]

interface Sent {
  readonly script: string
  readonly values: Values
  reply?: Values
}

/** A request for a consumer's units, as `leases-lua.ts` lists its arguments, and the response. */
interface LeaseRequest {
  readonly name: string
  readonly instance: string
  readonly sequence: number
  readonly epoch: string
  readonly report: LeaseReport
  readonly units: number
  /** Limits of second, minute, day, month and calls in flight. */
  readonly limits: readonly number[]
  /** Slots that calls in flight and waiting need, and those requested for them. */
  readonly needed: number
  readonly slots: number
  /** Calls that lacked a unit. */
  readonly lacking: number
  readonly granted: number | undefined
  readonly kind: string | undefined
}

/** A request for a tool's tokens, as `tool-leases-lua.ts` lists its arguments, and the response. */
interface ToolRequest {
  readonly held: number
  readonly returned: number
  readonly wanted: number
  readonly perHour: number
  readonly burst: number
  readonly granted: number | undefined
}

/** What Redis stores of one instance for a consumer: the short names of `leases-lua.ts`. */
interface StoredEntry {
  readonly q: number
  readonly l: number
  readonly b: number
  readonly w: number
  readonly dn: number
  readonly on: number
}

interface Stored {
  readonly g: number
  readonly i: Readonly<Record<string, StoredEntry>>
}

/** Requests of all instances of a deployment: timers are common to them. */
interface Requests {
  inFlight: number
}

export class Instance {
  readonly clock = { ms: 1_000 }
  readonly faults: Error[] = []
  /** Whether Redis was available, whenever that changed. */
  readonly up: boolean[] = []
  readonly sent: Sent[] = []
  readonly quota: RedisQuota
  /** Published messages do not arrive. */
  deaf = false
  readonly #requests: Requests
  #held: Promise<void> | undefined
  #lost: RegExp | undefined

  constructor(options: RedisQuotaOptions, requests: Requests) {
    this.#requests = requests
    this.quota = openRedisQuota({
      consumers: 64,
      toolBuckets: 64,
      threads: 2,
      leaseMs: LEASE_MS,
      maxCallMs: MAX_CALL_MS,
      monotonicMs: () => this.clock.ms,
      onFault: error => this.faults.push(error),
      onStore: up => this.up.push(up),
      connect: (url, onFault) => this.#recorded(connect(url, onFault)),
      ...options,
    })
  }

  #recorded(connection: QuotaConnection): QuotaConnection {
    return {
      ...connection,
      listen: (channel, onMessage) =>
        connection.listen(channel, text => {
          if (!this.deaf) onMessage(text)
        }),
      define: <R>(script: Parameters<QuotaConnection['define']>[0]) => {
        const run = connection.define<R>(script)
        return async (...values: Values): Promise<R> => {
          const entry: Sent = { script: script.name, values }
          this.sent.push(entry)
          if (script.name !== 'quotaBeat') await this.#held
          this.#requests.inFlight++
          try {
            if (this.#lost?.test(script.name)) throw new Error('Connection is closed.')
            const reply = await run(...values)
            entry.reply = reply as unknown as Values
            return reply
          } finally {
            this.#requests.inFlight--
          }
        }
      },
    }
  }

  /** Requests other than heartbeats wait until the returned function is called. */
  hold(): () => void {
    let release = (): void => {}
    this.#held = new Promise(resolve => {
      release = resolve
    })
    return () => {
      this.#held = undefined
      release()
    }
  }

  /** Requests of these scripts fail as without a connection; undefined: none. */
  lose(scripts: RegExp | undefined): void {
    this.#lost = scripts
  }

  /** A call, which ends at once unless calls in flight are limited. */
  async take(key: string, limits: PlanLimits, more: Partial<QuotaRequest> = {}) {
    const taken = await this.quota.take({ key, limits, nowMs: Date.now(), ...more })
    return ended(taken, limits)
  }

  /** @returns undefined when the call has to wait */
  takeAtOnce(key: string, limits: PlanLimits, more: Partial<QuotaRequest> = {}) {
    const taken = this.quota.take({ key, limits, nowMs: Date.now(), ...more })
    return taken instanceof Promise ? undefined : ended(taken, limits)
  }

  /** The clock jumps; then the regular tasks run once, and their requests get their responses. */
  async pass(ms: number): Promise<void> {
    this.clock.ms += ms
    await this.#runTimers(SWEEP_MS)
  }

  /** As `pass`, with the timers that are due on the way. */
  async run(ms: number): Promise<void> {
    await this.#runTimers(ms, STEP_MS)
  }

  /** In steps shorter than the time that a request may take, so that none fails. */
  async #runTimers(ms: number, clockMs = 0): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      this.clock.ms += clockMs
      vi.advanceTimersByTime(STEP_MS)
      await this.settled()
    }
  }

  /** Resolves when no request of any instance is in flight. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet = this.#requests.inFlight === 0 ? quiet + 1 : 0)
      await new Promise(resolve => setImmediate(resolve))
  }

  leases(name?: string): LeaseRequest[] {
    const requests = this.#values('quotaLease').map(({ values, reply }) => ({
      name: String(values[11]),
      instance: String(values[3]),
      sequence: Number(values[4]),
      epoch: String(values[5]),
      report: JSON.parse(String(values[6])) as LeaseReport,
      units: Number(values[7]),
      limits: JSON.parse(String(values[9])) as number[],
      needed: Number(values[10]),
      slots: Number(values[14]),
      lacking: Number(values[16]),
      granted: reply?.[0] === 'ok' ? Number(reply[1]) : undefined,
      kind: reply?.[0] === 'ok' ? String(reply[7]) : undefined,
    }))
    return name === undefined ? requests : requests.filter(request => request.name === name)
  }

  tools(): ToolRequest[] {
    return this.#values('quotaTool').map(({ values, reply }) => ({
      held: Number(values[5]),
      returned: Number(values[6]),
      wanted: Number(values[7]),
      perHour: Number(values[9]),
      burst: Number(values[10]),
      granted: reply?.[0] === 'ok' ? Number(reply[1]) : undefined,
    }))
  }

  /** Arguments of the heartbeats of the first bucket, from the instance on. */
  beats(): Values[] {
    return this.#values('quotaBeat')
      .filter(({ values }) => String(values[0]).includes(':0}'))
      .map(({ values }) => values.slice(1))
  }

  #values(script: string): Sent[] {
    return this.sent.filter(entry => entry.script === script)
  }
}

function ended(taken: QuotaGrant | QuotaRefusal, limits: PlanLimits): QuotaGrant | QuotaRefusal {
  if (taken.granted && limits.burst === undefined) taken.release()
  return taken
}

/** For what arrives without a request, such as a published message. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error(`not true after ${PATIENCE_MS} ms: ${condition}`)
    await sleep(1)
  }
}

/** One deployment under its own prefix; Redis grants units to its instances from the first heartbeat. */
export class Deployment {
  readonly #server: RedisServer
  readonly #redis: Redis
  readonly #instances: Instance[] = []
  readonly #requests: Requests = { inFlight: 0 }
  readonly prefix: string

  private constructor(server: RedisServer, redis: Redis, prefix: string) {
    this.#server = server
    this.#redis = redis
    this.prefix = prefix
  }

  /** Timers are fake from now on, until `close`. */
  static async begin(server: RedisServer, prefix: string): Promise<Deployment> {
    await passMidnight(20_000)
    vi.useFakeTimers({
      toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'],
    })
    const deployment = new Deployment(server, new Redis(server.url), prefix)
    await deployment.beginEpoch(1)
    return deployment
  }

  /** Stores the records of a deployment that has run for long, at once: a new one would wait 1.5 s for instances of before. */
  async beginEpoch(epoch: number): Promise<void> {
    const run = /run_id:(\w+)/.exec(await this.#redis.info('server'))![1]!
    const record = {
      id: `epoch-${epoch}`,
      run,
      since: 0,
      ver: 0,
      members: {},
      resets: [],
      held: 0,
      skew: 0,
      state: 'open',
    }
    const keys = Array.from({ length: BUCKETS }, (_, bucket) => keysUnder(this.prefix).epoch(bucket))
    await this.#redis.mset(Object.fromEntries(keys.map(key => [key, JSON.stringify(record)])))
  }

  async open(options: Partial<RedisQuotaOptions> = {}): Promise<Instance> {
    const instance = new Instance(
      { redis: this.#server.url, keyPrefix: this.prefix, ...options },
      this.#requests,
    )
    this.#instances.push(instance)
    let ready = false
    void instance.quota.ready.then(() => {
      ready = true
    })
    // an instance is granted units once the others have learned of it by their heartbeats
    while (!ready) {
      if (this.#requests.inFlight === 0) for (const other of this.#instances) other.quota.advance(0)
      // a connection that failed is opened again by a timer
      vi.advanceTimersByTime(1)
      await sleep(2)
    }
    await instance.settled()
    instance.up.splice(0, instance.up.length, true)
    return instance
  }

  /** What Redis stores for a consumer. */
  async stored(name: string): Promise<Stored> {
    const script = "return cjson.encode(cmsgpack.unpack(redis.call('GET', KEYS[1])))"
    return JSON.parse(String(await this.#redis.eval(script, 1, keysUnder(this.prefix).consumer(name))))
  }

  /** What Redis stores of the only instance that knows a consumer. */
  async entry(name: string): Promise<StoredEntry> {
    const entries = Object.values((await this.stored(name)).i)
    if (entries.length !== 1) throw new Error(`${name} is known to ${entries.length} instances`)
    return entries[0]!
  }

  /** The epoch record of a consumer's bucket; null when it is lost. */
  async record(name: string): Promise<{ readonly id: string; readonly state: string } | null> {
    const keys = keysUnder(this.prefix)
    return JSON.parse((await this.#redis.get(keys.epoch(keys.bucketOf(name)))) ?? 'null')
  }

  /** All data of the deployment are lost, at once: a heartbeat in between would begin an epoch that is then lost as well. */
  async lose(): Promise<void> {
    const script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end"
    await this.#redis.eval(script, 0, `${this.prefix}:*`)
  }

  /** The data of a consumer are lost, and the epoch records are not: a heartbeat would begin another epoch without them. */
  async loseConsumer(name: string): Promise<void> {
    await this.#redis.del(keysUnder(this.prefix).consumer(name))
  }

  /** Ends the instances without waiting for their last heartbeat. */
  close(): void {
    for (const { quota } of this.#instances) void quota.close()
    this.#redis.disconnect()
    vi.useRealTimers()
  }
}
