/** The key ring that all instances share, kept in Redis. While Redis is unavailable, the cached keys continue to sign. */
import { freshKey, isStale, type KeyRing, type RingKey, readRing, writeRing } from '../key-ring.ts'
import type { RedisConnection } from './connection.ts'

const KEY = 'toolgate:{session-keys}'
const REFRESH_MS = 30_000

/** Sets the ring only if it is unchanged since the caller read it: of two instances that rotate at once, one succeeds. */
const COMPARE_AND_SET = `
if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2])
  return ARGV[2]
end
return redis.call('GET', KEYS[1])`

export interface RedisKeyRing extends KeyRing {
  /** Resolves when the shared ring has been read once, or Redis could not be reached. */
  readonly ready: Promise<void>
  close(): void
}

/** @param fallback signs until the shared ring has been read once */
export function redisKeyRing(
  redis: RedisConnection,
  fallback: KeyRing,
  now: () => number = Date.now,
): RedisKeyRing {
  let keys: RingKey[] = []
  async function refresh(): Promise<void> {
    try {
      const text = (await redis.get(KEY)) ?? ''
      keys = readRing(text)
      if (!isStale(keys[0], now())) return
      const wanted = writeRing([freshKey(keys[0], now()), ...keys])
      keys = readRing(String(await redis.eval(COMPARE_AND_SET, 1, KEY, text, wanted)))
    } catch {
      // the next round tries again
    }
  }
  const timer = setInterval(() => void refresh(), REFRESH_MS).unref()
  const connected =
    redis.status === 'ready'
      ? Promise.resolve()
      : new Promise<void>(resolve => redis.once('ready', () => resolve()))
  const ready = Promise.race([
    connected,
    new Promise<void>(resolve => setTimeout(resolve, 1000).unref()),
  ]).then(refresh)
  redis.on('ready', () => void refresh())
  return {
    ready,
    current: () => keys[0] ?? fallback.current(),
    find: id => keys.find(key => key.id === id) ?? fallback.find(id),
    close: () => clearInterval(timer),
  }
}
