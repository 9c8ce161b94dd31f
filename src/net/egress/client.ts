/** The outgoing HTTP client: admits calls to pools of guarded connections and dispatches them. */

import type { Party, Share } from '../../base/fair-shares.ts'
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
import { socketPathOf } from '../../model/upstream-url.ts'
import { joinedHeaders } from '../joined-headers.ts'
import type { ClientTls } from '../tls/client-tls.ts'
import type { KnownPeer } from '../tls/known-peer.ts'
import { type AddressGuardOptions, createAddressGuard } from './address-guard.ts'
import { BodyStream } from './body-stream.ts'
import { Call } from './call.ts'
import { CollectingCall } from './collect.ts'
import { guardedConnector, guardedSockets, type ResolveHost, resolveWithSystem } from './connector.ts'
import type { Egress, EgressFailure, EgressHeaders, EgressRequest, EgressStreamResponse } from './egress.ts'
import { failure, StreamFailure, saturation } from './failure.ts'
import { toHeaders } from './headers.ts'
import { OriginClient } from './origin-client.ts'
import type { OriginPool } from './origin-pool.ts'
import { connectionsOf, OriginPools, type PoolLimits } from './origin-pools.ts'
import { type Target, TargetParser } from './target.ts'
import { unixConnector, unixSockets } from './unix-connector.ts'

export interface EgressOptions extends AddressGuardOptions, Partial<PoolLimits> {
  /** How long one connection attempt may take, TLS included; 5 s. The timeout of the call ends it earlier. */
  readonly connectTimeoutMs?: number
  /** Certificates for https: authorities instead of those that Node trusts, and the client's own; or the only peer that is accepted. */
  readonly tls?: ClientTls | KnownPeer | undefined
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
  maxWaitMs: 5000,
  isAdaptive: false,
  maxStreamsPerOrigin: 1024,
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
  const limits = { ...DEFAULT_LIMITS, ...options }
  function openClient(
    origin: string,
    transport: UpstreamTransport | undefined,
    maxConnections: number,
  ): OriginClient {
    const common = {
      maxConnections,
      keepAliveTimeoutMs: limits.keepAliveTimeoutMs,
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
  }
  const {
    maxOrigins,
    maxStreamsPerOrigin,
    maxConnectionsPerOrigin: ofParty,
    maxWaitingPerOrigin: maxWaiting,
    maxWaitMs,
    isAdaptive,
  } = limits
  const connections = connectionsOf(ofParty)
  const calls = new OriginPools(
    maxOrigins,
    isHttp2 =>
      isHttp2
        ? // a connection carries as many as its peer allows
          { maxConnections: ofParty, maxRunning: ofParty + maxWaiting, maxWaiting: 0, maxWaitMs }
        : { maxConnections: connections, maxRunning: connections, maxWaiting, maxWaitMs, isAdaptive },
    openClient,
  )
  const streams = new OriginPools(
    maxOrigins,
    () => ({
      maxConnections: maxStreamsPerOrigin,
      maxRunning: maxStreamsPerOrigin,
      maxWaiting: 0,
      maxWaitMs,
    }),
    openClient,
  )
  const targets = new TargetParser(options.unixSockets === true)
  let closed = false
  /** Set by `admit` for the call that it admits, with its place in the queue: an object for each call would be 56 bytes. */
  let target: Target
  let pool: OriginPool
  let share: Share | undefined
  let place: Share | undefined

  function admit(
    { url, cancellation, party = GATEWAY }: Pick<EgressRequest, 'url' | 'cancellation' | 'party'>,
    transport: UpstreamTransport | undefined,
    isLasting: boolean,
  ): EgressFailure | undefined {
    const parsed = targets.parse(url)
    if (typeof parsed === 'string') return failure('unsendable', parsed, false)
    target = parsed
    if (cancellation?.cancelled === true)
      return failure('cancelled', `the call to ${target.origin} was cancelled`, false)
    if (closed) return failure('unreachable', 'the gateway is shutting down', false)
    const found = (isLasting ? streams : calls).of(target.origin, transport)
    if (found === undefined)
      return saturation(target.origin, `all ${maxOrigins} connection pools are in use for other backends`)
    pool = found
    share = pool.run(party)
    place = share === undefined ? pool.wait(party) : undefined
    if (share !== undefined || place !== undefined) return undefined
    const reason = isLasting
      ? `the limit of ${maxStreamsPerOrigin} open streams to it is reached`
      : 'too many calls to it wait for a connection'
    return saturation(target.origin, reason)
  }

  return {
    request(request) {
      const refused = admit(request, request.transport, false)
      if (refused !== undefined) return Promise.resolve(refused)
      const call = new CollectingCall(target.origin, pool, share, request)
      const { method, headers, body = null } = request
      const headersOfCall = askForIdentity(headers, request.headersOfCall)
      pool.carry({ path: target.path, method, headers, headersOfCall, body }, call, place)
      return call
    },

    stream(request) {
      const refused = admit(request, request.transport, request.isLasting === true)
      if (refused !== undefined) return Promise.resolve(refused)
      const call = new StreamingCall(target.origin, pool, share, request)
      const { method, headers, body = null } = request
      pool.carry({ path: target.path, method, headers, headersOfCall: NO_HEADERS, body }, call, place)
      return Promise.resolve(call)
    },

    async close() {
      closed = true
      await Promise.all([calls.close(), streams.close()])
    },
  }
}

/** Requests of no caller: polls, health checks, tokens. */
const GATEWAY: Party = { owner: '', part: '' }

const IDENTITY: readonly string[] = ['accept-encoding', 'identity']
const NO_HEADERS: readonly string[] = []

/** A collected response is decoded anyway; asking for none saves both sides the work. @returns the headers of the call */
function askForIdentity(headers: readonly string[], ofCall = NO_HEADERS): readonly string[] {
  if (nameEncoding(headers) || nameEncoding(ofCall)) return ofCall
  return ofCall.length === 0 ? IDENTITY : joinedHeaders(ofCall, IDENTITY)
}

function nameEncoding(headers: readonly string[]): boolean {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]!.length === 15 && headers[at]!.toLowerCase() === 'accept-encoding') return true
  return false
}

class StreamingCall extends Call<EgressStreamResponse> {
  #body: BodyStream | undefined

  onHeaders(status: number, wire: EgressHeaders | Buffer[], resume: () => void): boolean {
    if (this.over || status < 200) return true
    this.handleHead()
    this.#body = new BodyStream(resume, () => this.#abandoned())
    this.resolve({
      kind: 'response',
      status,
      headers: toHeaders(wire),
      body: this.#body,
    })
    return true
  }

  onData(chunk: Uint8Array): boolean {
    return this.over || this.#body === undefined ? true : this.#body.push(chunk)
  }

  onComplete(): void {
    this.finish()
    this.#body?.end()
  }

  #abandoned(): void {
    this.fail(failure('cancelled', `the caller cancelled the response from ${this.origin}`, true))
  }

  protected override onFailed(why: EgressFailure): void {
    this.#body?.fail(new StreamFailure(why))
  }
}
