/** Chooses where a gateway stores the marks on sessions of its pages, and logs tokens of ended sessions that are not revoked. */
import { join } from 'node:path'
import { fileMarks } from '../../console/file-marks.ts'
import type { SessionMarks } from '../../console/session-marks.ts'
import type { ReportUnrevoked } from '../../console/token-revocation.ts'
import type { RedisTarget } from '../../net/redis/servers.ts'
import type { AppContext } from './app-context.ts'
import { openRedis } from './open-redis.ts'

/** Valid in all threads, and on all instances that share Redis; opened when they are first needed. */
export function gatewayMarks(context: AppContext): SessionMarks {
  const { settings, clock } = context
  const { redis: target, dataDir } = settings
  if (target === undefined) return fileMarks(join(dataDir, 'session-marks'), clock.now)
  let opening: Promise<SessionMarks> | undefined
  function open(): Promise<SessionMarks> {
    opening ??= openRedisMarks(context, target!)
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }
  return {
    put: async (mark, untilMs) => (await open()).put(mark, untilMs),
    has: async mark => (await open()).has(mark),
  }
}

/** The token is in no cookie that is still accepted. */
export function reportUnrevoked({ log }: AppContext): ReportUnrevoked {
  return (reason, isTriedAgain) =>
    log.warn(
      { reason },
      isTriedAgain
        ? 'a session has ended, but the identity provider has not revoked its refresh token yet; the process tries again'
        : 'a session has ended, but the identity provider has not revoked its refresh token; it stays valid there until it expires',
    )
}

async function openRedisMarks(context: AppContext, target: RedisTarget): Promise<SessionMarks> {
  const { redisMarks } = await import('../../net/redis/session-marks.ts')
  return redisMarks(await openRedis(context, target, 'marks on sessions'), context.clock.now)
}
