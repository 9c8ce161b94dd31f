/** Opens a connection to Redis for data of pages and users, which few calls need. */
import type { RedisConnection } from '../../net/redis/redis-connection.ts'
import type { RedisTarget } from '../../net/redis/servers.ts'
import type { AppContext } from './app-context.ts'

const OPTIONS = { commandTimeoutMs: 1_000, firstRetryMs: 50, maxRetryMs: 1_000 }

/** @param what is stored there, for the log. @returns the connection, ready unless that takes longer than a command may */
export async function openRedis(
  { closers, log }: AppContext,
  target: RedisTarget,
  what: string,
): Promise<RedisConnection> {
  // loading the driver takes 15 MiB of memory in every thread
  const { openConnection } = await import('../../net/redis/redis-connection.ts')
  const redis = openConnection(target, {
    ...OPTIONS,
    onError: error =>
      log.debug({ reason: error.message }, `the connection to Redis, which stores the ${what}, failed`),
  })
  closers.add(what, () => redis.disconnect())
  // it refuses commands until then
  if (redis.status !== 'ready')
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, OPTIONS.commandTimeoutMs)
      redis.once('ready', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  return redis
}
