/** The response of a POST as JSON or as an event stream, and the ids of its events. */
import { randomBytes } from 'node:crypto'
import { isPending, type MaybePending, passTo } from '../../../base/and-then.ts'
import type { Cancelable } from '../../../base/cancellation.ts'
import type { Reader } from '../../../base/later.ts'
import { KEEP_ALIVE, messageEvent, messageEventPieces, primingEvent } from '../../../mcp/sse.ts'
import type { ResponseStream } from '../../../net/server/listener.ts'
import { writePieces } from '../../../net/server/pieces.ts'
import type { SessionStore, StreamRef } from '../../sessions/session-store.ts'
import type { Call } from '../call.ts'
import type { SessionCall } from './in-flight.ts'
import { type LongMessage, type RpcReply, textOf, utf8Text } from './result.ts'
import { type Ticked, Ticker } from './ticker.ts'

/** After this time a pending call opens a stream: only then does the client of a resumable one have an id to resume with. */
const STREAM_AFTER_MS = 250
const TICK_MS = 100
const KEEP_ALIVE_MS = 15_000
const RETRY_MS = 1000

interface PostResponseOptions {
  /** The client takes event streams (`Accept`). */
  readonly streams: boolean
  /** Where events are kept, and for which session; undefined when the stream cannot be resumed. */
  readonly replay: { readonly store: SessionStore; readonly sessionId: string } | undefined
  /** From 2025-11-25 on a resumable stream begins with an empty event. */
  readonly priming: boolean
  /** For a call in a session: ends with its reply. */
  readonly inFlight?: SessionCall
}

const pending = new Ticker<PostResponse>(TICK_MS, (response, nowMs) => response.tick(nowMs))

export class PostResponse implements Cancelable, Reader<RpcReply>, Ticked {
  ticking = false
  previous: Ticked | undefined
  next: Ticked | undefined
  readonly #call: Call
  readonly #options: PostResponseOptions
  #stream: ResponseStream | undefined
  #streamId = ''
  #n = 0
  #ended = false
  #lastWriteMs: number

  constructor(call: Call, options: PostResponseOptions) {
    this.#call = call
    this.#options = options
    this.#lastWriteMs = call.receivedAtMs
  }

  /** Sends the reply when it is there; until then a stream may open, and is kept alive. */
  send(reply: MaybePending<RpcReply>): void {
    if (!isPending(reply)) return this.onValue(reply)
    if (this.#options.streams) pending.add(this)
    passTo(reply, this)
  }

  /** Whether messages can be sent before the reply. */
  get canNotify(): boolean {
    return this.#options.streams
  }

  /** Sends a message before the reply. @param json a serialized JSON-RPC message */
  notify(json: string): void {
    if (this.#ended || !this.#options.streams) return
    this.#open()
    this.#event(json, false)
  }

  onError(error: unknown): never {
    this.#options.inFlight?.end()
    throw error
  }

  onValue(response: RpcReply): void {
    this.#options.inFlight?.end()
    if (this.#ended) return
    this.#ended = true
    pending.delete(this)
    const { status, headers, body, pieces } = response
    if (typeof body !== 'string' && !(body instanceof Uint8Array))
      return void this.#finishInPieces(response, body)
    if (this.#stream === undefined)
      return pieces === undefined
        ? this.#call.respond(status, body, headers)
        : this.#call.respondToJoined(status, pieces.start, pieces.rest, headers)
    this.#event(typeof body === 'string' ? body : utf8Text(body), true)
    this.#stream.end()
  }

  async #finishInPieces({ status, headers }: RpcReply, body: LongMessage): Promise<void> {
    const stream = this.#stream
    if (stream === undefined) return this.#call.respondInPieces(status, body.pieces, headers)
    const id = this.#options.replay === undefined ? undefined : this.#keep(await textOf(body), true)
    await writePieces(stream, this.#call.response, messageEventPieces(body.pieces, id))
    stream.end()
  }

  /** A call whose caller lost access still gets a reply: the refusal. */
  onCancelled(reason: unknown): void {
    if (reason === true) this.drop()
  }

  /** A cancelled request gets no reply (MCP, "Cancellation"); the HTTP exchange still has to end. */
  drop(): void {
    if (this.#ended) return
    this.#ended = true
    pending.delete(this)
    if (this.#stream === undefined) return this.#call.respond(202, undefined)
    const { replay } = this.#options
    if (replay !== undefined) {
      const ref = this.#ref(replay.sessionId)
      replay.store.finish(ref)
      void replay.store.signal(ref, { kind: 'event', event: { n: this.#n++, data: '' }, last: true })
    }
    this.#stream.end()
  }

  tick(nowMs: number): void {
    if (this.#call.response.closed && this.#options.replay === undefined) {
      pending.delete(this)
      return
    }
    if (this.#stream === undefined) {
      if (nowMs - this.#call.receivedAtMs >= STREAM_AFTER_MS) this.#open()
    } else if (nowMs - this.#lastWriteMs >= KEEP_ALIVE_MS) {
      this.#lastWriteMs = nowMs
      this.#stream.write(KEEP_ALIVE)
    }
  }

  #open(): void {
    if (this.#stream !== undefined) return
    this.#stream = this.#call.eventStream()
    const { replay, priming } = this.#options
    if (replay === undefined) return
    this.#streamId = randomBytes(9).toString('base64url')
    // the priming event is position 0 in the buffer too, so that a client which saw nothing else can resume
    replay.store.append(this.#ref(replay.sessionId), { n: this.#n, data: '' })
    if (priming) this.#stream.write(primingEvent(eventId(this.#streamId, this.#n), RETRY_MS))
    this.#n++
  }

  #event(json: string, last: boolean): void {
    this.#stream!.write(messageEvent(json, this.#keep(json, last)))
    this.#lastWriteMs = Date.now()
  }

  /** Keeps an event for those who resume. @returns its id; undefined when the stream cannot be resumed */
  #keep(json: string, last: boolean): string | undefined {
    const { replay } = this.#options
    if (replay === undefined) return undefined
    const { store, sessionId } = replay
    const ref = this.#ref(sessionId)
    const event = { n: this.#n++, data: json }
    store.append(ref, event)
    if (last) store.finish(ref)
    void store.signal(ref, { kind: 'event', event, last })
    return eventId(this.#streamId, event.n)
  }

  #ref(sessionId: string): StreamRef {
    return { sessionId, streamId: this.#streamId }
  }
}

export function eventId(streamId: string, n: number): string {
  return `${streamId}_${n}`
}

/** undefined when it is not an id of ours. */
export function readEventId(id: string): { readonly streamId: string; readonly n: number } | undefined {
  const match = /^([A-Za-z0-9_-]{12})_(\d{1,9})$/.exec(id)
  return match === null ? undefined : { streamId: match[1]!, n: Number(match[2]) }
}
