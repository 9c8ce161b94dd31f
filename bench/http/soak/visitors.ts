/** Sessions that come and go beside the calls of a soak: initialize, an event stream, a few pings, then DELETE or none. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Toolgate } from '../load/toolgate.ts'

const EVERY_MS = 500
const STAY_MS = 8000
const PINGS = 3

interface McpResponse {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

const rpc = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) })

const INITIALIZE = rpc('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'visitor', version: '1' },
})

export class Visitors {
  readonly #url: URL
  readonly #token: string
  readonly #onFault: (fault: Error) => void
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  readonly #staying = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout
  came = 0
  /** Visits that ended without a fault. */
  left = 0

  constructor({ url, token }: Toolgate, onFault: (fault: Error) => void) {
    this.#url = new URL(url.replace('localhost', '127.0.0.1'))
    this.#token = token
    this.#onFault = onFault
    this.#timer = setInterval(() => this.#come(), EVERY_MS)
  }

  /** No more come; those inside finish. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#staying)
    this.#agent.destroy()
  }

  #come(): void {
    const number = ++this.came
    const visit = this.#visit(number % 2 === 0).then(
      () => {
        this.left++
      },
      (error: unknown) => this.#onFault(error as Error),
    )
    this.#staying.add(visit)
    void visit.finally(() => this.#staying.delete(visit))
  }

  /** @param polite ends its session; else it only hangs up, and the gateway has to expire it */
  async #visit(polite: boolean): Promise<void> {
    const opened = await this.#ask('POST', INITIALIZE)
    const id = opened.headers['mcp-session-id']
    if (opened.status !== 200 || typeof id !== 'string') throw wrong('initialize', opened)
    const session = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-06-18' }
    const hangUp = await this.#listen(session)
    try {
      for (let ping = 0; ping < PINGS; ping++) {
        await sleep(STAY_MS / PINGS)
        const response = await this.#ask('POST', rpc('ping'), session)
        if (response.status !== 200 || !response.text.includes('"result":{}'))
          throw wrong('ping in a session', response)
      }
    } finally {
      hangUp()
    }
    if (!polite) return
    const ended = await this.#ask('DELETE', undefined, session)
    if (ended.status >= 300) throw wrong('the end of a session', ended)
  }

  /** Opens the stream of a session. @returns what closes it */
  #listen(session: Record<string, string>): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const asked = request(
        new URL('/mcp', this.#url),
        {
          agent: false,
          headers: { authorization: `Bearer ${this.#token}`, accept: 'text/event-stream', ...session },
        },
        response => {
          let leaving = false
          if (response.statusCode !== 200)
            return reject(new Error(`a stream got response ${response.statusCode}`))
          response.resume()
          response.on('error', () => {})
          response.on('close', () => {
            if (!leaving) this.#onFault(new Error('the gateway ended a stream'))
          })
          resolve(() => {
            leaving = true
            asked.destroy()
          })
        },
      )
      asked.on('error', reject)
      asked.end()
    })
  }

  #ask(
    method: 'POST' | 'DELETE',
    body: string | undefined,
    more: Record<string, string> = {},
  ): Promise<McpResponse> {
    return new Promise((resolve, reject) => {
      const asked = request(
        new URL('/mcp', this.#url),
        {
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#token}`,
            accept: 'application/json, text/event-stream',
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...more,
          },
        },
        response => {
          let text = ''
          response.setEncoding('utf8').on('data', chunk => {
            text += chunk
          })
          response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
          response.on('error', reject)
        },
      )
      asked.on('error', reject)
      asked.end(body)
    })
  }
}

const wrong = (what: string, { status, text }: McpResponse): Error =>
  new Error(`${what} got response ${status} ${text.slice(0, 300)}`)
