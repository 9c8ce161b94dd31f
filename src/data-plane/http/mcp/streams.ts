/** Event streams for notifications and messages of the server: keep-alive, limits, ends, and notices of changed lists. */

import { andThen, type MaybePromise } from '../../../base/and-then.ts'
import { inSlices } from '../../../base/async/slices.ts'
import { KEEP_ALIVE, retryHint } from '../../../mcp/sse.ts'
import type { ProtocolVersion } from '../../../mcp/versions.ts'
import type { Refusal } from '../../../model/refusal.ts'
import type { ResponseStream } from '../../../net/server/listener.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Selection } from '../../pipeline/selection.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { OpenedStream } from '../access-check.ts'
import type { AccessWatch } from '../access-watch.ts'
import { type Ticked, Ticker } from './ticker.ts'

/** Closed set: it is a metric label. */
export type StreamEnd =
  | 'client'
  | 'slow_reader'
  | 'session_ended'
  | 'tenant_suspended'
  | 'access_ended'
  | 'idle'
  | 'max_duration'
  | 'share_exceeded'
  | 'draining'

export interface StreamOwner extends OpenedStream {
  readonly version: ProtocolVersion
  /** For the address at which the stream was opened. */
  readonly selection: Selection
}

/** Each member by name: every object that spreads another one has a hidden class to itself, which takes 300 bytes. */
export function streamOwner(exchange: Exchange, version: ProtocolVersion, selection: Selection): StreamOwner {
  const { principal, tenant, operation, access, receivedAtMs } = exchange
  return { principal: principal!, tenant, operation, access, receivedAtMs, version, selection }
}

export interface StreamLimits {
  readonly heartbeatMs: number
  /** Nothing could be written for so long. */
  readonly idleTimeoutMs: number
  readonly maxDurationMs: number
}

const TICK_MS = 1000

/** Events of a kind of stream. One object may serve many streams. */
export interface StreamForm {
  /** The event for a notification; undefined when this stream did not ask for it. */
  notification(method: string): string | undefined
  /** Last event, such as a result, before the server closes the stream. */
  readonly farewell?: () => string
}

export class OpenStream implements Ticked {
  ticking = false
  previous: Ticked | undefined
  next: Ticked | undefined
  readonly owner: StreamOwner
  readonly openedAtMs: number
  readonly #stream: ResponseStream
  readonly #form: StreamForm
  readonly #onEnd: (why: StreamEnd) => void
  ended = false
  lastProgressMs: number
  /** As of the tick that saw the write; up to one tick late. */
  lastWriteMs: number
  wrote = false
  unwatch: (() => void) | undefined

  constructor(init: {
    owner: StreamOwner
    stream: ResponseStream
    form: StreamForm
    nowMs: number
    onEnd: (why: StreamEnd) => void
  }) {
    this.owner = init.owner
    this.openedAtMs = init.nowMs
    this.lastProgressMs = init.nowMs
    this.lastWriteMs = init.nowMs
    this.#stream = init.stream
    this.#form = init.form
    this.#onEnd = init.onEnd
  }

  get bufferedBytes(): number {
    return this.#stream.bufferedBytes
  }

  write(text: string): void {
    if (this.ended) return
    this.wrote = true
    this.#stream.write(text)
  }

  notify(method: string): void {
    const event = this.#form.notification(method)
    if (event !== undefined) this.write(event)
  }

  /** The connection was closed by the client, or cut because the client did not read. */
  aborted(): void {
    this.end(this.bufferedBytes > 0 ? 'slow_reader' : 'client')
  }

  end(why: StreamEnd): void {
    if (this.ended) return
    this.ended = true
    const farewell = this.#form.farewell?.()
    if (why === 'draining') this.#stream.end(`${retryHint()}${farewell ?? ''}`)
    else if (why !== 'client' && why !== 'slow_reader') this.#stream.end(farewell)
    this.#onEnd(why)
  }
}

export class Streams {
  readonly #ticker: Ticker<OpenStream>
  readonly #limits: StreamLimits
  /** How long a stream may be silent when it is looked at. */
  readonly #silenceMs: number
  readonly #access: Pick<AccessWatch, 'open'>
  readonly #onEnd: (why: StreamEnd) => void

  constructor(
    limits: StreamLimits,
    access: Pick<AccessWatch, 'open'>,
    onEnd: (why: StreamEnd) => void,
    now: () => number,
    tickMs = TICK_MS,
  ) {
    this.#limits = limits
    this.#access = access
    this.#onEnd = onEnd
    // one tick for a write that is seen late, one because the next look comes that much later
    this.#silenceMs = limits.heartbeatMs - 2 * tickMs
    this.#ticker = new Ticker(tickMs, (stream, nowMs) => this.#tick(stream, nowMs), now)
  }

  get size(): number {
    return this.#ticker.size
  }

  /** @param snapshot under which the stream was opened */
  add(stream: OpenStream, snapshot: Snapshot): void {
    this.#ticker.add(stream)
    stream.unwatch = this.#access.open(stream.owner, snapshot, why => stream.end(endFor(why)))
  }

  remove(stream: OpenStream, why: StreamEnd): void {
    this.#ticker.delete(stream)
    stream.unwatch?.()
    this.#onEnd(why)
  }

  /**
   * Notifies the streams whose lists differ between the two snapshots.
   * @param changed returns the notifications that are due
   */
  async announce(
    previous: Snapshot,
    next: Snapshot,
    changed: (owner: StreamOwner, previous: Snapshot, next: Snapshot) => MaybePromise<readonly string[]>,
  ): Promise<void> {
    // a stream that opens meanwhile lists the new tools anyway
    await inSlices(this.#ticker.items(), stream => {
      if (stream.ended) return
      return andThen(changed(stream.owner, previous, next), methods => {
        for (const method of methods) stream.notify(method)
      })
    })
  }

  endAll(why: StreamEnd): void {
    for (const stream of this.#ticker.items()) stream.end(why)
  }

  close(): void {
    this.endAll('draining')
    this.#ticker.close()
  }

  #tick(stream: OpenStream, nowMs: number): void {
    if (stream.bufferedBytes === 0) stream.lastProgressMs = nowMs
    if (nowMs - stream.lastProgressMs > this.#limits.idleTimeoutMs) return stream.end('idle')
    if (nowMs - stream.openedAtMs > this.#limits.maxDurationMs) return stream.end('max_duration')
    if (stream.wrote) {
      stream.lastWriteMs = nowMs
      stream.wrote = false
    }
    if (nowMs - stream.lastWriteMs >= this.#silenceMs) stream.write(KEEP_ALIVE)
  }
}

function endFor({ reason }: Refusal): StreamEnd {
  return reason === 'tenant_suspended' ? reason : 'access_ended'
}
