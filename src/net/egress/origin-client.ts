/** Chooses the pool that carries a call to an origin: HTTP/2, HTTP/1.1, or undici. `origin-pools.ts` bounds the calls. */
import type { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
import { joinedHeaders } from '../joined-headers.ts'
import { Http1Pool, type OpenSocket } from './http1/pool.ts'
import type { OutgoingRequest, ResponseHandler, WholeRequest } from './http1/response-handler.ts'
import { Http2Pool } from './http2/pool.ts'
import { Pool } from './undici.ts'

export interface OriginClientOptions {
  readonly maxConnections: number
  readonly keepAliveTimeoutMs: number
  readonly connect: buildConnector.connector
  /** undefined leaves every request to undici. */
  readonly open: OpenSocket | undefined
  /** undefined: HTTP/2 is not asked for. */
  readonly connectHttp2: buildConnector.connector | undefined
}

/** A peer may ask for longer; beyond a minute an idle socket costs more than a new one. */
const KEEP_ALIVE_MAX_MS = 60_000

export class OriginClient {
  readonly #origin: string
  readonly #options: OriginClientOptions
  readonly #http2: Http2Pool | undefined
  readonly #http1: Http1Pool | undefined
  /** Opened by the first request that needs it. */
  #undici: Pool | undefined

  constructor(origin: string, options: OriginClientOptions) {
    this.#origin = origin
    this.#options = options
    const { maxConnections, keepAliveTimeoutMs, open, connectHttp2 } = options
    this.#http1 =
      open &&
      new Http1Pool({
        host: origin.slice(origin.indexOf('://') + 3),
        open,
        maxConnections,
        keepAliveTimeoutMs,
        keepAliveMaxMs: KEEP_ALIVE_MAX_MS,
      })
    this.#http2 =
      connectHttp2 &&
      new Http2Pool({
        origin,
        connect: connectHttp2,
        maxConnections,
        carryOtherwise: (request, handler) => this.#carry(request, handler),
      })
  }

  dispatch(request: OutgoingRequest, handler: ResponseHandler): void {
    if (this.#http2?.dispatch(request, handler) !== true) this.#carry(request, handler)
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
    await Promise.all([this.#http2?.destroy(), this.#http1?.destroy(), this.#undici?.destroy()])
  }
}

function isWhole(request: OutgoingRequest): request is WholeRequest {
  const { body } = request
  return body === null || typeof body === 'string' || body instanceof Uint8Array
}
