/** One MCP session of the bridge: its process, the requests in flight, and the stream of the client. */
import { readJson, writeJson } from '../base/json/exact-number.ts'
import { isObject } from '../base/json/is-object.ts'
import { readMessages, responseText, type ServerMessage } from '../mcp/client/messages.ts'
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from '../model/rpc-errors.ts'
import type { ResponseStream } from '../net/server/listener.ts'
import { eventOf, type Reply } from './reply.ts'
import { type StdioCommand, StdioProcess } from './stdio-process.ts'

export type ClientRequest = Extract<ServerMessage, { kind: 'request' }>

interface Pending {
  readonly id: unknown
  readonly reply: Reply
  /** JSON of the token; undefined when the client did not ask for progress. */
  readonly progressToken: string | undefined
}

const MAX_PENDING = 256
/** Messages that wait for the stream of the client. */
const MAX_WAITING = 100

export class BridgeSession {
  readonly id: string
  readonly startedAtMs = Date.now()
  /** For the last message of the client, or the end of its last request. */
  usedAtMs = Date.now()
  readonly #process: StdioProcess
  readonly #pending = new Map<string, Pending>()
  readonly #waiting: string[] = []
  readonly #log: (line: string) => void
  #stream: ResponseStream | undefined

  /** @param onEnd called once, when the process has ended or could not be started */
  constructor(
    id: string,
    command: StdioCommand,
    log: (line: string) => void,
    onEnd: (reason: string) => void,
  ) {
    this.id = id
    this.#log = log
    this.#process = new StdioProcess(command, {
      onLine: line => this.#receive(line),
      onEnd: reason => {
        const error = { code: INTERNAL_ERROR, message: `the command ended before it responded: ${reason}` }
        for (const { id: own, reply } of this.#pending.values()) reply.end(responseText(own, { error }))
        this.#pending.clear()
        this.#stream?.end()
        onEnd(reason)
      },
    })
  }

  get inFlight(): number {
    return this.#pending.size
  }

  /** @returns why the request cannot be sent; undefined when it was */
  request({ id, params }: ClientRequest, text: string, reply: Reply): string | undefined {
    this.usedAtMs = Date.now()
    const key = writeJson(id)
    if (this.#pending.has(key)) return `another request with the id ${key.slice(0, 100)} is in flight`
    if (this.#pending.size >= MAX_PENDING)
      return `the session has reached its limit of ${MAX_PENDING} requests in flight`
    const token = isObject(params._meta) ? params._meta.progressToken : undefined
    this.#pending.set(key, { id, reply, progressToken: token === undefined ? undefined : writeJson(token) })
    if (this.#process.send(text)) return undefined
    this.#pending.delete(key)
    return 'the command does not read its standard input'
  }

  /** A notification, or the response to a request of the server. */
  forward(text: string, message: ServerMessage): void {
    this.usedAtMs = Date.now()
    this.#process.send(text)
    // servers do not respond to a request that was cancelled (MCP, "Cancellation")
    if (message.kind === 'notification' && message.method === 'notifications/cancelled')
      this.#cancel(writeJson(message.params.requestId ?? null))
  }

  /** The client has disconnected: no response can reach it. The program is asked to stop its work, except on `initialize` (MCP, "Cancellation"). */
  abandon({ id, method }: ClientRequest, reply: Reply): void {
    const key = writeJson(id)
    if (this.#pending.get(key)?.reply !== reply) return
    this.#pending.delete(key)
    if (method === 'initialize') return
    const params = { requestId: id, reason: 'the client has disconnected' }
    this.#process.send(writeJson({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))
  }

  #cancel(key: string): void {
    const cancelled = this.#pending.get(key)
    if (cancelled === undefined) return
    this.#pending.delete(key)
    const error = { code: INTERNAL_ERROR, message: 'the request was cancelled' }
    cancelled.reply.end(responseText(cancelled.id, { error }))
  }

  get hasStream(): boolean {
    return this.#stream !== undefined
  }

  /** Sends what belongs to no request. */
  openStream(stream: ResponseStream): void {
    this.#stream = stream
    stream.write(': open\n\n')
    for (const json of this.#waiting.splice(0)) stream.write(eventOf(json))
  }

  streamClosed(stream: ResponseStream): void {
    if (this.#stream === stream) this.#stream = undefined
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }

  #receive(line: string): void {
    let messages: readonly ServerMessage[]
    try {
      messages = readMessages(line, Number.POSITIVE_INFINITY)
    } catch (error) {
      // programs print such lines by mistake
      return this.#log(
        `ignored ${(error as Error).message} in the output of the command: ${line.slice(0, 200)}`,
      )
    }
    const [message] = messages
    if (!line.startsWith('[')) return this.#route(message!, line)
    // clients that do not expect a batch (MCP 2025-03-26) receive its messages one by one
    for (const one of readJson(line) as unknown[]) this.#receive(writeJson(one))
  }

  #route(message: ServerMessage, json: string): void {
    if (message.kind === 'response') {
      const key = writeJson(message.id)
      const pending = this.#pending.get(key)
      this.#pending.delete(key)
      this.usedAtMs = Date.now()
      return pending?.reply.end(json)
    }
    if (this.#deliver(message, json)) return
    if (message.kind === 'request') {
      const error = {
        code: METHOD_NOT_FOUND,
        message: 'the client has no open stream through which it can receive requests',
      }
      this.#process.send(responseText(message.id, { error }))
    } else {
      this.#waiting.push(json)
      if (this.#waiting.length > MAX_WAITING) this.#waiting.shift()
    }
  }

  #deliver(message: Exclude<ServerMessage, { kind: 'response' }>, json: string): boolean {
    const { progressToken } = message.params
    const token = progressToken === undefined ? undefined : writeJson(progressToken)
    const all = [...this.#pending.values()]
    const own = token === undefined ? undefined : all.find(pending => pending.progressToken === token)
    if (own !== undefined) return own.reply.notify(json) || true
    if (this.#stream !== undefined) {
      this.#stream.write(eventOf(json))
      return true
    }
    return all.some(({ reply }) => reply.notify(json))
  }
}
