/** One bounded pool of kept-alive connections per origin, and a bound on the origins. It sends nothing itself. */
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
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

type OpenClient = (
  origin: string,
  limits: PoolLimits,
  transport: UpstreamTransport | undefined,
) => OriginClient

export class OriginPools {
  readonly #pools = new Map<string, OriginPool>()
  readonly #limits: PoolLimits
  readonly #openClient: OpenClient
  #uses = 0

  constructor(limits: PoolLimits, openClient: OpenClient) {
    this.#limits = limits
    this.#openClient = openClient
  }

  /** The pool of an origin; undefined when too many calls to it are waiting, or every origin held is busy. */
  take(origin: string, transport: UpstreamTransport | undefined): OriginPool | undefined {
    const key = transport === undefined ? origin : keyOf(origin, transport)
    const found = this.#pools.get(key) ?? this.#open(key, origin, transport)
    if (found === undefined) return undefined
    const { maxConnectionsPerOrigin, maxWaitingPerOrigin } = this.#limits
    if (found.inFlight >= maxConnectionsPerOrigin + maxWaitingPerOrigin) return undefined
    found.usedAt = ++this.#uses
    found.inFlight++
    return found
  }

  #open(key: string, origin: string, transport: UpstreamTransport | undefined): OriginPool | undefined {
    if (this.#pools.size >= this.#limits.maxOrigins && !this.#evict()) return undefined
    const opened = { client: this.#openClient(origin, this.#limits, transport), inFlight: 0, usedAt: 0 }
    this.#pools.set(key, opened)
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

/** Connections that are used in different ways are apart. */
function keyOf(origin: string, { http2, pipelining }: UpstreamTransport): string {
  return http2 === true ? `http2 ${origin}` : `${pipelining} ${origin}`
}
