/** Pools of connections by origin and transport, with bounds on their calls and their number. */
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
import type { OriginClient } from './origin-client.ts'

export interface PoolLimits {
  /** Pools held at once; the least recently used one is evicted. */
  readonly maxOrigins: number
  readonly maxConnectionsPerOrigin: number
  /** Calls that may wait for a free connection of one origin; more are refused at once. */
  readonly maxWaitingPerOrigin: number
  /** Lasting streams of one origin, each on a separate connection; more are refused at once. */
  readonly maxStreamsPerOrigin: number
  /** How long an idle connection is kept when the peer sends no `Keep-Alive` timeout. */
  readonly keepAliveTimeoutMs: number
}

type OriginLimits = Pick<PoolLimits, 'maxOrigins' | 'maxConnectionsPerOrigin' | 'maxWaitingPerOrigin'>

export interface OriginPool {
  readonly client: OriginClient
  /** Calls that run or wait. The call that adds one takes it away again when it has ended. */
  inFlight: number
  /** Order of last use, not a time. */
  usedAt: number
}

/** `others_busy`: every pool has calls in flight to another origin, or over another transport. */
export type PoolRefusal = 'too_many_waiting' | 'others_busy'

type OpenClient = (origin: string, transport: UpstreamTransport | undefined) => OriginClient

export class OriginPools {
  readonly #pools = new Map<string, OriginPool>()
  readonly #limits: OriginLimits
  readonly #openClient: OpenClient
  #uses = 0

  constructor(limits: OriginLimits, openClient: OpenClient) {
    this.#limits = limits
    this.#openClient = openClient
  }

  /** The pool of an origin, or why there is none for this call. */
  take(origin: string, transport: UpstreamTransport | undefined): OriginPool | PoolRefusal {
    const key = transport?.http2 === true ? `http2 ${origin}` : origin
    const found = this.#pools.get(key) ?? this.#open(key, origin, transport)
    if (found === undefined) return 'others_busy'
    const { maxConnectionsPerOrigin, maxWaitingPerOrigin } = this.#limits
    if (found.inFlight >= maxConnectionsPerOrigin + maxWaitingPerOrigin) return 'too_many_waiting'
    found.usedAt = ++this.#uses
    found.inFlight++
    return found
  }

  #open(key: string, origin: string, transport: UpstreamTransport | undefined): OriginPool | undefined {
    if (this.#pools.size >= this.#limits.maxOrigins && !this.#evict()) return undefined
    const opened = { client: this.#openClient(origin, transport), inFlight: 0, usedAt: 0 }
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
