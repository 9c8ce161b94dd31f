/** Marks on the sessions of pages in Redis, each with its own expiry. */
import type { RedisConnection } from './redis-connection.ts'

const PREFIX = 'toolgate:session-mark:'

/** The marks that `console/session-marks.ts` describes. @param now Unix ms */
export function redisMarks(redis: RedisConnection, now: () => number) {
  return {
    put: async (mark: string, untilMs: number): Promise<boolean> =>
      (await redis.set(PREFIX + mark, '1', 'PX', Math.max(1, Math.ceil(untilMs - now())), 'NX')) === 'OK',
    has: async (mark: string): Promise<boolean> => (await redis.exists(PREFIX + mark)) === 1,
  }
}
