/** A connection to an MCP server: requests and notifications in both directions, and the encoding of header values. `connect.ts` makes it. */

import { continueWith, type MaybePending } from '../../base/and-then.ts'
import { BoundedMap } from '../../base/async/bounded-map.ts'
import { Cancellation } from '../../base/cancellation.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../../model/rpc-errors.ts'
import type { ClientInfo, Dict, RequestId, RequestOptions, RpcOutcome } from '../protocol.ts'
import { MODERN_VERSION } from '../versions.ts'
import { notificationText, requestText, responseText, type ServerMessage } from './messages.ts'
import { RequestReceivers } from './receivers.ts'
import type { OnMessage, Wire } from './wire.ts'

type ServerRequest = Extract<ServerMessage, { kind: 'request' }>

/** What a server sends beside responses. */
export type Unrequested = Exclude<ServerMessage, { kind: 'response' }>

/** What the server said in the handshake. */
export interface ServerSide {
  readonly version: string
  readonly capabilities: Dict
}

const META_VERSION = 'io.modelcontextprotocol/protocolVersion'
const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const META_LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const META_INFO = 'io.modelcontextprotocol/clientInfo'
const LIST_CHANGES: Dict = { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true }
/** For a listening request, which ends with the connection. */
const FOREVER_MS = 2 ** 31 - 1
const NO_HEADERS: readonly string[] = []
/** A level that the server refuses so is not sent before each call. */
const NEVER_TAKEN: ReadonlySet<number> = new Set([METHOD_NOT_FOUND, INVALID_PARAMS])
const MAX_TOOLS = 100
/** For all its notifications; then it ends, and another one has to be opened. */
const MAX_LISTENED_BYTES = 16 * 1024 * 1024

export type OnNotification = (method: string, params: Dict) => void

export class McpConnection {
  /** Requests in flight. */
  inFlight = 0
  readonly #client: ClientInfo
  #wire: Wire | undefined
  #server: ServerSide | undefined
  #lastId = 0
  /** JSON of the `_meta` of a request without capabilities, level and progress (2026-07-28). */
  #plainMeta: string | undefined
  /** By name of the tool. */
  readonly #toolHeaders = new BoundedMap<string, readonly string[]>(MAX_TOOLS)
  readonly #receivers = new RequestReceivers()
  /** That the server has, or is being sent. */
  #logLevel: string | undefined
  readonly #onNotification: OnNotification
  readonly #idPrefix: string
  /** Receives what arrived beside the streams of calls and belongs to no call of this connection; set for a session that others use too. */
  onStray: ((message: Unrequested) => void) | undefined
  /** For the request that receives notifications (2026-07-28). */
  readonly #listening = new Cancellation()

  /**
   * @param onNotification receives notifications that belong to no request
   * @param idPrefix of request ids, where another connection numbers requests of the same session
   */
  constructor(client: ClientInfo, onNotification: OnNotification = () => {}, idPrefix = '') {
    this.#idPrefix = idPrefix
    this.#client = client
    this.#onNotification = onNotification
  }

  /** The receiver of a wire that is made for this connection. */
  readonly onMessage: OnMessage = (message, requestId) => {
    if (requestId === undefined && this.onStray !== undefined && !this.concerns(message))
      return this.onStray(message)
    if (message.kind === 'request') return void this.#respond(message, requestId)
    if (message.method === 'notifications/message') return this.#log(message.params, requestId)
    if (message.method !== 'notifications/progress')
      return this.#onNotification(message.method, message.params)
    const { progressToken, progress, total, message: text } = message.params
    if (typeof progress === 'number')
      this.#receivers
        .get(progressToken as RequestId)
        ?.onProgress?.(
          progress,
          typeof total === 'number' ? total : undefined,
          typeof text === 'string' ? text : undefined,
        )
  }

