/** Sends the responses of the bridge: JSON, errors, and messages on an event stream. */
import type { HttpResponse, ResponseStream } from '../net/server/listener.ts'

export const STREAM_HEADERS = ['content-type', 'text/event-stream', 'cache-control', 'no-store'] as const

/** A message as a server-sent event; serialized JSON holds no line break. */
export function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`
}

export function sendJson(
  response: HttpResponse,
  status: number,
  json: string,
  headers: readonly string[] = [],
): void {
  response.send(status, ['content-type', 'application/json', ...headers], json)
}

export function sendError(
  response: HttpResponse,
  status: number,
  code: number,
  message: string,
  headers: readonly string[] = status === 503 ? ['retry-after', '1'] : [],
): void {
  sendJson(response, status, JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }), headers)
}

export class Reply {
  readonly #response: HttpResponse
  readonly #headers: readonly string[]
  readonly #canStream: boolean
  #stream: ResponseStream | undefined

  /** @param canStream the client accepts event streams */
  constructor(response: HttpResponse, headers: readonly string[], canStream: boolean) {
    this.#response = response
    this.#headers = headers
    this.#canStream = canStream
  }

  /** A message before the result; false when the client cannot receive one. */
  notify(json: string): boolean {
    if (!this.#canStream || this.#response.closed) return false
    this.#stream ??= this.#response.stream(200, [...STREAM_HEADERS, ...this.#headers])
    this.#stream.write(eventOf(json))
    return true
  }

  end(json: string): void {
    if (this.#response.closed) return
    if (this.#stream === undefined) sendJson(this.#response, 200, json, this.#headers)
    else this.#stream.end(eventOf(json))
  }
}
