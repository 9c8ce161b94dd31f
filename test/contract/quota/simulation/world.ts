/**
 * Instances of the quota store on a simulated clock and network. Their code is the real one; their Lua scripts run in a real
 * Redis, with TIME, run id and PUBLISH replaced. A seed decides when messages arrive and which are lost; tests cause other faults.
 */
import type { Redis } from 'ioredis'
import { vi } from 'vitest'
import { keysUnder } from '../../../../src/data-plane/quota/redis/keys.ts'
import type {
  QuotaConnection,
  RunScript,
  Script,
} from '../../../../src/data-plane/quota/redis/quota-connection.ts'
import { openRedisQuota, type RedisQuota } from '../../../../src/data-plane/quota/redis/redis-quota.ts'

export const CONSUMER = 'tenant/consumer'
export const LEASE_MS = 500
export const MAX_CALL_MS = 1_500
const TIMEOUT_MS = 40
const STEP_MS = 2
/** 2026-03-10 12:00:00 UTC. */
const START_MS = Date.UTC(2026, 2, 10, 12)
const BUCKET = keysUnder('').bucketOf(CONSUMER)
const CLOCK = "redis.call('TIME')"
const RUN = "string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')"

/** Deterministic random numbers from 0 to 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One process: its place on the network, and the quotas in it. */
export interface Node {
  readonly id: string
  readonly incarnation: number
  quota: RedisQuota
  alive: boolean
  /** Virtual ms until which its messages are lost. */
  cutUntilMs: number
  onMessage: (text: string) => void
}

/** The instance that is being opened, for the mock of its identity. */
export const current: { opening?: Node } = {}

export class World {
  nowMs = 0
  readonly random: () => number
  readonly nodes: Node[] = []
  /** Messages take up to this. */
  maxDelayMs = 1
  /** Part of the messages that are lost. */
  loss = 0
  requests = 0
  readonly #redis: Redis
  #run = 1
  #over = false
  #executing: Promise<void>[] = []
  #copy = new Map<string, Buffer>()

  constructor(redis: Redis, seed: number) {
    this.#redis = redis
    this.random = randomOf(seed)
  }

  /** Opens an instance, which is `ready` once the others know it; the first of a deployment waits 1.5 s, with `distrustEmpty` longer. */
  open(id: string, incarnation: number, distrustEmpty = false, leaseMs = LEASE_MS): Node {
    const node: Node = {
      id,
      incarnation,
      quota: undefined as unknown as RedisQuota,
      alive: true,
      cutUntilMs: 0,
      onMessage: () => {},
    }
    current.opening = node
    // clocks of instances differ
    const offsetMs = 1_000 + Math.floor(this.random() * 1e6)
    node.quota = openRedisQuota({
      redis: id,
      consumers: 4,
      toolBuckets: 4,
      leaseMs,
      maxCallMs: MAX_CALL_MS,
      distrustEmpty,
      monotonicMs: () => this.nowMs + offsetMs,
      connect: () => this.#connectionOf(node),
    })
    this.nodes.push(node)
    return node
  }

  #connectionOf(node: Node): QuotaConnection {
    return {
      define: <R>({ name, keys, lua }: Script): RunScript<R> => {
        const text = lua
          .replaceAll(CLOCK, '{ ARGV[#ARGV - 2], ARGV[#ARGV - 1] }')
          .replaceAll(RUN, 'ARGV[#ARGV]')
          .replaceAll("'PUBLISH'", "'RPUSH'")
        return (...all) => this.#send(node, name, keys, text, all) as Promise<R>
      },
      zrange: async () => [],
      listen: (_channel, onMessage) => {
        node.onMessage = onMessage
      },
      close: () => {},
    }
  }

  /** Advances the clock; everything due happens. */
  async run(forMs: number, each: () => void = () => {}): Promise<void> {
    for (const endMs = this.nowMs + forMs; this.nowMs < endMs; ) {
      this.nowMs += STEP_MS
      vi.advanceTimersByTime(STEP_MS)
      each()
      do {
        await Promise.all(this.#executing.splice(0))
        await new Promise(resolve => setImmediate(resolve))
      } while (this.#executing.length > 0)
    }
  }

  /** All data are lost; also the process of Redis when `restart`. */
  async lose(restart: boolean): Promise<void> {
    await this.#redis.flushdb()
    if (restart) this.#run++
  }

  async copy(): Promise<void> {
    this.#copy.clear()
    for (const key of await this.#redis.keys('*')) {
      const value = await this.#redis.dumpBuffer(key)
      if (value !== null) this.#copy.set(key, value)
    }
  }

  /** A replica takes over that has the data of the last copy. */
  async failOver(): Promise<void> {
    await this.lose(true)
    for (const [key, value] of this.#copy) await this.#redis.restore(key, 0, value)
  }

  after(ms: number, run: () => void): void {
    setTimeout(() => {
      if (!this.#over) run()
    }, ms)
  }

  async end(): Promise<void> {
    for (const node of this.nodes) node.alive = false
    let isClosed = false
    const closing = Promise.all(this.nodes.map(node => node.quota.close())).finally(() => {
      isClosed = true
    })
    // instances repeat their last report while Redis does not respond
    while (!isClosed) await this.run(100)
    await closing
    this.#over = true
  }

  #delay(): number {
    return this.random() * this.maxDelayMs
  }

  #lost(node: Node): boolean {
    return !node.alive || this.nowMs < node.cutUntilMs || this.random() < this.loss
  }

  #send(node: Node, name: string, keys: number, lua: string, all: readonly (string | number)[]) {
    // the other buckets have no consumers here
    if (name === 'quotaBeat' && !String(all[0]).includes(`:${BUCKET}}`))
      return Promise.resolve(['e', 'open', 1, 1, START_MS + this.nowMs, '[]', '[]', 0])
    // only calls in flight are judged over a loss of data, so rolling windows need not be waited for
    const values = name === 'quotaBeat' ? all.map((value, i) => (i === 7 ? MAX_CALL_MS : value)) : all
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('Command timed out')), TIMEOUT_MS)
      if (this.#lost(node)) return
      this.after(this.#delay(), () => {
        this.requests++
        const at = START_MS + Math.floor(this.nowMs)
        const time = [Math.floor(at / 1000), (at % 1000) * 1000, `run${this.#run}`]
        this.#executing.push(
          this.#execute(lua, keys, [...values, ...time]).then(reply => {
            if (this.#lost(node)) return
            this.after(this.#delay(), () => {
              clearTimeout(timer)
              resolve(reply)
            })
          }),
        )
      })
    })
  }

  async #execute(lua: string, keys: number, values: readonly (string | number)[]): Promise<unknown> {
    const channel = keysUnder('toolgate:quota').channel
    const replies = await this.#redis
      .pipeline()
      .eval(lua, keys, ...values)
      .lrange(channel, 0, -1)
      .del(channel)
      .exec()
    const [[error, reply], [, published]] = replies as [[Error | null, unknown], [null, string[]], unknown]
    if (error !== null) throw error
    for (const text of published)
      for (const node of this.nodes)
        if (!this.#lost(node)) this.after(this.#delay(), () => node.alive && node.onMessage(text))
    return reply
  }
}