  /** Whether a message beside the streams of calls is for this connection: for a call of it, or for no call, such as a ping. */
  concerns(message: Unrequested): boolean {
    if (message.kind === 'request')
      return message.method === 'ping' || this.#receivers.only('onServerRequest') !== undefined
    if (message.method === 'notifications/message') return this.#receivers.only('onLog') !== undefined
    if (message.method !== 'notifications/progress') return true
    return this.#receivers.get(message.params.progressToken as RequestId)?.onProgress !== undefined
  }

  /** Called once, before the first request. */
  attach(wire: Wire): void {
    this.#wire = wire
  }

  /** Called once, with the result of the handshake. */
  settle(server: ServerSide): void {
    this.#server = server
  }

  get server(): ServerSide {
    return this.#server!
  }

  get isModern(): boolean {
    return this.#server?.version === MODERN_VERSION
  }

  /** True once another connection has to be made. */
  get lost(): boolean {
    return this.#wire?.lost === true
  }

  /**
   * Never rejects, and never throws: parameters were read from JSON, so that they can be written as JSON.
   * @param modern sends the request in the form of 2026-07-28 before the handshake has settled the version
   */
  request(
    method: string,
    params: Dict,
    options: RequestOptions,
    modern = this.isModern,
    deadlineMs = performance.now() + options.timeoutMs,
  ): MaybePending<RpcOutcome> {
    const number = ++this.#lastId
    const id = this.#idPrefix === '' ? number : `${this.#idPrefix}${number}`
    const { onProgress, onLog, onServerRequest, headers = NO_HEADERS } = options
    // each member by name: copying the rest of an object takes as long as sending the request
    const request = {
      id,
      text: requestText(id, method, params, this.#metaText(id, params, options, modern)),
      headers: modern ? headers.concat(this.#modernHeaders(method, params)) : headers,
      deadlineMs,
      maxResponseBytes: options.maxResponseBytes,
      budget: options.budget,
      party: options.party,
      maxParseNs: options.maxParseNs,
      shortTexts: options.shortTexts,
      cancellation: options.cancellation,
      onBytes: options.onBytes,
      isLasting: options.isLasting === true,
    }
    const receivers = this.#receivers.add(id, onProgress, onServerRequest, onLog)
    this.inFlight++
    return continueWith(this.#wire!.request(request), outcome => {
      this.inFlight--
      if (receivers !== undefined) this.#receivers.end(id, receivers)
      if (!modern && method !== 'initialize' && outcome.kind === 'failure' && outcome.sent)
        this.#cancel(id, outcome.reason)
      return outcome
    })
  }

  /** JSON of `_meta`; undefined: there is none, or the parameters have it. */
  #metaText(
    id: RequestId,
    { _meta: own }: Dict,
    { onProgress, capabilities, logLevel }: RequestOptions,
    modern: boolean,
  ): string | undefined {
    if (own === undefined && onProgress === undefined) {
      if (!modern) return undefined
      if (capabilities === undefined && logLevel === undefined) {
        this.#plainMeta ??= writeJson(this.#envelope({}, undefined))
        return this.#plainMeta
      }
    }
    const meta = {
      ...(isObject(own) ? own : undefined),
      ...(onProgress === undefined ? undefined : { progressToken: id }),
      ...(modern ? this.#envelope(capabilities ?? {}, logLevel) : undefined),
    }
    return writeJson(meta)
  }

  /** MCP 2026-07-28, "Request headers". Most requests name the target of one before. */
  #modernHeaders(method: string, { name, uri, taskId }: Dict): readonly string[] {
    const target = typeof name === 'string' ? name : typeof uri === 'string' ? uri : taskId
    const called =
      method === 'tools/call' && typeof target === 'string' ? this.#toolHeaders.get(target) : undefined
    if (called !== undefined) return called
    const headers = ['mcp-protocol-version', MODERN_VERSION, 'mcp-method', method]
    if (typeof target !== 'string') return headers
    headers.push('mcp-name', headerValue(target))
    if (method !== 'tools/call') return headers
    this.#toolHeaders.set(target, headers)
    return headers
  }

