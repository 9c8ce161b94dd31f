/** Calls in flight over simulated instances with crashes, partitions, late and lost messages and loss of data in Redis: never above the limit, and nearly all of it without faults. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { sized } from '../../fixtures/check.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { CONSUMER, current, LEASE_MS, MAX_CALL_MS, type Node, randomOf, World } from './simulation/world.ts'

vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise(resolve => setTimeout(resolve, ms)),
}))
vi.mock('../../../src/data-plane/quota/redis/instance.ts', () => ({
  instanceIn: () => ({ id: current.opening!.id, incarnation: current.opening!.incarnation }),
}))

const SEEDS = Number(process.env.MODEL_RUNS ?? sized(8, 20))
const FIRST = Number(process.env.MODEL_SEED ?? 1)

/** The backend: calls run on when the process that sent them ends. */
class Backend {
  inside = 0
  max = 0
  busyMs = 0
  granted = 0
  refused = 0

  readonly world: World
  readonly limit: number

  constructor(world: World, limit: number) {
    this.world = world
    this.limit = limit
  }

  call(node: Node, durationMs: number, onEnd: (granted: boolean) => void = () => {}): void {
    if (!node.alive) return
    const limits = { burst: this.limit }
    const taken = node.quota.take({ key: CONSUMER, limits, nowMs: Date.now() })
    const settle = (grant: Awaited<typeof taken>): void => {
      if (!grant.granted) {
        this.refused++
        return onEnd(false)
      }
      // the process may have ended while the call waited
      if (!node.alive) return
      this.granted++
      this.inside++
      this.max = Math.max(this.max, this.inside)
      this.world.after(durationMs, () => {
        this.inside--
        this.busyMs += durationMs
        if (node.alive) grant.release()
        onEnd(true)
      })
    }
    if (taken instanceof Promise) void taken.then(settle)
    else settle(taken)
  }

  /** Calls one after another with a pause between them; a refused one is repeated shortly after. */
  saturate(
    node: Node,
    clients: number,
    durationOf: () => number,
    untilMs: number,
    pauseOf: () => number = () => 1,
  ): void {
    const next = (): void => {
      if (!node.alive || this.world.nowMs >= untilMs) return
      this.call(node, durationOf(), granted => this.world.after(granted ? pauseOf() : 10, next))
    }
    for (let client = 0; client < clients; client++) next()
  }
}

