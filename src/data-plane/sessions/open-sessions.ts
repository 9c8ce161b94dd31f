/** Opens the sessions of a deployment, in memory or in Redis, with their keys and the store of sessions with MCP servers. */
import { join } from 'node:path'
import type { OnDamage } from '../../base/fs/damage.ts'
import { FileServerSessions } from '../../mcp/client/file-server-sessions.ts'
import type { ServerSessionStore } from '../../mcp/client/server-session-store.ts'
import type { RedisTarget } from '../../net/redis/servers.ts'
import type { Log } from '../../telemetry/log.ts'
import { fileKeyRing, reportUnsavedKeys } from './key-ring.ts'
import { MemorySessionStore } from './memory/store.ts'
import type { OpenedSessions } from './opened-sessions.ts'

export interface SessionOptions {
  readonly dataDir: string
  readonly redis: RedisTarget | undefined
  readonly ttlMs: number
  readonly max: number
  readonly log: Log
  readonly onDamage: OnDamage
  /** Unix ms. */
  readonly now?: () => number
}

const SWEEP_FILES_MS = 600_000
/** The threads that use a session with an MCP server end it when it was idle as long as a session may be: it must be stored then. */
const SERVER_SESSION_MARGIN_MS = 120_000

export async function openSessions(options: SessionOptions): Promise<OpenedSessions> {
  const { dataDir, redis, ttlMs, max, log, now = Date.now } = options
  const own = fileKeyRing(
    join(dataDir, 'session-keys.json'),
    Date.now,
    options.onDamage,
    reportUnsavedKeys(log),
  )
  if (redis === undefined) {
    return {
      keys: own,
      servers: fileServerSessions(options),
      sessions: new MemorySessionStore({ keys: own, ttlMs, maxSessions: max, now }),
    }
  }
  // loading the driver takes 15 MiB of memory in every thread
  const { openRedisSessions } = await import('./redis/open-redis-sessions.ts')
  return openRedisSessions({
    target: redis,
    own,
    ttlMs,
    serverTtlMs: ttlMs + SERVER_SESSION_MARGIN_MS,
    log,
    now,
  })
}

/** For every thread of a process without Redis. */
export function fileServerSessions({
  dataDir,
  ttlMs,
  now = Date.now,
}: Pick<SessionOptions, 'dataDir' | 'ttlMs' | 'now'>): ServerSessionStore {
  const directory = join(dataDir, 'server-sessions')
  const sessions = new FileServerSessions({ directory, ttlMs: ttlMs + SERVER_SESSION_MARGIN_MS, now })
  setInterval(() => void sessions.sweep(), SWEEP_FILES_MS).unref()
  return sessions
}
