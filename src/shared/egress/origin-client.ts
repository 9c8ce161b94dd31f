/** What carries the calls to one origin: own connections for ordinary plain-http requests, undici for everything else. It bounds no calls. */
import type { Readable } from 'node:stream'
import { type buildConnector, type Dispatcher, Pool } from 'undici'
import { Http1Pool, type OpenSocket } from './http1/pool.ts'
import type { ResponseHandler, WholeRequest } from './http1/response-handler.ts'

export interface OutgoingRequest {
  readonly method: string
  readonly path: string
  readonly headers: readonly string[]
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null
}

export interface OriginClientOptions {
  readonly maxConnections: number
  readonly keepAliveTimeoutMs: number
  readonly connect: buildConnector.connector
  /** undefined leaves every request to undici. */
  readonly open: OpenSocket | undefined
}

/** A peer may ask for longer; beyond a minute an idle socket costs more than a new one. */
const KEEP_ALIVE_MAX_MS = 60_000

export class OriginClient {
  readonly #origin: string
  readonly #options: OriginClientOptions
  readonly #http1: Http1Pool | undefined
  /** Opened by the first request that needs it. */
  #undici: Pool | undefined

  constructor(origin: string, options: OriginClientOptions) {
    this.#origin = origin
    this.#options = options
    const { maxConnections, keepAliveTimeoutMs, open } = options
    this.#http1 =
      open === undefined
        ? undefined
        : new Http1Pool({
            host: origin.slice(origin.indexOf('://') + 3),
            open,
            maxConnections,
            keepAliveTimeoutMs,
            keepAliveMaxMs: KEEP_ALIVE_MAX_MS,
          })
  }

  dispatch(request: OutgoingRequest, handler: ResponseHandler): void {
    if (this.#http1 !== undefined && isWhole(request) && this.#http1.dispatch(request, handler)) return
    const { method, path, headers, body } = request
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
        headers: headers as string[],
        // The library takes any async iterable; its types name only Node's own streams.
        body: body as Readable | string | Uint8Array | null,
      },
      handler as Dispatcher.DispatchHandler,
    )
  }

  /** Ends every connection; calls in flight fail. */
  async destroy(): Promise<void> {
    await Promise.all([this.#http1?.destroy(), this.#undici?.destroy()])
  }
}

function isWhole(request: OutgoingRequest): request is WholeRequest {
  const { body } = request
  return body === null || typeof body === 'string' || body instanceof Uint8Array
}
