/** Keeps a Redis connection subscribed to a channel after it reconnects. It does not interpret the messages. */
import { Backoff } from '../../base/async/backoff.ts'
import type { RedisConnection } from './redis-connection.ts'

export interface SubscriptionOptions {
  readonly onMessage: (text: string) => void
  /** Runs after every subscription, since messages may have been missed before it. It is retried when it rejects. */
  readonly onSubscribed?: () => Promise<void>
  /** A subscription that failed and is retried, or a message that could not be read. */
  readonly onFault: (error: Error) => void
}

const BACKOFF = { firstMs: 100, maxMs: 1_000 }
/** A subscriber sends no commands, so only a ping finds a connection that is half-open. */
const PING_MS = 1_000

/**
 * Subscribes with every new connection, and retries while the connection lasts.
 * @returns ends it; the connection stays open
 */
export function keepSubscribed(
  redis: RedisConnection,
  channel: string,
  { onMessage, onSubscribed, onFault }: SubscriptionOptions,
): () => void {
  let connections = 0

  async function subscribe(): Promise<void> {
    const own = ++connections
    const backoff = new Backoff(BACKOFF)
    while (own === connections && redis.status === 'ready') {
      try {
        await redis.subscribe(channel)
        await onSubscribed?.()
        return
      } catch (error) {
        onFault(error as Error)
        await backoff.wait()
      }
    }
  }

  const onReady = (): void => void subscribe()
  const onText = (_channel: string, text: string): void => {
    try {
      onMessage(text)
    } catch (error) {
      // thrown into the library it would end the process
      onFault(error as Error)
    }
  }
  const ping = (): void => {
    // the connection replaces itself when no response comes
    if (redis.status === 'ready') void redis.ping().catch(() => {})
  }
  redis.on('ready', onReady)
  redis.on('message', onText)
  if (redis.status === 'ready') onReady()
  const pings = setInterval(ping, PING_MS).unref()
  return () => {
    connections++
    clearInterval(pings)
    redis.off('ready', onReady)
    redis.off('message', onText)
  }
}