describe.skipIf(!hasRedis())(`slots of simulated instances (${REDIS_HINT})`, () => {
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

  async function faultRun(seed: number): Promise<Backend> {
    await redis.flushdb()
    const world = new World(redis, seed)
    const { random } = world
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const limit = 1 + Math.floor(random() * 8)
    const backend = new Backend(world, limit)
    let count = 1 + Math.floor(random() * 3)
    const durationOf = () => (random() < 0.3 ? random() * MAX_CALL_MS : 20 + random() * 200)
    const endMs = 16_000
    const start = (id: string, incarnation: number): void => {
      if (world.nowMs >= endMs) return
      const node = world.open(id, incarnation, true)
      const clients = 1 + Math.floor(random() * 6)
      const maxPauseMs = random() < 0.5 ? 1 : random() * 600
      const pauseOf = () => random() * maxPauseMs
      world.after(random() * 50, () => backend.saturate(node, clients, durationOf, endMs, pauseOf))
    }
    const nodes = count
    for (let i = 0; i < nodes; i++) start(`node${i}`, 1)
    world.maxDelayMs = 1 + random() * 8
    world.loss = random() < 0.3 ? random() * 0.1 : 0
    await world.run(5_000)
    const alive = () => world.nodes.filter(node => node.alive)
    const faults = [
      () => {
        if (alive().length === 0) return
        const node = pick(alive())
        node.alive = false
        const sameDisk = random() < 0.5 || alive().length === 0
        world.after(random() < 0.5 ? random() * 100 : random() * 3_000, () =>
          sameDisk ? start(node.id, node.incarnation + 1) : start(`node${count++}`, 1),
        )
      },
      () => {
        pick(world.nodes).cutUntilMs = world.nowMs + random() * 7_000
      },
      () => {
        const before = world.maxDelayMs
        world.maxDelayMs = 60
        world.after(random() * 1_000, () => {
          world.maxDelayMs = before
        })
      },
      () => {
        for (const node of world.nodes) node.cutUntilMs = world.nowMs + random() * 1_000
      },
    ]
    const losses = [() => world.lose(false), () => world.lose(true), () => world.failOver()]
    while (world.nowMs < endMs) {
      if (random() < 0.3) await world.copy()
      await world.run(300 + random() * 2_000)
      if (random() < 0.85) pick(faults)()
      else await pick(losses)()
    }
    await world.run(300)
    await world.end()
    return backend
  }

  test(`${SEEDS} runs with faults: never more calls at once than the limit`, async () => {
    let granted = 0
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const backend = await faultRun(seed)
      granted += backend.granted
      expect(backend.max, `seed ${seed}, limit ${backend.limit}`).toBeLessThanOrEqual(backend.limit)
    }
    console.log(`${SEEDS} runs with faults, ${granted} calls granted, never above the limit`)
    expect(granted).toBeGreaterThan(SEEDS * 20)
  }, 1_800_000)

  test.each([
    [1, 4, [6]],
    [2, 4, [6, 6]],
    [3, 4, [6, 6, 6]],
    [2, 4, [6, 1]],
    [3, 10, [12, 3, 1]],
    [3, 2, [6, 6, 6]],
    [4, 40, [50, 20, 10, 1]],
  ])(
    '%i instances use at least 95 percent of %i, with %j clients',
    async (count, limit, clients) => {
      const world = new World(redis, 7)
      const backend = new Backend(world, limit)
      for (let i = 0; i < count; i++) world.open(`node${i}`, 1)
      await world.run(2_500)
      const endMs = world.nowMs + 11_000
      world.nodes.forEach((node, i) => {
        backend.saturate(node, clients[i]!, () => 150, endMs)
      })
      await world.run(1_000)
      backend.busyMs = 0
      const waitedBefore = world.nodes.reduce((sum, { quota }) => sum + quota.health().waited, 0)
      const { requests, granted } = { requests: world.requests, granted: backend.granted }
      await world.run(10_000)
      const used = backend.busyMs / (10_000 * limit)
      const waited = world.nodes.reduce((sum, { quota }) => sum + quota.health().waited, 0) - waitedBefore
      console.log(
        `${count} instances, burst ${limit}, clients ${clients}: ${(used * 100).toFixed(1)} % used, ${backend.granted - granted} granted, ${waited} waited for Redis, ${((world.requests - requests) / 10).toFixed(0)} requests/s to Redis`,
      )
      expect(backend.max).toBeLessThanOrEqual(limit)
      expect(used).toBeGreaterThanOrEqual(0.95)
      await world.end()
    },
    300_000,
  )

  test('slots that another instance holds idle arrive within tens of milliseconds', async () => {
    const world = new World(redis, 3)
    const backend = new Backend(world, 4)
    const [one, two] = [world.open('one', 1), world.open('two', 1)]
    await world.run(2_500)
    backend.saturate(one, 4, () => 50, world.nowMs + 500)
    await world.run(700)
    const begunMs = world.nowMs
    let firstMs = 0
    const durationOf = () => 5_000
    backend.saturate(two, 4, durationOf, begunMs + 400)
    await world.run(400, () => {
      if (firstMs === 0 && backend.inside === 4) firstMs = world.nowMs - begunMs
    })
    expect(firstMs).toBeGreaterThan(0)
    expect(firstMs).toBeLessThan(100)
    expect(LEASE_MS).toBeGreaterThan(firstMs)
    await world.end()
  }, 60_000)

  test('the random numbers repeat', () => {
    expect(randomOf(5)()).toBe(randomOf(5)())
  })
})
