/** The transport HTTP with SSE (MCP 2024-11-05): an event stream from the server, and POSTs to it. */

import { Cancellation } from '../../base/cancellation.ts'
import { shownAddress } from '../../base/shown-address.ts'
import { resolveWithin } from '../../model/upstream-url.ts'
import type { Egress, EgressStreamResponse } from '../../net/egress/egress.ts'
import { serverEvents } from '../../net/egress/server-events.ts'
import { failure, type RequestId, type RpcFailure, type RpcOutcome, type ServerAddress } from '../protocol.ts'
import { addressHeaders } from './address.ts'
import { errorIn, MessageError, readMessages } from './messages.ts'
import { contentTypeOf, discard, fromEgress, timedOut } from './read-response.ts'
import type { OnMessage, Wire, WireRequest } from './wire.ts'

const SEND_TIMEOUT_MS = 5_000
const FOREVER_MS = 2 ** 31 - 1
const MAX_POST_RESPONSE_BYTES = 64 * 1024

interface Pending {
  readonly request: WireRequest
  readonly settle: (outcome: RpcOutcome) => void
}

/** @returns the open stream, or why there is none */
export async function openHttpSse(
  egress: Egress,
  address: ServerAddress,
  onMessage: OnMessage,
  deadlineMs: number,
  maxEventCharacters: number,
): Promise<HttpSse | RpcFailure> {
  const label = shownAddress(address.url)
  // the time-out of the connection applies to the head and the first event only
  let endpointTimer: NodeJS.Timeout | undefined
  const headLimit = new Promise<RpcFailure>(resolve => {
    endpointTimer = setTimeout(() => resolve(timedOut(label)), Math.max(1, deadlineMs - performance.now()))
  })
  const cancellation = new Cancellation()
  const opening = egress.stream({
    method: 'GET',
    url: address.url,
    headers: ['accept', 'text/event-stream', 'accept-encoding', 'identity', ...addressHeaders(address, [])],
    timeoutMs: FOREVER_MS,
    cancellation,
    isLasting: true,
  })
  try {
    const response = await Promise.race([opening, headLimit])
    if (response.kind === 'failure') {
      // its head may still be missing
      cancellation.cancel()
      return { ...response, sent: false }
    }
    const { status } = response
    if (status !== 200 || contentTypeOf(response) !== 'text/event-stream') {
      response.body.destroy()
      return failure(
        'status',
        `${label} responded to GET with status ${status} and without an event stream`,
        false,
        status,
      )
    }
    const wire = new HttpSse(egress, address, onMessage, response, maxEventCharacters)
    const opened = await Promise.race([wire.opened, headLimit])
    if (opened === undefined) return wire
    await wire.close()
    return opened
  } finally {
    clearTimeout(endpointTimer)
  }
}

export class HttpSse implements Wire {
  lost = false
  /** Resolves when the server has named the address to POST to; with the reason if it does not. */
  readonly opened: Promise<RpcFailure | undefined>
  readonly #egress: Egress
  readonly #address: ServerAddress
  readonly #onMessage: OnMessage
  readonly #label: string
  readonly #pending = new Map<RequestId, Pending>()
  readonly #response: EgressStreamResponse
  readonly #ended: Promise<void>
  #endpoint = ''

