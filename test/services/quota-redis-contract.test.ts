/** The quota contract on a real Redis. */
import { openRedisQuota } from '../../src/quota/redis/redis-quota.ts'
import { quotaContract } from '../contract/quota/quota-contract.ts'
import { REDIS_HINT, RedisServer, withoutRedis } from './redis/redis-server.ts'

quotaContract(
  `redis${REDIS_HINT}`,
  async () => {
    const server = await RedisServer.start()
    const quota = openRedisQuota({ url: server.url, consumers: 256, toolBuckets: 64 })
    await quota.ready
    return {
      quota,
      async close() {
        await quota.close()
        await server.stop()
      },
    }
  },
  { skip: withoutRedis },
)
