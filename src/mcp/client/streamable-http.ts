/** The transport streamable HTTP (MCP 2025-03-26 and newer): POSTs of messages, the session id, and streams with their resumption. */
import { setTimeout as sleep } from 'node:timers/promises'
import { continueWith, type MaybePending, type Pending } from '../../base/and-then.ts'
import { within } from '../../base/async/within.ts'
import { Cancellation } from '../../base/cancellation.ts'
import type { Party } from '../../base/fair-shares.ts'
import { shownAddress } from '../../base/shown-address.ts'
import type { Egress, EgressFailure, EgressStreamResponse } from '../../net/egress/egress.ts'
import { serverEvents } from '../../net/egress/server-events.ts'
import { joinedHeaders } from '../../net/joined-headers.ts'
import { failure, type RpcOutcome, type ServerAddress } from '../protocol.ts'
import { addressHeaders } from './address.ts'
import { errorIn, readMessages } from './messages.ts'
import {
  contentTypeOf,
  discard,
  followStream,
  fromEgress,
  LARGE_BYTES,
  type Resumption,
  readError,
  readErrorText,
  readJsonResponse,
  readWholeJson,
  timedOut,
} from './read-response.ts'
import { requestWhole, type WholeOrStream } from './whole-response.ts'
import type { OnMessage, Wire, WireRequest } from './wire.ts'

const JSON_TYPE = 'application/json'
const IDENTITY = ['accept-encoding', 'identity']
const POST_HEADERS = [...IDENTITY, 'content-type', JSON_TYPE, 'accept', 'application/json, text/event-stream']
const GET_HEADERS = [...IDENTITY, 'accept', 'text/event-stream']
/** Send timeout of notifications, and of the end of a session. */
const SEND_TIMEOUT_MS = 5_000
/** For a stream that is open as long as the connection. */
const FOREVER_MS = 2 ** 31 - 1
/** Calls wait for so long for the stream on which the server may ask the client: what it asks before is lost. */
const OPENING_MS = 1_000
/** For one message that belongs to no request. */
const MAX_EVENT_CHARACTERS = 1024 * 1024
const MAX_RESUMPTIONS = 20
const RESUME_AFTER_MS = 500
const MAX_RESUME_PAUSE_MS = 10_000
/** The code by which the official servers refuse a request before they look at it, with status 400. */
const REFUSED_UNREAD = -32000

export class StreamableHttp implements Wire {
  /** Sent with every request once the handshake has named it. */
  version = ''
  lost = false
  /** False from 2026-07-28 on: there are no sessions. */
  takesSession = true
  readonly #egress: Egress
  readonly #address: ServerAddress
  readonly #onMessage: OnMessage
  readonly #label: string
  #sessionId: string
  #listening: EgressStreamResponse | undefined
  /** Until the server has responded to the request for the stream. */
  #opening: Promise<unknown> | undefined
  readonly #ending = new Cancellation()
  #closed = false
  #respondsJson = false

  /** @param sessionId of a session that another connection has opened */
  constructor(egress: Egress, address: ServerAddress, onMessage: OnMessage, sessionId = '') {
    this.#sessionId = sessionId
    this.#egress = egress
    this.#address = address
    this.#onMessage = onMessage
    this.#label = shownAddress(address.url)
  }

  /** False where requests need no session, or none was opened. */
  get hasSession(): boolean {
    return this.#sessionId !== ''
  }

  /** '' without one. */
  get sessionId(): string {
    return this.#sessionId
  }

