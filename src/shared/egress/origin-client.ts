/** Chooses the pool that carries a call to an origin: HTTP/2, pipelined, one request at a time, or undici. `origin-pools.ts` bounds the calls. */
import type { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
import { joinedHeaders } from '../call/joined-headers.ts'
import { PipelinedPool } from './http1/pipelined-pool.ts'
import { Http1Pool, type Http1PoolOptions, type OpenSocket } from './http1/pool.ts'
import type { OutgoingRequest, ResponseHandler, WholeRequest } from './http1/response-handler.ts'
import { Http2Pool } from './http2/pool.ts'
import { Pool } from './undici.ts'

export interface OriginClientOptions {
  readonly maxConnections: number
  readonly keepAliveTimeoutMs: number
  readonly connect: buildConnector.connector
  /** undefined leaves every request to undici. */
  readonly open: OpenSocket | undefined
  /** Requests in flight on one of the own connections. */
  readonly pipelining: number
  /** undefined: HTTP/2 is not asked for. */
  readonly connectHttp2: buildConnector.connector | undefined
}

/** Carries requests in the way that the author of an upstream chose. */
interface ChosenCarrier {
  /** @returns false when the request has to be carried as if nothing had been chosen; nothing was called then */
  dispatch(request: OutgoingRequest, handler: ResponseHandler): boolean
  destroy(): Promise<void>
}

/** A peer may ask for longer; beyond a minute an idle socket costs more than a new one. */
const KEEP_ALIVE_MAX_MS = 60_000

export class OriginClient {
  readonly #origin: string
  readonly #options: OriginClientOptions
  readonly #chosen: ChosenCarrier | undefined
  readonly #http1: Http1Pool | undefined
  /** Opened by the first request that needs it. */
  #undici: Pool | undefined

  constructor(origin: string, options: OriginClientOptions) {
    this.#origin = origin
    this.#options = options
    const { maxConnections, keepAliveTimeoutMs, open } = options
    const http1 = open && {
      host: origin.slice(origin.indexOf('://') + 3),
      open,
      maxConnections,
      keepAliveTimeoutMs,
      keepAliveMaxMs: KEEP_ALIVE_MAX_MS,
    }
    this.#http1 = http1 && new Http1Pool(http1)
    this.#chosen = this.#choose(http1)
  }

  #choose(http1: Http1PoolOptions | undefined): ChosenCarrier | undefined {
    const { connectHttp2: connect, pipelining: depth, maxConnections } = this.#options
    if (connect !== undefined)
      return new Http2Pool({
        origin: this.#origin,
        connect,
        maxConnections,
        carryOtherwise: (request, handler) => this.#carry(request, handler),
      })
    if (depth === 1 || http1 === undefined) return undefined
    const pool = new PipelinedPool({
      ...http1,
      depth,
      carryAlone: (request, handler) => this.#carry(request, handler),
    })
    return {
      dispatch: (request, handler) => isWhole(request) && pool.dispatch(request, handler),
      destroy: () => pool.destroy(),
    }
  }

  dispatch(request: OutgoingRequest, handler: ResponseHandler): void {
    if (this.#chosen?.dispatch(request, handler) !== true) this.#carry(request, handler)
  }

  #carry(request: OutgoingRequest, handler: ResponseHandler): void {
    if (this.#http1 !== undefined && isWhole(request) && this.#http1.dispatch(request, handler)) return
    const { method, path, headers, headersOfCall, body } = request
    this.#undici ??= new Pool(this.#origin, {
      connect: this.#options.connect,
      connections: this.#options.maxConnections,
      pipelining: 1,
      keepAliveTimeout: this.#options.keepAliveTimeoutMs,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      // The timer of each call covers the whole exchange; two more clocks would only hide it.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#undici.dispatch(
      {
        path,
        method: method as Dispatcher.HttpMethod,
        headers: joinedHeaders(headers, headersOfCall),
        // The library takes any async iterable; its types name only Node's own streams.
        body: body as Readable | string | Uint8Array | null,
      },
      handler as Dispatcher.DispatchHandler,
    )
  }

  /** Ends every connection; calls in flight fail. */
  async destroy(): Promise<void> {
    await Promise.all([this.#chosen?.destroy(), this.#http1?.destroy(), this.#undici?.destroy()])
  }
}

function isWhole(request: OutgoingRequest): request is WholeRequest {
  const { body } = request
  return body === null || typeof body === 'string' || body instanceof Uint8Array
}