  constructor(
    egress: Egress,
    address: ServerAddress,
    onMessage: OnMessage,
    response: EgressStreamResponse,
    maxEventCharacters: number,
  ) {
    this.#egress = egress
    this.#address = address
    this.#onMessage = onMessage
    this.#label = shownAddress(address.url)
    this.#response = response
    let resolveOpening: (why: RpcFailure | undefined) => void = () => {}
    this.opened = new Promise(resolve => {
      resolveOpening = resolve
    })
    this.#ended = this.#read(maxEventCharacters, resolveOpening)
      .catch(error => (error instanceof MessageError ? `sent ${error.message}` : 'closed the stream'))
      .then(why => {
        this.lost = true
        response.body.destroy()
        resolveOpening(failure('not_mcp', `${this.#label} ${why ?? 'closed the stream'}`, false))
        for (const { settle } of [...this.#pending.values()])
          settle(
            failure('truncated', `${this.#label} ${why ?? 'closed the stream'} before the response`, true),
          )
      })
  }

  async #read(maxEventCharacters: number, opened: (why: RpcFailure | undefined) => void): Promise<undefined> {
    for await (const { name, data } of serverEvents(this.#response.body, { maxEventCharacters })) {
      if (name === 'endpoint') {
        this.#endpoint = endpointIn(data, this.#address.url)
        opened(undefined)
      } else
        for (const message of data === '' ? [] : readMessages(data)) {
          if (message.kind !== 'response') this.#onMessage(message)
          else this.#settle(message.id, data.length, message.outcome)
        }
    }
    return undefined
  }

  request(request: WireRequest): Promise<RpcOutcome> {
    if (this.lost)
      return Promise.resolve(failure('session_lost', `${this.#label} has closed the stream`, false))
    return new Promise(resolve => {
      const { id, cancellation, deadlineMs } = request
      let stop: (() => void) | undefined
      const settle = (outcome: RpcOutcome): void => {
        clearTimeout(timer)
        stop?.()
        this.#pending.delete(id)
        resolve(outcome)
      }
      const timer = setTimeout(
        () => settle(timedOut(this.#label)),
        Math.max(1, deadlineMs - performance.now()),
      )
      this.#pending.set(id, { request, settle })
      stop = cancellation?.onCancel(() => settle(failure('cancelled', 'the call was cancelled', true)))
      if (!this.#pending.has(id)) return
      void this.#post(request.text, request.headers, deadlineMs).then(refused => {
        if (refused !== undefined && this.#pending.has(id)) settle(refused)
      })
    })
  }

  #settle(id: unknown, characters: number, outcome: RpcOutcome): void {
    const pending = this.#pending.get(id as RequestId)
    pending?.request.onBytes?.(characters)
    pending?.settle(outcome)
  }

  async send(text: string, headers: readonly string[]): Promise<void> {
    await this.#post(text, headers, performance.now() + SEND_TIMEOUT_MS)
  }

  async listen(): Promise<'ended'> {
    await this.#ended
    return 'ended'
  }

  async close(): Promise<void> {
    this.lost = true
    this.#response.body.destroy()
    await this.#ended
  }

  /** @returns why the server did not accept the message; undefined when it did */
  async #post(body: string, own: readonly string[], deadlineMs: number): Promise<RpcOutcome | undefined> {
    const response = await this.#egress.stream({
      method: 'POST',
      url: this.#endpoint,
      headers: [
        'content-type',
        'application/json',
        'accept',
        'application/json',
        'accept-encoding',
        'identity',
        ...own,
        ...addressHeaders(this.#address, own),
      ],
      body,
      timeoutMs: Math.max(1, deadlineMs - performance.now()),
    })
    if (response.kind === 'failure') return fromEgress(response)
    const { status } = response
    if (status >= 200 && status < 300) {
      await discard(response)
      return undefined
    }
    if (status === 404) {
      await discard(response)
      // calls in flight may still get their responses on the stream
      this.lost = true
      return failure('session_lost', `${this.#label} has ended the session`, false)
    }
    const text = await shortText(response)
    return errorIn(text) ?? failure('status', `${this.#label} responded with status ${status}`, true, status)
  }
}

async function shortText({ body }: EgressStreamResponse): Promise<string> {
  let text = ''
  try {
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString('utf8')
      if (text.length > MAX_POST_RESPONSE_BYTES) break
    }
  } catch {
    // the part that has arrived
  }
  body.destroy()
  return text
}

/** For the same origin: the credential is sent there (MCP 2024-11-05 clients refuse others as well). @throws MessageError */
function endpointIn(data: string, base: string): string {
  const url = resolveWithin(data, base)
  if (url === undefined) throw new MessageError('an endpoint URL with a different origin')
  return url
}
