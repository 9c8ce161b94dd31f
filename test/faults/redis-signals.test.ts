/** Redis pub/sub behind the fault proxy: a response that another gateway publishes reaches the stream of a session here again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { post, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { ServeProcess } from '../fixtures/planes.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../fixtures/redis-server.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { prepareSubject } from './subject.ts'
import { REDIS_SIGNALS } from './tables/redis-signals.ts'
import { breakProxy, type World } from './world.ts'

const CHANNELS = ['toolgate:session-signals', 'toolgate:quota:reset'] as const

async function open(): Promise<World> {
  const redis = await RedisServer.start()
  const proxy = await startFaultProxy(redis.url)
  proxy.only(/\bsubscribe\b/i)
  const subject = await prepareSubject({ env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` } })
  const [port] = (await freePorts(1)) as [number]
  const other = new ServeProcess({
    ...subject.process.env,
    REDIS_URL: redis.url,
    GATEWAY_NAME: 'other',
    GATEWAY_PORT: String(port),
    METRICS_PORT: '0',
    DATA_DIR: `${subject.root}/other`,
  })
  await other.start()
  const admin = new Redis(redis.url)
  const headers = { authorization: `Bearer ${subject.unlimitedToken}` }
  /** Both gateways listen to both channels. */
  const isSubscribed = async (): Promise<boolean> => {
    const counts = (await admin.pubsub('NUMSUB', ...CHANNELS)) as (string | number)[]
    return Number(counts[1]) >= 2 && Number(counts[3]) >= 2
  }
  return {
    subject: subject.process,
    dependency: breakProxy(proxy),
    maxCallMs: 1_500,
    call: () => subject.callTool('fast', subject.unlimitedToken),
    longCall: () => subject.callTool('slow', subject.unlimitedToken),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    async see() {
      const seen = await subject.see('quota')
      return { ...seen, isDegraded: seen.isDegraded || !(await isSubscribed()) }
    },
    async begin() {},
    async enter({ moment }) {
      // subscribers reconnect and subscribe while the fault lasts
      if (moment === 'subscribing') proxy.reset()
      return async () => {}
    },
    async verify() {
      const response = await fetch(`${subject.url}/mcp`, {
        headers: { ...headers, accept: 'text/event-stream' },
      })
      expect(response.status).toBe(200)
      const events = new EventReader(response)
      const address = (await events.message())!.data
      const path = address.startsWith('http') ? new URL(address).pathname + new URL(address).search : address
      const next = events.message(20_000).catch(() => undefined)
      let received: unknown
      next.then(message => {
        received = message
      })
      // a signal that is published while one side reconnects is lost, as pub/sub is; the next one arrives
      for (const until = performance.now() + 15_000; received === undefined && performance.now() < until; ) {
        await post(`http://127.0.0.1:${port}${path}`, rpc('ping'), subject.unlimitedToken)
        await sleep(250)
      }
      expect(received, 'a message that the other gateway published').toBeDefined()
      await events.close()
    },
    async close() {
      await subject.close()
      await other.end('SIGTERM')
      admin.disconnect()
      await proxy.close()
      await redis.stop()
    },
  }
}

runTable(REDIS_SIGNALS, { skip: hasRedis() ? undefined : REDIS_HINT, open })
