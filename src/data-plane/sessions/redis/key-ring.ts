/** The key ring that instances share in Redis: reads, rotates and stores it, with a fallback until it has been read. */
import { Backoff } from '../../../base/async/backoff.ts'
import { freshKey, isStale, type KeyRing, type RingKey, readRing, writeRing } from '../key-ring.ts'
import type { RedisConnection } from './session-connection.ts'

const KEY = 'toolgate:{session-keys}'
const REFRESH_MS = 30_000
const BACKOFF = { firstMs: 50, maxMs: 1_000 }
/** Minimum time between two reads in an instance because of ids that no key has signed. */
const MIN_REREAD_MS = 1_000
/** A start does not wait longer for Redis. */
const MAX_START_MS = 1_000

/** Sets the ring only if it is unchanged since the caller read it: of two instances that rotate at once, one succeeds. */
const COMPARE_AND_SET = `
if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2])
  return ARGV[2]
end
return redis.call('GET', KEYS[1])`

export interface RedisKeyRing extends KeyRing {
  /** Resolves when the shared ring has been read once, after a second at the latest. */
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
  let timer: NodeJS.Timeout | undefined
  let closed = false
  /** Monotonic, of the last read; undefined before the first. */
  let readAtMs: number | undefined
  let rereading: Promise<boolean> | undefined
  let onRead: () => void = () => {}
  const read = new Promise<void>(resolve => {
    onRead = resolve
  })
  const backoff = new Backoff(BACKOFF)

  async function exchange(): Promise<void> {
    const text = (await redis.get(KEY)) ?? ''
    const stored = readRing(text) ?? []
    // a server that restarted empty gets the cached keys again: the sessions that they signed stay valid
    const known = stored.length > 0 ? stored : keys
    const stale = isStale(known[0], now())
    if (stored.length > 0 && !stale) keys = stored
    else {
      const wanted = writeRing(stale ? [freshKey(known[0], now()), ...known] : known)
      keys = readRing(String(await redis.eval(COMPARE_AND_SET, 1, KEY, text, wanted))) ?? []
    }
    readAtMs = performance.now()
    onRead()
  }

  async function refresh(): Promise<void> {
    let nextMs = REFRESH_MS
    try {
      await exchange()
      backoff.reset()
    } catch {
      // until the ring has been read, this instance cannot verify the sessions of the others
      nextMs = backoff.nextMs()
    }
    clearTimeout(timer)
    if (!closed) timer = setTimeout(() => void refresh(), nextMs).unref()
  }

  const onReady = (): void => void refresh()
  redis.on('ready', onReady)
  if (redis.status === 'ready') onReady()
  return {
    ready: Promise.race([read, new Promise<void>(resolve => setTimeout(resolve, MAX_START_MS).unref())]),
    current: () => keys[0] ?? fallback.current(),
    find: id => keys.find(key => key.id === id) ?? fallback.find(id),
    async refresh() {
      if (readAtMs !== undefined && performance.now() - readAtMs < MIN_REREAD_MS) return true
      rereading ??= exchange()
        .then(
          () => true,
          () => false,
        )
        .finally(() => {
          rereading = undefined
        })
      return rereading
    },
    close() {
      closed = true
      clearTimeout(timer)
      redis.off('ready', onReady)
    },
  }
}
