/** Reads the body of a response up to a bound: JSON, text or a JSON-RPC response on an event stream; also the id of a request. */

import { isObject } from '../../base/json/is-object.ts'
import { parseJson } from '../../base/json/parse-json.ts'
import { serverEvents } from '../../net/egress/server-events.ts'

const MAX_BYTES = 4 * 1024 * 1024

export class BodyTooLarge extends Error {
  constructor(url: string) {
    super(`The response from ${url} is larger than ${MAX_BYTES / 1024 / 1024} MiB.`)
    this.name = 'BodyTooLarge'
  }
}

export interface ResponseBody {
  readonly isStream: boolean
  /** The part that was read. */
  readonly text: string
  /** For an event stream: the response to the request; undefined when there is none, or the body is not JSON. */
  readonly json: unknown
}

/**
 * A server may respond to a JSON-RPC request with JSON or with an event stream (MCP 2025-06-18, Streamable HTTP, "Sending Messages to the
 * Server"). A stream is read up to the response, after which it may stay open.
 * @param requestId of the JSON-RPC request; undefined for any other request
 * @throws BodyTooLarge; errors of the connection and of the request's signal
 */
export async function readResponseBody(response: Response, requestId: unknown): Promise<ResponseBody> {
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  async function* readBounded(): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength
      if (bytes > MAX_BYTES) throw new BodyTooLarge(response.url)
      text += decoder.decode(chunk, { stream: true })
      yield chunk
    }
  }
  if (isStream) {
    for await (const { data } of serverEvents(readBounded(), { maxEventCharacters: MAX_BYTES })) {
      const message = parseJson(data)
      if (isResponseTo(requestId, message)) return { isStream, text, json: message }
    }
    return { isStream, text, json: undefined }
  }
  for await (const _ of readBounded());
  return { isStream, text, json: parseJson(text) }
}

/** The id of a JSON-RPC request; undefined for a notification and any other body. */
export function requestIdOf(body: object | undefined): unknown {
  return body !== undefined && 'id' in body && 'jsonrpc' in body ? body.id : undefined
}

/** Notifications and requests of the server come before the response (same section). */
function isResponseTo(requestId: unknown, message: unknown): boolean {
  if (!isObject(message) || requestId === undefined) return false
  return 'id' in message && message.id === requestId && ('result' in message || 'error' in message)
}
