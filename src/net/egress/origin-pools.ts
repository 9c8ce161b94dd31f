/** Pools of connections by origin and transport, with bounds on their number, their calls and the calls that wait. */
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
import type { OriginClient } from './origin-client.ts'
import { OriginPool, type OriginPoolLimits } from './origin-pool.ts'

export interface PoolLimits {
  /** Pools held at once; the least recently used one is evicted. */
  readonly maxOrigins: number
  /** Connections of one party; all parties have five sixteenths more, so that others find a connection when one has all it may. */
  readonly maxConnectionsPerOrigin: number
  /** Calls that may wait for a free connection of one origin; more are refused at once. */
  readonly maxWaitingPerOrigin: number
  /** For which a call may wait. */
  readonly maxWaitMs: number
  /** The calls that an HTTP/1.1 origin gets at once follow its latency. */
  readonly isAdaptive: boolean
  /** Lasting streams of one origin, each on a separate connection; more are refused at once. */
  readonly maxStreamsPerOrigin: number
  /** How long an idle connection is kept when the peer sends no `Keep-Alive` timeout. */
  readonly keepAliveTimeoutMs: number
}

/** Connections of a pool whose parties may have so many each. */
export function connectionsOf(maxOfParty: number): number {
  return Math.floor((maxOfParty * 21) / 16)
}

interface OriginLimits extends OriginPoolLimits {
  readonly maxConnections: number
}

type OpenClient = (
  origin: string,
  transport: UpstreamTransport | undefined,
  maxConnections: number,
) => OriginClient

export class OriginPools {
  readonly #pools = new Map<string, OriginPool>()
  readonly #maxOrigins: number
  readonly #limitsOf: (isHttp2: boolean) => OriginLimits
  readonly #openClient: OpenClient
  #uses = 0

  constructor(maxOrigins: number, limitsOf: (isHttp2: boolean) => OriginLimits, openClient: OpenClient) {
    this.#maxOrigins = maxOrigins
    this.#limitsOf = limitsOf
    this.#openClient = openClient
  }

  /** @returns undefined when every pool has calls in flight to another origin, or over another transport */
  of(origin: string, transport: UpstreamTransport | undefined): OriginPool | undefined {
    const key = transport?.http2 === true ? `http2 ${origin}` : origin
    const found = this.#pools.get(key) ?? this.#open(key, origin, transport)
    if (found !== undefined) found.usedAt = ++this.#uses
    return found
  }

  #open(key: string, origin: string, transport: UpstreamTransport | undefined): OriginPool | undefined {
    if (this.#pools.size >= this.#maxOrigins && !this.#evict()) return undefined
    const limits = this.#limitsOf(transport?.http2 === true)
    const client = this.#openClient(origin, transport, limits.maxConnections)
    const opened = new OriginPool(client, limits)
    this.#pools.set(key, opened)
    return opened
  }

  #evict(): boolean {
    let idlest: [string, OriginPool] | undefined
    for (const entry of this.#pools) {
      if (entry[1].isIdle && (idlest === undefined || entry[1].usedAt < idlest[1].usedAt)) idlest = entry
    }
    if (idlest === undefined) return false
    this.#pools.delete(idlest[0])
    void idlest[1].destroy()
    return true
  }

  /** Ends every connection; calls in flight and those that wait fail. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }
}
