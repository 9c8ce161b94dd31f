/** Reads the responses of MCP servers over HTTP, or discards them, and describes the failures of requests. */

import type { MaybePromise } from '../../base/and-then.ts'
import { beginInSlices, nextTurn } from '../../base/async/slices.ts'
import type { EgressFailure, EgressStreamResponse } from '../../net/egress/egress.ts'
import { StreamFailure } from '../../net/egress/failure.ts'
import { serverEvents } from '../../net/egress/server-events.ts'
import { mayGrow } from '../../net/held-bytes.ts'
import { failure, type RpcFailure, type RpcOutcome } from '../protocol.ts'
import {
  errorIn,
  isShort,
  MessageError,
  readingMessages,
  readMessages,
  type ServerMessage,
} from './messages.ts'
import { shortTextResult } from './short-text-result.ts'
import type { OnMessage, WireRequest } from './wire.ts'

/** Joining, decoding and reading a larger body take milliseconds each: other calls come between. */
export const LARGE_BYTES = 1024 * 1024
/** For a response that is not a result. */
const MAX_ERROR_BYTES = 64 * 1024
/** A stream whose response has arrived is read to its end, so that its connection can be used again, for no longer than this. */
const DRAIN_MS = 1_000

export interface Resumption {
  /** Event id of the last event; '' when events have no ids. */
  eventId: string
  /** Pause before the next connection, ms; undefined when the server names none. */
  retryMs: number | undefined
}

/** `ended`: the stream ended before the response. */
export type Followed = RpcOutcome | 'ended'

export function fromEgress({ reason, message, sent, saturated }: EgressFailure): RpcFailure {
  const failed = failure(reason, message, sent)
  return saturated === true ? { ...failed, saturated } : failed
}

export function contentTypeOf({ headers }: Pick<EgressStreamResponse, 'headers'>): string {
  const type = headers.get('content-type')
  if (type === 'application/json') return type
  return type.split(';', 1)[0]!.trim().toLowerCase()
}

/** @param label names the server in messages */
export async function readJsonResponse(
  response: EgressStreamResponse,
  request: WireRequest,
  label: string,
  onMessage: OnMessage,
): Promise<RpcOutcome> {
  const text = await textOf(response, request, request.maxResponseBytes)
  if (typeof text !== 'string') return text
  try {
    const messages = await beginInSlices(readingMessages(text, request.maxParseNs))
    return responseIn(messages, request, label, onMessage)
  } catch (error) {
    return unreadable(error, label)
  }
}

/** The same for a body at hand: at once, if it is small. */
export function readWholeJson(
  body: Uint8Array,
  request: WireRequest,
  label: string,
  onMessage: OnMessage,
): MaybePromise<RpcOutcome> {
  request.onBytes?.(body.byteLength)
  const result = request.shortTexts === false ? undefined : shortTextResult(body, request.id)
  if (result !== undefined) return result
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const findOutcome = (messages: readonly ServerMessage[]): RpcOutcome =>
    responseIn(messages, request, label, onMessage)
  try {
    if (isShort(text)) return findOutcome(readMessages(text))
    const messages = beginInSlices(readingMessages(text, request.maxParseNs))
    if (!(messages instanceof Promise)) return findOutcome(messages)
    return messages.then(findOutcome).catch(error => unreadable(error, label))
  } catch (error) {
    return unreadable(error, label)
  }
}

function responseIn(
  messages: readonly ServerMessage[],
  { id }: WireRequest,
  label: string,
  onMessage: OnMessage,
): RpcOutcome {
  let found: RpcOutcome | undefined
  for (const message of messages) {
    if (message.kind !== 'response') onMessage(message, id)
    else if (message.id === id) found = message.outcome
  }
  return found ?? failure('not_mcp', `${label} did not send a response with the id of the request`, true)
}

/** Reads a body that is not needed to its end, so that its connection can be used again; a long one is closed. Never rejects. */
export async function discard({ body }: EgressStreamResponse): Promise<void> {
  try {
    for await (const _ of readBounded(body, MAX_ERROR_BYTES));
  } catch {
    body.destroy()
  }
}

/** The body of a refused request; '' when it cannot be read, or is too long. */
export async function readErrorText(response: EgressStreamResponse, request: WireRequest): Promise<string> {
  const text = await textOf(response, request, MAX_ERROR_BYTES)
  return typeof text === 'string' ? text : ''
}