  request(request: WireRequest): MaybePending<RpcOutcome> {
    const called =
      this.#opening === undefined ? this.#call(request) : this.#opening.then(() => this.#call(request))
    return continueWith(called, received => this.#handleResponse(received, request))
  }

  #handleResponse(received: WholeOrStream, request: WireRequest): MaybePending<RpcOutcome> {
    if (received.kind === 'failure') return fromEgress(received)
    const { status, headers } = received
    const { body } = received
    if (!(body instanceof Uint8Array)) return this.#read({ kind: 'response', status, headers, body }, request)
    if (status !== 200 || body.byteLength > LARGE_BYTES || contentTypeOf(received) !== JSON_TYPE)
      return this.#read({ kind: 'response', status, headers, body: piecesOf(body) }, request)
    if (this.takesSession) this.#sessionId ||= sessionIn(headers.get('mcp-session-id'))
    return readWholeJson(body, request, this.#label, this.#onMessage)
  }

  async #read(response: EgressStreamResponse, request: WireRequest): Promise<RpcOutcome> {
    const { status, headers } = response
    if (status === 404 && this.hasSession) {
      await discard(response)
      return this.#sessionLost()
    }
    if (status === 400 && this.hasSession) {
      const error = errorIn(await readErrorText(response, request))
      // servers on older SDKs respond with a plain text to a session that they do not know
      if (error === undefined || error.code === REFUSED_UNREAD) return this.#sessionLost()
      return error
    }
    if (status < 200 || status > 299) return readError(response, request, this.#label)
    if (this.takesSession) this.#sessionId ||= sessionIn(headers.get('mcp-session-id'))
    const type = contentTypeOf(response)
    this.#respondsJson = type === JSON_TYPE
    if (type === 'text/event-stream') return this.#follow(response, request)
    if (type === JSON_TYPE) return readJsonResponse(response, request, this.#label, this.#onMessage)
    response.body.destroy()
    const said = type === '' ? 'without a content type' : `with ${type.slice(0, 80)}`
    return failure('not_mcp', `${this.#label} responded ${said} instead of JSON or an event stream`, true)
  }

  /** To the response, across interruptions where the events have ids. */
  async #follow(first: EgressStreamResponse, request: WireRequest): Promise<RpcOutcome> {
    const resumption: Resumption = { eventId: '', retryMs: undefined }
    let response = first
    for (let resumed = 0; ; resumed++) {
      const followed = await followStream(response, request, this.#label, resumption, this.#onMessage)
      if (followed !== 'ended') return followed
      const pauseMs = Math.min(resumption.retryMs ?? RESUME_AFTER_MS, MAX_RESUME_PAUSE_MS)
      if (resumption.eventId === '' || resumed >= MAX_RESUMPTIONS)
        return failure('truncated', `${this.#label} ended the stream before the response`, true)
      if (performance.now() + pauseMs >= request.deadlineMs) return timedOut(this.#label)
      await sleep(pauseMs, undefined, { signal: request.cancellation?.signal }).catch(() => {})
      const next = await this.#get(request.deadlineMs, request.cancellation, resumption.eventId)
      if (next.kind === 'failure') {
        if (next.reason === 'cancelled' || next.reason === 'timeout')
          return fromEgress({ ...next, sent: true })
        // the server may be starting again: the next attempt asks for the same events
        response = EMPTY
        continue
      }
      if (next.status !== 200 || contentTypeOf(next) !== 'text/event-stream') {
        next.body.destroy()
        return failure('truncated', `${this.#label} does not resume the stream of a call`, true)
      }
      response = next
    }
  }

  async send(text: string, headers: readonly string[]): Promise<void> {
    const response = await this.#post(text, headers, performance.now() + SEND_TIMEOUT_MS, undefined)
    if (response.kind === 'response') await discard(response)
  }

  async listen(): Promise<'ended' | 'unsupported'> {
    const responding = this.#get(FOREVER_MS, this.#ending, '', true)
    this.#opening = within(responding, OPENING_MS)
    const response = await responding
    this.#opening = undefined
    if (response.kind === 'failure') return 'ended'
    if (response.status === 404) this.lost = true
    if (this.#closed || response.status !== 200 || contentTypeOf(response) !== 'text/event-stream') {
      response.body.destroy()
      return response.status === 405 ? 'unsupported' : 'ended'
    }
    this.#listening = response
    try {
      for await (const { data } of serverEvents(response.body, { maxEventCharacters: MAX_EVENT_CHARACTERS }))
        for (const message of data === '' ? [] : readMessages(data))
          if (message.kind !== 'response') this.#onMessage(message)
    } catch {
      response.body.destroy()
    }
    return 'ended'
  }

  async close(keepSession = false): Promise<void> {
    this.#closed = true
    // also a stream whose head has not arrived
    this.#ending.cancel()
    this.#listening?.body.destroy()
    if (!this.hasSession || this.lost || keepSession) return
    this.lost = true
    const { url } = this.#address
    const response = await this.#egress.stream({
      method: 'DELETE',
      url,
      headers: this.#headers([], IDENTITY),
      timeoutMs: SEND_TIMEOUT_MS,
    })
    if (response.kind === 'response') await discard(response)
  }

  #sessionLost(): RpcOutcome {
    this.lost = true
    return failure('session_lost', `${this.#label} has ended the session`, false)
  }

