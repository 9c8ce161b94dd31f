/** Reads the lists of an MCP server with the connection and token this needs, and reports when they may have changed. */

import { Backoff } from '../../base/async/backoff.ts'
import { VERSION } from '../../base/version.ts'
import { serverAddress } from '../../mcp/client/address.ts'
import { type Connected, connect } from '../../mcp/client/connect.ts'
import type { RpcError, RpcFailure } from '../../mcp/protocol.ts'
import type { BoundSecret } from '../../model/bound-secret.ts'
import type { BackendAuthentication } from '../../model/tool.ts'
import type { McpSource } from '../../model/tool-set.ts'
import type { Egress } from '../../net/egress/egress.ts'
import { httpOnly } from '../../net/egress/http-only.ts'
import { BackendTokens } from '../../net/egress/oauth/backend-tokens.ts'
import { DocumentError } from '../compile/document.ts'
import { authenticationOf, type McpToolSet } from './compile-listing.ts'
import { readLists, reportsChanges, type ServerLists } from './read-lists.ts'

const LIST_CHANGES: ReadonlySet<string> = new Set(
  ['tools', 'resources', 'prompts'].map(list => `notifications/${list}/list_changed`),
)
const TIMEOUT_MS = 15_000
const MAX_LIST_BYTES = 8 * 1024 * 1024
/** Nanoseconds: a list is read seldom. */
const MAX_PARSE_NS = 200_000_000
/** Changes that follow each other are read together. */
const SETTLE_MS = 200
/** A stream that was open for so long did not fail. */
const STABLE_MS = 60_000
const BACKOFF = { firstMs: 1_000, maxMs: 60_000, jitter: 0.2 }

export class ServerListing {
  readonly #egress: Egress
  readonly #onChanged: () => void
  readonly #tokens: BackendTokens
  /** For all requests for lists. */
  readonly #bearer = { token: '' }
  readonly #backoff = new Backoff(BACKOFF)
  /** With the address that it was made for. */
  #current: { readonly key: string; readonly connected: Connected } | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** @param onChanged called when the server reports a change, or its stream has ended; not more often than every 200 ms */
  constructor(egress: Egress, onChanged: () => void) {
    this.#egress = egress
    this.#tokens = new BackendTokens({ egress: httpOnly(egress), now: Date.now })
    this.#onChanged = onChanged
  }

  /**
   * @returns each list in the order of its names
   * @throws DocumentError with the reason
   */
  async read(toolSet: McpToolSet, credential: BoundSecret | undefined): Promise<ServerLists> {
    const { source } = toolSet
    const headers = Object.entries(source.headers).flat()
    const authentication = listingAuthentication(authenticationOf(toolSet, credential))
    const plain = serverAddress({ ...source, headers }, authentication)
    const key = JSON.stringify([plain, authentication])
    const address = { ...plain, bearer: this.#bearer }
    await this.#renew(authentication)
    if (this.#current?.key !== key || this.#current.connected.connection.lost) await this.#disconnect()
    const options = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_LIST_BYTES, maxParseNs: MAX_PARSE_NS }
    let lists: Awaited<ReturnType<typeof readLists>> | undefined
    if (this.#current !== undefined) {
      lists = await readLists(this.#current.connected.connection, source.features, options)
      if ('kind' in lists && lists.kind === 'failure') await this.#disconnect()
    }
    if (this.#current === undefined) {
      const connected = await connect(address, {
        egress: this.#egress,
        client: { name: 'toolgate', version: VERSION },
        timeoutMs: TIMEOUT_MS,
        maxEventCharacters: MAX_LIST_BYTES,
        // some servers list tools that ask the user only to clients that can be asked
        capabilities: { elicitation: {} },
        onNotification: method => {
          if (LIST_CHANGES.has(method)) this.#changeLater(SETTLE_MS)
        },
      })
      if (connected.kind === 'failure') {
        if (connected.status === 401) this.#tokens.discard(authentication, this.#bearer.token)
        throw new DocumentError(reasonOf(connected))
      }
      this.#current = { key, connected }
      lists = await readLists(connected.connection, source.features, options)
      await this.#keep(connected, source.features)
    }
    if (lists === undefined || 'kind' in lists) throw new DocumentError(reasonOf(lists!))
    return lists
  }

  /** @throws DocumentError when the authorization server issues no token */
  async #renew(authentication: BackendAuthentication): Promise<void> {
    const token = authentication.oauth === undefined ? '' : await this.#tokens.token(authentication)
    if (typeof token !== 'string') throw new DocumentError(token.message)
    this.#bearer.token = token
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#disconnect()
  }

  /** A connection of a server that reports changes is kept for its notifications; another one is closed. */
  async #keep({ connection }: Connected, features: McpSource['features']): Promise<void> {
    if (this.#closed || !reportsChanges(connection, features)) return this.#disconnect()
    const sinceMs = performance.now()
    void connection.listen().then(why => {
      if (this.#current?.connected.connection !== connection || why === 'unsupported') return
      void this.#disconnect()
      if (performance.now() - sinceMs > STABLE_MS) this.#backoff.reset()
      // what changed without a stream was not reported
      this.#changeLater(this.#backoff.nextMs())
    })
  }

  #changeLater(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onChanged, ms).unref()
  }

  async #disconnect(): Promise<void> {
    const { connected } = this.#current ?? {}
    this.#current = undefined
    await connected?.connection.close()
  }
}

/** A list is read for no caller: with a token of the gateway's own client, or without one where only users have tokens. */
function listingAuthentication(authentication: BackendAuthentication): BackendAuthentication {
  const { type, oauth } = authentication
  const isPublic = oauth?.clientAuthentication === 'none'
  if (type === 'authorization_code' || (type === 'token_exchange' && isPublic)) return { type: 'none' }
  return type === 'token_exchange' ? { ...authentication, type: 'oauth2_client_credentials' } : authentication
}

function reasonOf(outcome: RpcFailure | RpcError): string {
  if (outcome.kind === 'error')
    return `the MCP server responded with an error: ${outcome.message.slice(0, 200)} (${outcome.code})`
  const { status, message } = outcome
  const isRefused = status === 401 || status === 403
  return isRefused ? `${message}: set or correct spec.source.mcp.authentication` : message
}
