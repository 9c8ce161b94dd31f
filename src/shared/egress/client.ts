/** The one outgoing HTTP client: pools of connections behind the address guard. It follows no redirect and repeats no request. */
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
import { socketPathOf } from '../../model/upstream-url.ts'
import type { ClientTls } from '../tls/client-tls.ts'
import { type AddressGuardOptions, createAddressGuard } from './address-guard.ts'
import { CollectingCall } from './collect.ts'
import { guardedConnector, guardedSockets, type ResolveHost, resolveWithSystem } from './connector.ts'
import type { Egress, EgressFailure, EgressRequest } from './egress.ts'
import { failure } from './failure.ts'
import { OriginClient } from './origin-client.ts'
import { type OriginPool, OriginPools, type PoolLimits } from './origin-pools.ts'
import { StreamingCall } from './stream.ts'
import { type Target, TargetParser } from './target.ts'
import { unixConnector, unixSockets } from './unix-connector.ts'

export interface EgressOptions extends AddressGuardOptions, Partial<PoolLimits> {
  /** How long one connection attempt may take, TLS included; 5 s. The timeout of the call ends it earlier. */
  readonly connectTimeoutMs?: number
  /** Certificates for https: authorities instead of those that Node trusts, and the client's own. */
  readonly tls?: ClientTls | undefined
  /** The system's resolver when absent. */
  readonly resolveHost?: ResolveHost
  /** false carries plain http over undici too, for comparison; true. */
  readonly ownHttp1?: boolean
  /** true: Unix sockets that `allow` lists may be called; only for calls of upstreams. */
  readonly unixSockets?: boolean
}

const DEFAULT_LIMITS: PoolLimits = {
  maxOrigins: 256,
  maxConnectionsPerOrigin: 128,
  maxWaitingPerOrigin: 1024,
  keepAliveTimeoutMs: 4000,
}

/** What a request over a Unix socket names as its host. */
const HOST_OF_SOCKETS = 'http://localhost'

/**
 * @throws Error naming the entry of `allow` that cannot be read. The client itself never throws and never rejects.
 */
export function createEgress(options: EgressOptions): Egress {
  const connector = {
    guard: createAddressGuard(options),
    resolveHost: options.resolveHost ?? resolveWithSystem,
    connectTimeoutMs: options.connectTimeoutMs ?? 5000,
    tls: options.tls,
  }
  const connect = guardedConnector(connector)
  const connectHttp2 = guardedConnector({ ...connector, allowH2: true })
  const pools = new OriginPools({ ...DEFAULT_LIMITS, ...options }, (origin, limits, transport) => {
    const common = {
      maxConnections: limits.maxConnectionsPerOrigin,
      keepAliveTimeoutMs: limits.keepAliveTimeoutMs,
      pipelining: transport?.pipelining ?? 1,
    }
    const isHttp2 = transport?.http2 === true
    const socketPath = socketPathOf(origin)
    if (socketPath !== undefined) {
      const connectSocket = unixConnector(socketPath, connector)
      return new OriginClient(HOST_OF_SOCKETS, {
        ...common,
        connect: connectSocket,
        open: options.ownHttp1 === false ? undefined : unixSockets(socketPath, connector),
        connectHttp2: isHttp2 ? connectSocket : undefined,
      })
    }
    return new OriginClient(origin, {
      ...common,
      connect,
      open:
        origin.startsWith('http:') && options.ownHttp1 !== false
          ? guardedSockets(origin, connector)
          : undefined,
      connectHttp2: isHttp2 ? connectHttp2 : undefined,
    })
  })
  const targets = new TargetParser(options.unixSockets === true)
  let closed = false

  function admit(
    { url, cancellation }: Pick<EgressRequest, 'url' | 'cancellation'>,
    transport: UpstreamTransport | undefined,
  ): Admitted | EgressFailure {
    const target = targets.parse(url)
    if (typeof target === 'string') return failure('protocol', target, false)
    if (cancellation?.cancelled === true)
      return failure('cancelled', `the call to ${target.origin} was cancelled`, false)
    if (closed) return failure('unreachable', 'the gateway is shutting down', false)
    const pool = pools.take(target.origin, transport)
    if (pool === undefined)
      return {
        ...failure('unreachable', `too many calls to ${target.origin} are waiting`, false),
        saturated: true,
      }
    return { target, pool }
  }

  return {
    request(request) {
      const { transport } = request
      const admitted = admit(
        request,
        // a response that is read as it arrives takes its time
        transport === undefined || request.onChunk === undefined ? transport : forStream(transport),
      )
      if ('kind' in admitted) return Promise.resolve(admitted)
      const { target, pool } = admitted
      const call = new CollectingCall(target.origin, pool, request)
      const { method, body = null } = request
      const headers = askForIdentity(request.headers)
      pool.client.dispatch({ path: target.path, method, headers, body }, call)
      return call
    },

    stream(request) {
      const admitted = admit(request, forStream(request.transport))
      if ('kind' in admitted) return Promise.resolve(admitted)
      const { target, pool } = admitted
      const call = new StreamingCall(target.origin, pool, request)
      const { method, headers, body = null } = request
      pool.client.dispatch({ path: target.path, method, headers, body }, call)
      return Promise.resolve(call)
    },

    async close() {
      closed = true
      await pools.close()
    },
  }
}

interface Admitted {
  readonly target: Target
  readonly pool: OriginPool
}

/** A reader that pauses would stop all responses in the line, but only its own stream of HTTP/2. */
function forStream(transport: UpstreamTransport | undefined): UpstreamTransport | undefined {
  return transport?.http2 === true ? transport : undefined
}

const IDENTITY = ['accept-encoding', 'identity']

/** A collected response is decoded anyway; asking for none saves both sides the work. */
function askForIdentity(headers: readonly string[]): string[] {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]!.length === 15 && headers[at]!.toLowerCase() === 'accept-encoding')
      return headers as string[]
  return headers.concat(IDENTITY)
}
