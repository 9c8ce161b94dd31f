/** MCP sessions with an open stream each during a chaos run, used at gateways drawn at random. It opens another session when one has ended. */
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Accounts, AGENTS } from './accounts.ts'
import { now } from './backend.ts'
import { type Got, jsonOf, send } from './http.ts'
import { requestId, toolCall, upOf } from './load.ts'
import { type Random, seeded } from './random.ts'
import type { Kind, RunRecord } from './record.ts'
import type { Member, System } from './system.ts'

const SESSIONS = 6
const CALL_EVERY_MS = 800
const MAX_CALLS = 60
const REOPEN_MS = 250
const SEED_OFFSET = 2
const PROTOCOL = '2025-11-25'
const INITIALIZE = {
  protocolVersion: PROTOCOL,
  capabilities: {},
  clientInfo: { name: 'chaos', version: '1' },
}

export function startSessions(
  system: System,
  accounts: Accounts,
  record: RunRecord,
): { stop(): Promise<void> } {
  const random = seeded(record.seed + SEED_OFFSET)
  let stopping = false
  const loop = async (agent: string): Promise<void> => {
    for (; !stopping; await sleep(REOPEN_MS)) {
      const member = upOf(system.gateways, random)
      if (member === undefined) continue
      const session = new Session(member, accounts.tokens.get(agent)!, agent, record)
      if (await session.open()) await session.use(system, random, () => stopping)
    }
  }
  const loops = Array.from({ length: SESSIONS }, (_, at) => loop(AGENTS[at % AGENTS.length]!))
  return {
    async stop() {
      stopping = true
      await Promise.all(loops)
    },
  }
}

class Session {
  readonly #member: Member
  readonly #token: string
  readonly #agent: string
  readonly #record: RunRecord
  #id = ''
  #stream: IncomingMessage | undefined

  constructor(member: Member, token: string, agent: string, record: RunRecord) {
    this.#member = member
    this.#token = token
    this.#agent = agent
    this.#record = record
  }

  async open(): Promise<boolean> {
    const response = await this.#post(this.#member, 'initialize', INITIALIZE)
    const id = response.headers['mcp-session-id']
    if (response.status !== 200 || typeof id !== 'string') return false
    this.#id = id
    const startedAt = now()
    this.#stream = await this.#openStream()
    this.#note('stream', this.#member, startedAt, this.#stream !== undefined, 0, 'the stream did not open')
    this.#stream?.once('close', () => {
      if (this.#stream !== undefined)
        this.#note('stream', this.#member, now(), false, 200, 'the stream ended')
      this.#stream = undefined
    })
    return this.#stream !== undefined
  }

  /** Until it fails, has made its calls or the run ends. */
  async use(system: System, random: Random, stopping: () => boolean): Promise<void> {
    for (let count = 0; count < MAX_CALLS && !stopping() && this.#stream !== undefined; count++) {
      const member = upOf(system.gateways, random)
      if (member !== undefined) {
        const response = await this.#post(member, 'tools/call', toolCall(random))
        if (response.status !== 200) break
      }
      await sleep(random.between(0, 2 * CALL_EVERY_MS))
    }
    await this.#close()
  }

  async #close(): Promise<void> {
    const stream = this.#stream
    this.#stream = undefined
    stream?.destroy()
    await send(`${this.#member.url}/mcp`, { method: 'DELETE', headers: this.#headers(), timeoutMs: 5_000 })
  }

  async #post(member: Member, method: string, params: object): Promise<Got> {
    const startedAt = now()
    const id = requestId(this.#agent)
    const response = await send(`${member.url}/mcp`, {
      method: 'POST',
      headers: { ...this.#headers(), accept: 'application/json', 'x-request-id': id },
      body: { jsonrpc: '2.0', id: 1, method, params },
    })
    const result = jsonOf(response)?.result
    const ok = response.status === 200 && result !== undefined && result.isError !== true
    this.#note(
      'session',
      member,
      startedAt,
      ok,
      response.status,
      `${method} ${response.text.slice(0, 200)}`,
      id,
    )
    if (method === 'tools/call' && response.status === 200) this.#record.metered.add(id)
    return response
  }

  #openStream(): Promise<IncomingMessage | undefined> {
    return new Promise(resolve => {
      const call = request(
        `${this.#member.url}/mcp`,
        { agent: false, headers: { ...this.#headers(), accept: 'text/event-stream' } },
        response => {
          response.on('error', () => {})
          response.resume()
          if (response.statusCode === 200) return resolve(response)
          response.destroy()
          resolve(undefined)
        },
      )
      call.on('error', () => resolve(undefined))
      call.end()
    })
  }

  #headers(): Record<string, string> {
    return {
      authorization: `Bearer ${this.#token}`,
      'mcp-protocol-version': PROTOCOL,
      ...(this.#id === '' ? {} : { 'mcp-session-id': this.#id }),
    }
  }

  #note(
    kind: Kind,
    { name: member }: Member,
    startedAt: number,
    ok: boolean,
    status: number,
    detail: string,
    id = '',
  ): void {
    this.#record.calls.push({
      kind,
      member,
      id,
      startedAt,
      endedAt: now(),
      status,
      ok,
      detail: ok ? '' : detail,
    })
  }
}