  /** Collects the response of a server that responds with JSON. */
  #call(request: WireRequest): Pending<WholeOrStream> {
    const { text, headers, deadlineMs, cancellation, maxResponseBytes, budget, party, isLasting } = request
    if (!this.#respondsJson || isLasting === true)
      return this.#post(text, headers, deadlineMs, cancellation, isLasting, party)
    return requestWhole(this.#egress, {
      method: 'POST',
      url: this.#address.url,
      headers: this.#headers(headers, POST_HEADERS),
      body: text,
      timeoutMs: Math.max(1, deadlineMs - performance.now()),
      maxResponseBytes,
      budget,
      party,
      cancellation,
    })
  }

  #post(
    body: string,
    own: readonly string[],
    deadlineMs: number,
    cancellation: Cancellation | undefined,
    isLasting = false,
    party?: Party,
  ): Promise<EgressStreamResponse | EgressFailure> {
    const headers = this.#headers(own, POST_HEADERS)
    const timeoutMs = Math.max(1, deadlineMs - performance.now())
    return this.#egress.stream({
      method: 'POST',
      url: this.#address.url,
      headers,
      body,
      timeoutMs,
      cancellation,
      party,
      isLasting,
    })
  }

  #get(
    deadlineMs: number,
    cancellation: Cancellation | undefined,
    eventId: string,
    isLasting = false,
  ): Promise<EgressStreamResponse | EgressFailure> {
    const resume = eventId === '' ? [] : ['last-event-id', eventId]
    const headers = this.#headers(resume, GET_HEADERS)
    const timeoutMs = Math.max(1, deadlineMs - performance.now())
    const { url } = this.#address
    return this.#egress.stream({ method: 'GET', url, headers, timeoutMs, cancellation, isLasting })
  }

  #headers(own: readonly string[], first: readonly string[]): readonly string[] {
    const headers = joinedHeaders(first, own, addressHeaders(this.#address, own))
    if (this.#sessionId !== '') headers.push('mcp-session-id', this.#sessionId)
    if (this.version !== '') headers.push('mcp-protocol-version', this.version)
    return headers
  }
}

/** Visible ASCII (MCP 2025-03-26, transports, "Session Management"); another one is not sent back. */
function sessionIn(header: string): string {
  return /^[\x21-\x7e]{1,1024}$/.test(header) ? header : ''
}

/** A body at hand as one that is read. */
function piecesOf(body: Uint8Array): EgressStreamResponse['body'] {
  return {
    destroy() {},
    async *[Symbol.asyncIterator]() {
      if (body.byteLength > 0) yield body
    },
  }
}

/** A stream that ends at once. */
const EMPTY: EgressStreamResponse = {
  kind: 'response',
  status: 200,
  headers: { get: () => '', raw: [] },
  body: {
    destroy() {},
    async *[Symbol.asyncIterator]() {},
  },
}
