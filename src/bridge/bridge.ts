/** Serves a stdio MCP server over Streamable HTTP, with a process for each session. */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { Backoff } from '../base/async/backoff.ts'
import { readMessages, type ServerMessage } from '../mcp/client/messages.ts'
import { INVALID_REQUEST, PARSE_ERROR, SERVER_ERROR } from '../model/rpc-errors.ts'
import { allowHosts, onlyHosts } from '../net/server/allowed-hosts.ts'
import { createListener } from '../net/server/create.ts'
import {
  DEFAULT_LISTENER_LIMITS,
  type HttpRequest,
  type HttpResponse,
  type Listener,
} from '../net/server/listener.ts'
import { BridgeSession, type ClientRequest } from './bridge-session.ts'
import { Reply, STREAM_HEADERS, sendError, sendJson } from './reply.ts'
import type { StdioCommand } from './stdio-process.ts'

export interface BridgeOptions {
  readonly command: StdioCommand
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Sessions at once, and with them processes: a new session waits for a process of an ended one that is still stopping. */
  readonly maxSessions: number
  /** A session without requests ends after this time. */
  readonly idleMs: number
  /** Callers must send it as a bearer token. */
  readonly token?: string | undefined
  /** Receives one line for each event worth knowing. */
  readonly log: (line: string) => void
}

const MAX_BODY_BYTES = 4 * 1024 * 1024
const SWEEP_MS = 5_000
/** A process that ends sooner has crashed. */
const STABLE_MS = 10_000
const BACKOFF = { firstMs: 500, maxMs: 30_000 }
const KEEP_ALIVE_MS = 15_000

export class Bridge {
  readonly #options: BridgeOptions
  readonly #listener: Listener
  readonly #sessions = new Map<string, BridgeSession>()
  /** For sessions whose processes have not ended yet. */
  readonly #stopping = new Set<Promise<void>>()
  readonly #backoff = new Backoff(BACKOFF)
  readonly #tokenHash: Buffer | undefined
  #notBeforeMs = 0
  #sweeper: NodeJS.Timeout | undefined
  #closing = false

