/** The stream that carries snapshots to one gateway instance (SSE): the whole share or what changed, never more than one update ahead of the reader. */
import { eventsOf, type MarkedUpdate } from '../../link/update-events.ts'
import { EVERY_TENANT, type Store } from '../store/store.ts'
import type { Publisher } from './publisher.ts'

/** Shows both sides that the connection stands. */
const HEARTBEAT_MS = 5_000

export interface FeedOptions {
  readonly store: Store
  readonly publisher: Publisher
  readonly gatewayId: string
  /** The version the gateway has; null = none. */
  readonly from: string | null
  /** Number of the last report that was taken; the gateway counts on from there. */
  readonly sequence: number
  /** The mark of a re-synchronization asked for while the gateway was away; the whole share is sent then. */
  readonly resync: string | null
  /** Milliseconds until the credential expires: the stream ends, and the gateway comes back with a new one. */
  readonly endsAfterMs: number
  /** Fires when the gateway goes away or the control plane stops. */
  readonly signal: AbortSignal
  /** Called once, however the stream ends. */
  readonly onEnd: () => void
}

/**
 * Events: `hello {gateway_id, heartbeat_ms, sequence}`, then for each update `begin {version, base, resync}`, `plans`, `tenants` (several), `removed`, and `commit` whose
 * id is the version: a gateway applies an update when it has seen its `commit`, and names that id when it comes back.
 */
export function feed(options: FeedOptions): ReadableStream<Uint8Array> {
  const ended = new AbortController()
  const signal = AbortSignal.any([options.signal, ended.signal])
  const events = produce(options, signal)
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await events.next()
      if (next.done === true) controller.close()
      else controller.enqueue(encoder.encode(next.value))
    },
    async cancel() {
      ended.abort()
      await events.return(undefined)
    },
  })
}

async function* produce(options: FeedOptions, signal: AbortSignal): AsyncGenerator<string, void, void> {
  const { publisher, store, gatewayId } = options
  let version = options.from
  let resync = options.resync
  let expired = false
  let wake: () => void = () => {}
  const nudge = () => wake()
  const due = () => publisher.isPublished && (resync !== null || publisher.share.version !== version)
  const unsubscribe = publisher.subscribe(nudge)
  const unlisten = store.onSignal(sign => {
    if (sign.kind !== 'resync' || sign.gatewayId !== gatewayId) return
    void store
      .read(EVERY_TENANT, tx => tx.gateways.find(gatewayId))
      .then(
        gateway => {
          resync = gateway?.resyncRequestedAt?.toISOString() ?? null
          wake()
        },
        // The next connection of this gateway reads the mark again.
        () => {},
      )
  })
  signal.addEventListener('abort', nudge)
  const expiry = setTimeout(
    () => {
      expired = true
      wake()
    },
    Math.min(options.endsAfterMs, MAX_TIMER_MS),
  )
  try {
    yield event('hello', { gateway_id: gatewayId, heartbeat_ms: HEARTBEAT_MS, sequence: options.sequence })
    while (!signal.aborted && !expired) {
      if (due()) {
        const mark = resync
        const update = publisher.updateFrom(mark === null ? version : null)!
        yield* updateEvents({ update, resync: mark })
        version = update.version
        if (resync === mark) resync = null
        continue
      }
      const rested = await new Promise<boolean>(resolve => {
        const timer = setTimeout(() => resolve(true), HEARTBEAT_MS)
        wake = () => {
          clearTimeout(timer)
          resolve(false)
        }
        // Something may have happened between the question above and this line.
        if (signal.aborted || expired || due()) wake()
      })
      if (rested) yield ': alive\n\n'
    }
  } finally {
    clearTimeout(expiry)
    unsubscribe()
    unlisten()
    signal.removeEventListener('abort', nudge)
    options.onEnd()
  }
}

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2_147_483_647

function* updateEvents(marked: MarkedUpdate): Generator<string, void, void> {
  for (const { name, data } of eventsOf(marked)) {
    const text = event(name, data)
    yield name === 'commit' ? `id: ${marked.update.version}\n${text}` : text
  }
}

/** JSON holds no line break, so one `data` line is enough (WHATWG HTML §9.2.6). */
function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
