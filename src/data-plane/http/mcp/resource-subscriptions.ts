/** Watches resources for clients, and holds the subscriptions of sessions that this thread accepted. It writes to no stream. */

import type { ResourceWatches } from '../../../mcp/client/resource-watches.ts'
import type { SessionStore } from '../../sessions/session-store.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'

export const RESOURCE_UPDATED = 'notifications/resources/updated'
/** For one session, or of one `subscriptions/listen`. */
export const MAX_SUBSCRIPTIONS = 100
/** For this thread: the session that subscribed first loses its subscriptions. */
const MAX_SESSIONS = 10_000
/** The subscriptions of a session that has expired end with the second sweep: Redis that has lost its data gets open sessions again meanwhile. */
const SWEEP_EVERY_MS = 30_000
const UNWATCHED =
  'The gateway cannot watch this resource: its MCP server does not support subscriptions, or too many resources are watched.'

interface SessionSubscriptions {
  /** URI → ends the subscription. */
  readonly byUri: Map<string, () => void>
  readonly unlisten: () => void
}

/** @returns undefined when the server of the resource reports no changes, or too many resources are watched */
export function watchResource(
  watches: ResourceWatches,
  { tool, mcp }: CompiledTool,
  uri: string,
  onChanged: () => void,
): (() => void) | undefined {
  if (mcp === undefined || tool.mcp?.serves?.includes('subscriptions') !== true) return undefined
  return watches.watch(mcp, uri.slice(mcp.uriPrefix.length), onChanged)
}

export class ResourceSubscriptions {
  readonly #sessions: SessionStore
  readonly #watches: ResourceWatches
  readonly #nowMs: () => number
  readonly #bySession = new Map<string, SessionSubscriptions>()
  /** Absent while no session has a subscription. */
  #sweeper: NodeJS.Timeout | undefined
  /** In the sweep before. */
  #expired: ReadonlySet<string> = new Set()

  constructor(sessions: SessionStore, watches: ResourceWatches, nowMs: () => number) {
    this.#sessions = sessions
    this.#watches = watches
    this.#nowMs = nowMs
  }

  /** @returns what prevents it */
  add(sessionId: string, entry: CompiledTool, uri: string): string | undefined {
    const { byUri } = this.#session(sessionId)
    if (byUri.has(uri)) return undefined
    if (byUri.size >= MAX_SUBSCRIPTIONS)
      return `A session may have at most ${MAX_SUBSCRIPTIONS} subscriptions. Unsubscribe from another resource first.`
    const message = JSON.stringify({ jsonrpc: '2.0', method: RESOURCE_UPDATED, params: { uri } })
    const end = watchResource(this.#watches, entry, uri, () => {
      void this.#sessions.signal(sessionId, { kind: 'notification', message })
    })
    if (end !== undefined) byUri.set(uri, end)
    else if (byUri.size === 0) this.#end(sessionId)
    return end === undefined ? UNWATCHED : undefined
  }

  /** On whichever thread or instance it is held. */
  remove(sessionId: string, uri: string): void {
    void this.#sessions.signal(sessionId, { kind: 'unsubscribe', uri })
  }

  #session(id: string): SessionSubscriptions {
    const known = this.#bySession.get(id)
    if (known !== undefined) return known
    if (this.#bySession.size >= MAX_SESSIONS) this.#end(this.#bySession.keys().next().value!)
    const byUri = new Map<string, () => void>()
    const unlisten = this.#sessions.listen(id, signal => {
      if (signal.kind === 'end') return this.#end(id)
      if (signal.kind !== 'unsubscribe') return
      byUri.get(signal.uri)?.()
      byUri.delete(signal.uri)
      if (byUri.size === 0) this.#end(id)
    })
    const made = { byUri, unlisten }
    this.#bySession.set(id, made)
    this.#sweeper ??= setInterval(() => void this.#sweep(), SWEEP_EVERY_MS).unref()
    return made
  }

  /** A session that expires signals nothing: stores with a TTL do not notice. */
  async #sweep(): Promise<void> {
    try {
      const expired = await this.#sessions.findExpired([...this.#bySession.keys()], this.#nowMs())
      for (const id of expired) if (this.#expired.has(id)) this.#end(id)
      this.#expired = new Set(expired)
    } catch {
      // the thread that has the sessions does not respond: the next sweep reads them
    }
  }

  #end(id: string): void {
    const session = this.#bySession.get(id)
    this.#bySession.delete(id)
    session?.unlisten()
    if (this.#bySession.size === 0) {
      clearInterval(this.#sweeper)
      this.#sweeper = undefined
    }
    for (const end of session?.byUri.values() ?? []) end()
  }
}