  constructor(options: BridgeOptions) {
    this.#options = options
    this.#tokenHash = options.token === undefined ? undefined : hashOf(`Bearer ${options.token}`)
    this.#listener = createListener('node', {
      host: options.host,
      port: options.port,
      addressSettings: '--port (or --host)',
      limits: DEFAULT_LISTENER_LIMITS,
      handler: onlyHosts(
        allowHosts([options.host]),
        (request, response) => this.#handle(request, response),
        () => {},
      ),
      allowChunkedRequests: true,
      sharePort: false,
      onRefused: () => {},
      onHandlerError: error => options.log(`a request to the bridge failed: ${(error as Error).message}`),
    })
  }

  /** @returns the address of the MCP endpoint @throws Error when the port is taken */
  async listen(): Promise<string> {
    const { port } = await this.#listener.listen()
    this.#sweeper = setInterval(() => this.#endIdle(), Math.min(SWEEP_MS, this.#options.idleMs))
    const { host } = this.#options
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`
  }

  /** Ends every process, then the listener. Never rejects. */
  async close(): Promise<void> {
    this.#closing = true
    clearInterval(this.#sweeper)
    this.#listener.stopAccepting()
    for (const session of this.#sessions.values()) this.#end(session)
    await Promise.all(this.#stopping)
    await this.#listener.close()
  }

  #handle(request: HttpRequest, response: HttpResponse): void {
    if (request.path === '/health')
      return sendJson(response, 200, JSON.stringify({ status: 'ok', sessions: this.#sessions.size }))
    if (request.path !== '/mcp')
      return sendError(
        response,
        404,
        SERVER_ERROR,
        'This path does not exist. The path of the MCP endpoint is "/mcp".',
      )
    // a browser sends one, and no page may use a local server
    if (request.header('origin') !== '')
      return sendError(
        response,
        403,
        SERVER_ERROR,
        'The bridge refuses requests with an Origin header, because web pages may not call the bridge.',
      )
    if (!this.#isAuthorized(request))
      return sendError(
        response,
        401,
        SERVER_ERROR,
        'The bridge requires a token. Send the token from the file in --token-file as a bearer token.',
        ['www-authenticate', 'Bearer'],
      )
    if (request.method === 'POST') {
      return request.readBody(
        MAX_BODY_BYTES,
        body => this.#post(request, response, Buffer.from(body).toString('utf8')),
        () =>
          sendError(
            response,
            413,
            INVALID_REQUEST,
            `The request body is larger than ${MAX_BODY_BYTES} bytes.`,
          ),
      )
    }
    const session = this.#sessions.get(request.header('mcp-session-id'))
    if (request.method === 'DELETE') {
      if (session === undefined) return sendError(response, 404, SERVER_ERROR, 'Session not found.')
      this.#end(session)
      return response.send(200, [])
    }
    if (request.method !== 'GET' || request.header('mcp-session-id') === '')
      return response.send(405, ['allow', 'GET, POST, DELETE'])
    if (session === undefined) return sendError(response, 404, SERVER_ERROR, 'Session not found.')
    if (session.hasStream)
      return sendError(response, 409, SERVER_ERROR, 'The session already has an open stream.')
    const stream = response.stream(200, STREAM_HEADERS)
    const keepAlive = setInterval(() => {
      // ended with its session
      if (response.closed) clearInterval(keepAlive)
      else stream.write(':\n\n')
    }, KEEP_ALIVE_MS)
    response.onAbort(() => {
      clearInterval(keepAlive)
      session.streamClosed(stream)
    })
    session.openStream(stream)
  }

  #post(request: HttpRequest, response: HttpResponse, text: string): void {
    let messages: readonly ServerMessage[]
    try {
      messages = readMessages(text, Number.POSITIVE_INFINITY)
    } catch {
      return sendError(response, 400, PARSE_ERROR, 'The request body is not a JSON-RPC message.')
    }
    const [message] = messages
    if (message === undefined || messages.length > 1 || text.trimStart().startsWith('['))
      return sendError(response, 400, INVALID_REQUEST, 'Batches are not supported: send one message.')
    const id = request.header('mcp-session-id')
    const known = this.#sessions.get(id)
    if (id !== '' && known === undefined) return sendError(response, 404, SERVER_ERROR, 'Session not found.')
    if (known === undefined && (message.kind !== 'request' || message.method !== 'initialize'))
      return sendError(
        response,
        400,
        SERVER_ERROR,
        'The request has no header Mcp-Session-Id. Send initialize first.',
      )
    if (known === undefined && this.#mustWait()) {
      // at most for the time that a process has to stop
      void Promise.race(this.#stopping).then(() => {
        if (!response.closed) this.#post(request, response, text)
      })
      return
    }
    const session = known ?? this.#open(response)
    if (session === undefined) return
    // one line is one message
    const line = text.replace(/[\r\n]+/g, ' ')
    if (message.kind === 'request') return this.#request(session, message, line, request, response)
    session.forward(line, message)
    response.send(202, [])
  }

  #request(
    session: BridgeSession,
    message: ClientRequest,
    line: string,
    request: HttpRequest,
    response: HttpResponse,
  ): void {
    const headers = message.method === 'initialize' ? ['mcp-session-id', session.id] : []
    const canStream = request.header('accept').includes('text/event-stream')
    const reply = new Reply(response, headers, canStream)
    const refused = session.request(message, line, reply)
    if (refused !== undefined)
      return sendError(response, 503, SERVER_ERROR, `The request cannot be sent to the command: ${refused}.`)
    response.onAbort(() => {
      session.abandon(message, reply)
      // no client has the id of a session whose first request got no response
      if (request.header('mcp-session-id') === '') this.#end(session)
    })
  }

  /** True when only processes that are stopping keep a session from being opened. */
  #mustWait(): boolean {
    const { maxSessions } = this.#options
    const { size } = this.#sessions
    return !this.#closing && size < maxSessions && size + this.#stopping.size >= maxSessions
  }

  /** Starts a process; responds itself when it may not. */
  #open(response: HttpResponse): BridgeSession | undefined {
    const { maxSessions, command, log } = this.#options
    if (this.#closing || this.#sessions.size >= maxSessions) {
      const why = this.#closing
        ? 'The bridge is shutting down.'
        : `The bridge has reached its limit of ${maxSessions} sessions. End a session, or retry later.`
      sendError(response, 503, SERVER_ERROR, why)
      return undefined
    }
    if (Date.now() < this.#notBeforeMs) {
      sendError(
        response,
        503,
        SERVER_ERROR,
        'The command crashed, and the bridge waits before it starts the command again. Retry later.',
      )
      return undefined
    }
    const session: BridgeSession = new BridgeSession(randomUUID(), command, log, reason => {
      // an end that was asked for is not a crash
      if (this.#sessions.delete(session.id)) this.#handleCrash(session, reason)
    })
    this.#sessions.set(session.id, session)
    return session
  }

  #handleCrash({ startedAtMs }: BridgeSession, reason: string): void {
    if (Date.now() - startedAtMs > STABLE_MS) this.#backoff.reset()
    else this.#notBeforeMs = Date.now() + this.#backoff.nextMs()
    this.#options.log(reason)
  }

  #end(session: BridgeSession): void {
    this.#sessions.delete(session.id)
    const stopping = session.stop().then(() => void this.#stopping.delete(stopping))
    this.#stopping.add(stopping)
  }

  #endIdle(): void {
    const beforeMs = Date.now() - this.#options.idleMs
    for (const session of this.#sessions.values())
      if (session.inFlight === 0 && session.usedAtMs < beforeMs) this.#end(session)
  }

  #isAuthorized(request: HttpRequest): boolean {
    if (this.#tokenHash === undefined) return true
    return timingSafeEqual(hashOf(request.header('authorization')), this.#tokenHash)
  }
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
