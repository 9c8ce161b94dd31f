/** One bounded pool of kept-alive connections per origin, and a bound on the origins. It sends nothing itself. */
import type { OriginClient } from './origin-client.ts'

export interface PoolLimits {
  /** Origins held at once; the least recently used one is evicted. */
  readonly maxOrigins: number
  readonly maxConnectionsPerOrigin: number
  /** Calls that may wait for a free connection of one origin; more are refused at once. */
  readonly maxWaitingPerOrigin: number
  /** How long an idle connection is kept when the peer sends no `Keep-Alive` timeout. */
  readonly keepAliveTimeoutMs: number
}

export interface OriginPool {
  readonly client: OriginClient
  /** Calls that run or wait. The call that adds one takes it away again when it has ended. */
  inFlight: number
  /** Order of last use, not a time. */
  usedAt: number
}

export class OriginPools {
  readonly #pools = new Map<string, OriginPool>()
  readonly #limits: PoolLimits
  readonly #openClient: (origin: string, limits: PoolLimits) => OriginClient
  #uses = 0

  constructor(limits: PoolLimits, openClient: (origin: string, limits: PoolLimits) => OriginClient) {
    this.#limits = limits
    this.#openClient = openClient
  }

  /** The pool of an origin; undefined when too many calls to it are waiting, or every origin held is busy. */
  take(origin: string): OriginPool | undefined {
    const found = this.#pools.get(origin) ?? this.#open(origin)
    if (found === undefined) return undefined
    const { maxConnectionsPerOrigin, maxWaitingPerOrigin } = this.#limits
    if (found.inFlight >= maxConnectionsPerOrigin + maxWaitingPerOrigin) return undefined
    found.usedAt = ++this.#uses
    found.inFlight++
    return found
  }

  #open(origin: string): OriginPool | undefined {
    if (this.#pools.size >= this.#limits.maxOrigins && !this.#evict()) return undefined
    const opened = { client: this.#openClient(origin, this.#limits), inFlight: 0, usedAt: 0 }
    this.#pools.set(origin, opened)
    return opened
  }

  #evict(): boolean {
    let idlest: [string, OriginPool] | undefined
    for (const entry of this.#pools) {
      if (entry[1].inFlight === 0 && (idlest === undefined || entry[1].usedAt < idlest[1].usedAt))
        idlest = entry
    }
    if (idlest === undefined) return false
    this.#pools.delete(idlest[0])
    void idlest[1].client.destroy()
    return true
  }

  /** Ends every connection; calls in flight fail. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(({ client }) => client.destroy()))
  }
}
