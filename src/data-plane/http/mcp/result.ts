/** Replies to JSON-RPC requests: writes results and errors in the form of a version, and reads replies as text. */

import { isModernVersion, type ProtocolVersion } from '../../../mcp/versions.ts'
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from '../../../model/rpc-errors.ts'
import { joinedText, type Pieces } from '../../../net/server/pieces.ts'
import { errorMessage, idJson, type RequestId, resultMessage } from './message.ts'
import { textMessage } from './text-message.ts'

/** A JSON-RPC message that is too long to be sent in one turn of the event loop. */
export interface LongMessage {
  readonly pieces: Pieces
  /** An error that is sent where a message of this length cannot be passed on. */
  readonly tooLong: string
}

export interface RpcReply {
  /** HTTP status when the request came alone. */
  readonly status: number
  /** Flat; meaningful when the request came alone. */
  readonly headers: readonly string[]
  /** The JSON-RPC message, serialized; bytes are UTF-8. */
  readonly body: string | Uint8Array | LongMessage
  /** The same in two pieces, when most of a long body is cached as bytes. */
  readonly pieces?: { readonly start: string; readonly rest: Uint8Array } | undefined
}

type Meta = { readonly [key: string]: unknown }

const NO_HEADERS: readonly string[] = []
const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","id":')
const AFTER_TEXT = Buffer.from('"}],"isError":false}}')

/** How long a client may keep a list (MCP 2026-07-28, "Caching"); our lists depend on the token. */
const LIST_TTL_MS = 60_000

export class ResultWriter {
  readonly #modern: boolean
  readonly #serverInfo: { readonly [key: string]: unknown }
  readonly #serverInfoJson: string
  readonly #beforeText: Uint8Array

  constructor(version: ProtocolVersion, serverInfo: object) {
    this.#modern = isModernVersion(version)
    this.#serverInfo = { 'io.modelcontextprotocol/serverInfo': serverInfo }
    this.#serverInfoJson = JSON.stringify(this.#serverInfo)
    const text = '"content":[{"type":"text","text":"'
    const members = this.#modern ? `"resultType":"complete","_meta":${this.#serverInfoJson},` : ''
    this.#beforeText = Buffer.from(`,"result":{${members}${text}`)
  }

  /** What `complete` makes of a successful result with this text alone. @returns undefined when the bytes are not plainly UTF-8 */
  completeText(id: RequestId, text: Uint8Array, headers: readonly string[]): RpcReply | undefined {
    const body = textMessage([BEFORE_ID, idJson(id), this.#beforeText], text, AFTER_TEXT)
    return body === undefined ? undefined : { status: 200, headers, body }
  }

  /** @param resultJson a serialized object, its first piece longer than its opening brace */
  complete(
    id: RequestId,
    resultJson: string | Pieces,
    headers: readonly string[] = NO_HEADERS,
    meta?: Meta | undefined,
  ): RpcReply {
    if (typeof resultJson !== 'string') {
      const [first, ...rest] = resultJson
      const frame = this.complete(id, `${first}}`, headers, meta)
      return { ...frame, body: longMessage(id, (frame.body as string).slice(0, -2), [...rest, '}']) }
    }
    const members = this.#modern ? '"resultType":"complete"' : ''
    const whole = this.#modern || meta !== undefined ? this.#with(resultJson, members, meta) : resultJson
    return { status: 200, headers, body: resultMessage(id, whole) }
  }

  /** A tool call that did not do its work: the model reads `text`, programs read `meta`. */
  toolError(
    id: RequestId,
    text: string,
    headers: readonly string[],
    meta?: { readonly [key: string]: unknown },
  ): RpcReply {
    const result = { content: [{ type: 'text', text }], isError: true }
    const _meta = this.#modern ? { ...this.#serverInfo, ...meta } : meta
    const whole = { ...(this.#modern ? { resultType: 'complete' } : undefined), _meta, ...result }
    return { status: 200, headers, body: resultMessage(id, JSON.stringify(whole)) }
  }

  /** A list or the content of a resource: modern results say how long and for whom it holds. */
  list(
    id: RequestId,
    resultJson: string,
    scope: 'public' | 'private' = 'private',
    meta?: Meta,
    ttlMs = LIST_TTL_MS,
  ): RpcReply {
    if (!this.#modern) return this.complete(id, resultJson, NO_HEADERS, meta)
    const members = `"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"${scope}"`
    const json = this.#with(resultJson, members, meta)
    return { status: 200, headers: NO_HEADERS, body: resultMessage(id, json) }
  }

  /** A task in place of a result (MCP 2025-11-25, `CreateTaskResult`; 2026-07-28, extension of tasks). */
  task(id: RequestId, task: object): RpcReply {
    const json = this.#modern
      ? this.#with(JSON.stringify(task), '"resultType":"task"')
      : JSON.stringify({ task })
    return { status: 200, headers: NO_HEADERS, body: resultMessage(id, json) }
  }

  /** MCP 2026-07-28, "Multi round-trip requests". Only for the modern era. */
  inputRequired(id: RequestId, inputRequests: object, requestState: string): RpcReply {
    const json = JSON.stringify({ inputRequests, requestState })
    return {
      status: 200,
      headers: NO_HEADERS,
      body: resultMessage(id, this.#with(json, '"resultType":"input_required"')),
    }
  }

  #with(resultJson: string, members: string, meta?: Meta): string {
    const rest = resultJson.slice(1)
    const metaJson =
      meta === undefined
        ? this.#serverInfoJson
        : JSON.stringify(this.#modern ? { ...this.#serverInfo, ...meta } : meta)
    return `{${members}${members === '' ? '' : ','}"_meta":${metaJson}${rest === '}' ? '' : ','}${rest}`
  }

  methodNotFound(id: RequestId, method: string): RpcReply {
    const response = fault(id, METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 64)}`)
    return this.#modern ? { ...response, status: 404 } : response
  }
}

export function longMessage(id: RequestId, start: string, rest: Pieces): LongMessage {
  const tooLong = errorMessage(id, {
    code: INTERNAL_ERROR,
    message:
      'The result is too long for a batch or for the event stream of a session. Send this request alone, in a POST request whose Accept header contains only application/json.',
  })
  return { pieces: [start, ...rest], tooLong }
}

/** The message as text, or an error in its place. */
export async function textOf(body: RpcReply['body']): Promise<string> {
  if (body instanceof Uint8Array) return utf8Text(body)
  return typeof body === 'string' ? body : ((await joinedText(body.pieces)) ?? body.tooLong)
}

export function utf8Text({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** An error that goes with HTTP 200 unless said otherwise. */
export function fault(
  id: RequestId | null,
  code: number,
  message: string,
  data?: unknown,
  status = 200,
): RpcReply {
  return {
    status,
    headers: NO_HEADERS,
    body: errorMessage(id, data === undefined ? { code, message } : { code, message, data }),
  }
}