  notify(method: string): Promise<void> {
    return this.#wire!.send(notificationText(method), [])
  }

  /**
   * Receives notifications until the stream ends, where the server offers one. Never rejects.
   * @param notifications that a server of 2026-07-28 sends; older ones send all
   */
  async listen(notifications: Dict = LIST_CHANGES): Promise<'ended' | 'unsupported'> {
    if (!this.isModern) return this.#wire!.listen()
    const outcome = await this.request(
      'subscriptions/listen',
      { notifications },
      {
        timeoutMs: FOREVER_MS,
        maxResponseBytes: MAX_LISTENED_BYTES,
        cancellation: this.#listening,
        isLasting: true,
      },
    )
    return outcome.kind === 'error' && outcome.code === METHOD_NOT_FOUND ? 'unsupported' : 'ended'
  }

  /** @param keepSession it stays open at the server */
  async close(keepSession = false): Promise<void> {
    this.#listening.cancel()
    await this.#wire?.close(keepSession)
  }

  /** Refuses a request of the server that no connection handles. */
  async refuse({ id, method }: ServerRequest): Promise<void> {
    await this.#wire?.send(responseText(id, { error: refusalOf(method) }), [])
  }

  /** Sends the level to a server that keeps it for the session, until the server has taken it. */
  async setLogLevel(level: string | undefined, options: RequestOptions): Promise<void> {
    if (level === undefined || level === this.#logLevel || this.isModern) return
    if (!isObject(this.server.capabilities.logging)) return
    this.#logLevel = level
    const { timeoutMs, maxResponseBytes, cancellation } = options
    const outcome = await this.request(
      'logging/setLevel',
      { level },
      { timeoutMs, maxResponseBytes, cancellation },
    )
    const isFinal = outcome.kind === 'result' || (outcome.kind === 'error' && NEVER_TAKEN.has(outcome.code))
    if (!isFinal && this.#logLevel === level) this.#logLevel = undefined
  }

  /** Beside the streams of calls, it belongs to the only call in flight. */
  #log(params: Dict, requestId: RequestId | undefined): void {
    const onLog =
      requestId === undefined ? this.#receivers.only('onLog') : this.#receivers.get(requestId)?.onLog
    onLog?.(params)
  }

  /** A disconnect does not cancel a request of a legacy session. */
  #cancel(requestId: RequestId, reason: string): void {
    if (reason !== 'cancelled' && reason !== 'timeout') return
    const said = reason === 'timeout' ? 'the call has timed out' : 'the caller cancelled the call'
    const text = notificationText('notifications/cancelled', { requestId, reason: said })
    void this.#wire!.send(text, [])
  }

  /** A request that arrives beside the streams of calls belongs to the only call that could have caused it. */
  async #respond({ id, method, params }: ServerRequest, requestId: RequestId | undefined): Promise<void> {
    const handler =
      requestId === undefined
        ? this.#receivers.only('onServerRequest')
        : this.#receivers.get(requestId)?.onServerRequest
    const result = method === 'ping' ? {} : await handler?.(method, params)
    const response = result === undefined ? { error: refusalOf(method) } : { result }
    await this.#wire?.send(responseText(id, response), [])
  }

  #envelope(capabilities: Dict, logLevel: string | undefined): Dict {
    return {
      [META_VERSION]: MODERN_VERSION,
      [META_CAPABILITIES]: capabilities,
      [META_INFO]: this.#client,
      ...(logLevel === undefined ? undefined : { [META_LOG_LEVEL]: logLevel }),
    }
  }
}

function refusalOf(method: string): Dict {
  return { code: METHOD_NOT_FOUND, message: `${method.slice(0, 100)} is not supported for this call` }
}

/** As it is where a header can carry it, else `=?base64?…?=` (MCP 2026-07-28, "Encoding of header values"). */
export function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?')
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}
