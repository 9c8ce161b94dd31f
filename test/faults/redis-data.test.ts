/** Redis data behind the fault proxy: limits are never exceeded, and calls that were admitted stay counted. */

import { expect } from 'vitest'
import { hasRedis, REDIS_HINT, RedisServer } from '../fixtures/redis-server.ts'
import { clientToken } from '../fixtures/tokens.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { DAILY_LIMIT, fetchIn, prepareSubject } from './subject.ts'
import { REDIS_DATA } from './tables/redis-data.ts'
import { breakProxy, type World } from './world.ts'

async function open(): Promise<World> {
  const redis = await RedisServer.start()
  const proxy = await startFaultProxy(redis.url)
  const subject = await prepareSubject({ env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` } })
  const admin = await clientToken(subject.provider.issuer, 'demo-admin')
  let row = 0
  let limited = ''
  let admitted = 0
  return {
    subject: subject.process,
    dependency: breakProxy(proxy),
    maxCallMs: 1_500,
    async call() {
      const [free, counted] = await Promise.all([subject.callTool('fast'), subject.callTool('fast', limited)])
      if (counted.status === 200) admitted++
      // the limited consumer may be at its limit; what it gets is checked at the end
      return free
    },
    longCall: () => subject.callTool('slow'),
    longCalls: subject.slowCalls,
    isFine: called => called.status === 200,
    see: () => subject.see('quota'),
    async begin() {
      admitted = 0
      limited = await subject.limitedToken(row++)
    },
    async verify() {
      for (let round = 0; round < DAILY_LIMIT + 20; round++)
        if ((await subject.callTool('fast', limited)).status === 200) admitted++
      expect(admitted, 'calls that were admitted on a day').toBeLessThanOrEqual(DAILY_LIMIT)
      const counted = async (): Promise<number> => {
        const id = `limited-${row - 1}`
        const { text } = await fetchIn(`${subject.url}/admin/quotas/${id}`, {
          headers: { authorization: `Bearer ${admin}` },
        })
        return JSON.parse(text).daily_count ?? JSON.parse(text).daily?.count
      }
      await expect.poll(counted, { timeout: 15_000 }).toBeGreaterThanOrEqual(admitted)
    },
    async close() {
      await subject.close()
      await proxy.close()
      await redis.stop()
    },
  }
}

runTable(REDIS_DATA, { skip: hasRedis() ? undefined : REDIS_HINT, open })