/** The JSON-RPC error in the body of a refused request, else a failure with the status. */
export async function readError(
  response: EgressStreamResponse,
  request: WireRequest,
  label: string,
): Promise<RpcOutcome> {
  const { status } = response
  const error = errorIn(await readErrorText(response, request))
  // before anything that reads messages: a proxy, the check of a credential, an overloaded server
  const isOutside = status === 401 || status === 403 || status === 429 || status >= 500
  if (error !== undefined && !isOutside) return error
  const said = error === undefined || error.message === '' ? '' : `: ${error.message.slice(0, 200)}`
  return failure('status', `${label} responded with status ${status}${said}`, true, status)
}

/** Resolves with the response as soon as it arrives. */
export function followStream(
  { body }: EgressStreamResponse,
  request: WireRequest,
  label: string,
  resumption: Resumption,
  onMessage: OnMessage,
): Promise<Followed> {
  return new Promise(resolve => {
    let isOpen = true
    let draining: NodeJS.Timeout | undefined
    const settle = (followed: Followed): void => {
      isOpen = false
      resolve(followed)
    }
    const follow = async (): Promise<void> => {
      const events = serverEvents(readBounded(body, request.maxResponseBytes, request), {
        maxEventCharacters: request.maxResponseBytes,
      })
      for await (const { data, id, retryMs } of events) {
        if (!isOpen) continue
        if (id !== undefined) resumption.eventId = id
        if (retryMs !== undefined) resumption.retryMs = retryMs
        if (data === '') continue
        for (const message of await beginInSlices(readingMessages(data, request.maxParseNs))) {
          if (message.kind !== 'response') onMessage(message, request.id)
          else if (message.id === request.id) {
            settle(message.outcome)
            draining = setTimeout(() => body.destroy(), DRAIN_MS).unref()
          }
        }
      }
    }
    const finish = (followed: Followed): void => {
      clearTimeout(draining)
      settle(followed)
    }
    follow().then(
      () => finish('ended'),
      error => {
        body.destroy()
        finish(error instanceof MessageError ? unreadable(error, label) : toInterruption(error, label))
      },
    )
  })
}

/** A stream that broke can be resumed unless the call itself has ended. */
function toInterruption(error: unknown, label: string): RpcFailure | 'ended' {
  const reason = error instanceof StreamFailure ? error.reason : undefined
  if (reason === 'cancelled') return failure('cancelled', 'the call was cancelled', true)
  return reason === 'timeout' ? timedOut(label) : 'ended'
}

export function timedOut(label: string): RpcFailure {
  return failure('timeout', `${label} did not respond in time`, true)
}

function unreadable(error: unknown, label: string): RpcFailure {
  if (error instanceof Unheld) return failure(error.reason, error.message, true)
  return failure('not_mcp', `${label} sent ${(error as Error).message}`, true)
}

/** A response that is not read further. */
class Unheld extends MessageError {
  readonly reason: 'too_large' | 'over_budget'
  constructor(reason: Unheld['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

async function* readBounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  { onBytes, budget }: Pick<WireRequest, 'onBytes' | 'budget'> = {},
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of body) {
    const before = bytes
    bytes += chunk.byteLength
    onBytes?.(chunk.byteLength)
    if (bytes > maxBytes)
      throw new Unheld('too_large', `the response from the MCP server is larger than ${maxBytes} bytes`)
    if (!mayGrow(budget, before, bytes))
      throw new Unheld('over_budget', 'the gateway holds as many bytes as HELD_BYTES_MAX allows')
    yield chunk
  }
}

async function textOf(
  { body, headers }: EgressStreamResponse,
  request: WireRequest,
  maxBytes: number,
): Promise<string | RpcFailure> {
  const encoding = headers.get('content-encoding')
  if (encoding !== '' && encoding !== 'identity') {
    body.destroy()
    return failure(
      'not_mcp',
      `the response from the MCP server has the content encoding ${encoding.slice(0, 40)}, which was not requested`,
      true,
    )
  }
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of readBounded(body, maxBytes, request)) chunks.push(chunk)
  } catch (error) {
    body.destroy()
    if (error instanceof Unheld) return failure(error.reason, error.message, true)
    const why = toInterruption(error, 'the server')
    return why === 'ended'
      ? failure('truncated', 'the response from the MCP server ended before it was complete', true)
      : why
  }
  const bytes = Buffer.concat(chunks)
  if (bytes.byteLength > LARGE_BYTES) await nextTurn()
  const text = bytes.toString('utf8')
  if (bytes.byteLength > LARGE_BYTES) await nextTurn()
  return text
}
