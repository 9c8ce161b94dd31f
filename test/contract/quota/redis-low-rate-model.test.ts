/** Few calls over several simulated instances: the share decided without waiting for Redis, and never more grants in a minute than a limit per minute. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { keysUnder } from '../../../src/data-plane/quota/redis/keys.ts'
import type { PlanLimits } from '../../../src/model/plan.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { maxInWindow } from '../../unit/data-plane/kernel/window/oracle.ts'
import { CONSUMER, current, type Node, World } from './simulation/world.ts'

vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise(resolve => setTimeout(resolve, ms)),
}))
vi.mock('../../../src/data-plane/quota/redis/instance.ts', () => ({
  instanceIn: () => ({ id: current.opening!.id, incarnation: current.opening!.incarnation }),
}))

/** The default of a deployment. */
const LEASE_MS = 2_000
const INSTANCES = 4
/** Long enough that the first units of a rolling minute return. */
const SECONDS = Number(process.env.MODEL_SECONDS ?? 65)
/** The first call of each instance has to wait. */
const WARM_UP_MS = 5_000

const { bucketOf } = keysUnder('')

/** A name in the bucket of the simulation. */
function named(name: string): string {
  for (let n = 0; ; n++) if (bucketOf(`${name}-${n}`) === bucketOf(CONSUMER)) return `${name}-${n}`
}

interface Load {
  readonly key: string
  readonly limits: PlanLimits
  /** For all instances together, at random times. */
  readonly callsPerMinute: number
  readonly holdMs: number
}

/** A run begins at noon, so all of it is on one day. Each call holds its slot equally long. */
function expectWithinLimits({ key, limits, holdMs }: Load, times: readonly number[]): void {
  const used = {
    perSecond: maxInWindow(times, 1_000),
    perMinute: maxInWindow(times, 60_000),
    perDay: times.length,
    burst: maxInWindow(times, holdMs),
  }
  for (const [limit, count] of Object.entries(used))
    expect(count, `${limit} of ${key}`).toBeLessThanOrEqual(
      limits[limit as keyof typeof used] ?? Number.POSITIVE_INFINITY,
    )
}

describe.skipIf(!hasRedis())(`few calls over ${INSTANCES} simulated instances (${REDIS_HINT})`, () => {
  let server: RedisServer
  let redis: Redis
  beforeAll(async () => {
    server = await RedisServer.start()
    redis = new Redis(server.url)
    await redis.ping()
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
    })
  })
  afterAll(async () => {
    vi.useRealTimers()
    redis.disconnect()
    await server.stop()
  })
  beforeEach(async () => {
    await redis.flushdb()
    // a server that was emptied is distrusted, a new one is not
    await redis.config('RESETSTAT')
  })

  async function run(loads: readonly Load[]) {
    const world = new World(redis, 5)
    for (let i = 0; i < INSTANCES; i++) world.open(`node${i}`, 1, false, LEASE_MS)
    await world.run(2_500)
    const endMs = world.nowMs + WARM_UP_MS + SECONDS * 1_000
    let calls = 0
    /** Virtual ms of each grant. */
    const granted = new Map<string, number[]>()
    const unavailable: string[] = []
    const waited = () => world.nodes.reduce((sum, { quota }) => sum + quota.health().waited, 0)

    function call(node: Node, { key, limits, holdMs }: Load): void {
      calls++
      void Promise.resolve(node.quota.take({ key, limits, nowMs: Date.now() })).then(response => {
        if (response.granted) {
          const times = granted.get(key) ?? []
          granted.set(key, times)
          times.push(world.nowMs)
          world.after(holdMs, () => response.release())
        } else if (response.cause !== undefined) unavailable.push(response.cause)
      })
    }
    function repeat(node: Node, load: Load): void {
      const meanMs = (60_000 * INSTANCES) / load.callsPerMinute
      world.after(-Math.log(1 - world.random()) * meanMs, () => {
        if (world.nowMs >= endMs) return
        call(node, load)
        repeat(node, load)
      })
    }
    for (const node of world.nodes) for (const load of loads) repeat(node, load)
    await world.run(WARM_UP_MS)
    const before = { calls, waited: waited(), requests: world.requests }
    await world.run(SECONDS * 1_000 + 500)
    const local = 1 - (waited() - before.waited) / (calls - before.calls)
    const requestsPerSecond = (world.requests - before.requests) / SECONDS
    await world.end()
    expect(unavailable).toEqual([])
    return { calls: calls - before.calls, granted, local, requestsPerSecond }
  }

  const AT_300 = { key: CONSUMER, callsPerMinute: 300, holdMs: 100 }

  test.each<[string, number, readonly Load[]]>([
    ['300 a minute, far from the limit', 0.95, [{ ...AT_300, limits: { perMinute: 3_000 } }]],
    ['300 a minute, which is the limit', 0.95, [{ ...AT_300, limits: { perMinute: 300 } }]],
    // each unit is granted by itself
    ['300 a minute, three times the limit', 0.95, [{ ...AT_300, limits: { perMinute: 100 } }]],
    ['300 a minute of a day that is used up', 0.95, [{ ...AT_300, limits: { perDay: 150 } }]],
    ['300 a minute with ten at once', 0.95, [{ ...AT_300, limits: { perMinute: 3_000, burst: 10 } }]],
    [
      'a mixed load',
      0.95,
      [
        {
          key: named('busy'),
          callsPerMinute: 3_000,
          limits: { perSecond: 100, perDay: 100_000 },
          holdMs: 50,
        },
        { key: named('usual'), callsPerMinute: 300, limits: { perMinute: 600, burst: 20 }, holdMs: 150 },
        { key: named('small'), callsPerMinute: 60, limits: { perMinute: 100, perDay: 1_000 }, holdMs: 50 },
        { key: named('rare'), callsPerMinute: 12, limits: { perDay: 500 }, holdMs: 50 },
      ],
    ],
  ])(
    '%s',
    async (name, least, loads) => {
      const { calls, granted, local, requestsPerSecond } = await run(loads)
      console.log(
        `${name}: ${calls} calls, ${(local * 100).toFixed(1)} % decided without waiting, ${requestsPerSecond.toFixed(1)} requests/s to Redis, granted ${loads.map(({ key }) => granted.get(key)!.length)}`,
      )
      for (const load of loads) expectWithinLimits(load, granted.get(load.key)!)
      expect(local).toBeGreaterThanOrEqual(least)
    },
    300_000,
  )
})
