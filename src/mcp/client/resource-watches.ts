/** Notifications about changed resources of MCP servers, over connections that callers share. */

import { Backoff } from '../../base/async/backoff.ts'
import { type BackendAuthentication, isPerCaller } from '../../model/tool.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { BackendTokens } from '../../net/egress/oauth/backend-tokens.ts'
import type { ClientInfo, RequestOptions, ServerAddress } from '../protocol.ts'
import { type Connected, connect } from './connect.ts'

export interface WatchedServer {
  readonly address: ServerAddress
  readonly authentication: BackendAuthentication
  /** The same for calls that may share a connection. */
  readonly key: string
}

interface Options {
  readonly egress: Egress
  readonly tokens: BackendTokens
  readonly client: ClientInfo
}

type Listener = () => void

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024
const MAX_SERVERS = 1_000
/** For one server. */
const MAX_URIS = 10_000
const BACKOFF = { firstMs: 1_000, maxMs: 60_000, jitter: 0.2 }
const UPDATED = 'notifications/resources/updated'
const REPORTS: ReadonlySet<string> = new Set([UPDATED, 'notifications/subscriptions/acknowledged'])
const REQUEST: RequestOptions = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_BYTES }

export class ResourceWatches {
  readonly #options: Options
  readonly #servers = new Map<string, ServerWatch>()

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Reports each change of a resource until the returned function is called.
   * @param uri as the server knows it
   * @returns undefined when too many are watched, or when each caller has its own token
   */
  watch(watched: WatchedServer, uri: string, listener: Listener): (() => void) | undefined {
    const { key, authentication } = watched
    // one connection serves all callers, and none of their tokens is for the others
    if (isPerCaller(authentication)) return undefined
    let server = this.#servers.get(key)
    if (server === undefined) {
      if (this.#servers.size >= MAX_SERVERS) return undefined
      server = new ServerWatch(this.#options, watched, () => this.#servers.delete(key))
      this.#servers.set(key, server)
    }
    return server.add(uri, listener)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(server => server.close()))
  }
}

class ServerWatch {
  readonly #options: Options
  readonly #watched: WatchedServer
  readonly #onIdle: () => void
  readonly #backoff = new Backoff(BACKOFF)
  readonly #listeners = new Map<string, Set<Listener>>()
  #connected: Connected | undefined
  #opening: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: Options, watched: WatchedServer, onIdle: () => void) {
    this.#options = options
    this.#watched = watched
    this.#onIdle = onIdle
  }

  add(uri: string, listener: Listener): (() => void) | undefined {
    const known = this.#listeners.get(uri)
    if (known === undefined && this.#listeners.size >= MAX_URIS) return undefined
    const listeners = known ?? new Set<Listener>()
    this.#listeners.set(uri, listeners.add(listener))
    if (known === undefined) void this.#subscribe(uri)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(uri) === listeners) void this.#unsubscribe(uri)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#onIdle()
    await this.#opening
    await this.#disconnect()
  }

  async #subscribe(uri: string): Promise<void> {
    const { connection } = this.#connected ?? {}
    if (connection === undefined) {
      this.#opening ??= this.#open()
      return
    }
    // a request of 2026-07-28 names all resources: another one replaces it
    if (connection.isModern) return this.#reopen()
    await connection.request('resources/subscribe', { uri }, REQUEST)
  }

  async #unsubscribe(uri: string): Promise<void> {
    this.#listeners.delete(uri)
    if (this.#listeners.size === 0) return this.close()
    const { connection } = this.#connected ?? {}
    if (connection?.isModern === false) await connection.request('resources/unsubscribe', { uri }, REQUEST)
  }

  async #open(): Promise<void> {
    const { egress, client } = this.#options
    const address = await this.#authorize()
    if (address === undefined) {
      this.#opening = undefined
      return this.#retryLater()
    }
    const connected = await connect(address, {
      egress,
      client,
      timeoutMs: TIMEOUT_MS,
      maxEventCharacters: MAX_BYTES,
      onNotification: (method, { uri }) => {
        // 2026-07-28: only the stream itself shows that the server accepts it
        if (REPORTS.has(method)) this.#backoff.reset()
        if (method === UPDATED) this.#notify(String(uri))
      },
    })
    this.#opening = undefined
    if (connected.kind === 'failure') {
      const { token = '' } = address.bearer ?? {}
      if (connected.status === 401) this.#options.tokens.discard(this.#watched.authentication, token)
      return this.#retryLater()
    }
    this.#connected = connected
    if (this.#closed) return this.#disconnect()
    const { connection } = connected
    const uris = [...this.#listeners.keys()]
    void connection.listen({ resourceSubscriptions: uris }).then(why => {
      if (this.#connected?.connection !== connection || why === 'unsupported') return
      this.#connected = undefined
      void connection.close()
      this.#retryLater()
    })
    if (connection.isModern) return
    for (const uri of uris) await connection.request('resources/subscribe', { uri }, REQUEST)
    if (!connection.lost) this.#backoff.reset()
  }

  /** With a token of the gateway, where the server wants one; undefined when there is none. */
  async #authorize(): Promise<ServerAddress | undefined> {
    const { address, authentication } = this.#watched
    if (authentication.oauth === undefined) return address
    const token = await this.#options.tokens.token(authentication)
    return typeof token === 'string' ? { ...address, bearer: { token } } : undefined
  }

  async #reopen(): Promise<void> {
    await this.#disconnect()
    this.#opening ??= this.#open()
  }

  /** What changed in between was not reported, so that every resource counts as changed. */
  #retryLater(): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      // a new resource has opened a connection meanwhile
      if (this.#connected !== undefined) {
        for (const uri of this.#listeners.keys()) this.#notify(uri)
        return
      }
      this.#opening ??= this.#open().then(() => {
        if (this.#connected !== undefined) for (const uri of this.#listeners.keys()) this.#notify(uri)
      })
    }, this.#backoff.nextMs()).unref()
  }

  #notify(uri: string): void {
    for (const listener of this.#listeners.get(uri) ?? []) listener()
  }

  async #disconnect(): Promise<void> {
    const { connection } = this.#connected ?? {}
    this.#connected = undefined
    await connection?.close()
  }
}
