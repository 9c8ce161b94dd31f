/** The MCP endpoint: its parts, its checks of origin and address, GET, POST and DELETE, notices of changed lists, the end of its streams. */

import type { ResourceWatches } from '../../../mcp/client/resource-watches.ts'
import type { KeyRing } from '../../sessions/key-ring.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { Cors } from '../cors.ts'
import { serverMetadata } from '../discovery.ts'
import type { GatewayParts } from '../gateway.ts'
import { Dispatcher } from './dispatch.ts'
import { endSession } from './end-session.ts'
import { McpGet } from './get.ts'
import { InFlight } from './in-flight.ts'
import { InquiryStates } from './inquiry-states.ts'
import { localHosts, refusedHeader } from './origin.ts'
import type { McpParts } from './parts.ts'
import { isWholeEndpoint } from './paths.ts'
import { McpPost } from './post.ts'
import { badRequest, methodNotAllowed } from './replies.ts'
import { ResourceSubscriptions } from './resource-subscriptions.ts'
import { selectionFault } from './selection.ts'
import { StreamLimiter, type StreamLimiterOptions, type StreamSlots } from './stream-limiter.ts'
import { type StreamEnd, type StreamLimits, Streams } from './streams.ts'

/** Characters of an origin that a message repeats. */
const MAX_SHOWN_ORIGIN = 128

interface McpOptions {
  readonly keys: KeyRing
  readonly watches: ResourceWatches
  readonly limiter: StreamLimiterOptions
  /** Slots counted by another thread; counted here when absent. */
  readonly places?: StreamSlots
  readonly streams: StreamLimits
  readonly clientAddress: (call: Call) => string
  /** For metrics. */
  readonly onStreamRefused: (reason: string) => void
  readonly onStreamEnded: (why: StreamEnd) => void
}

export class McpEndpoint {
  readonly #parts: McpParts
  readonly #get: McpGet
  readonly #post: McpPost
  readonly #localHosts: ReadonlySet<string> | undefined

  constructor(gateway: GatewayParts, cors: Cors, options: McpOptions) {
    this.#parts = {
      gateway,
      cors,
      dispatcher: new Dispatcher(gateway),
      inFlight: new InFlight(gateway.sessions),
      streams: new Streams(streamLimits(options), gateway.access, options.onStreamEnded, gateway.nowMs),
      places: options.places ?? new StreamLimiter(options.limiter),
      watches: options.watches,
      subscriptions: new ResourceSubscriptions(gateway.sessions, options.watches, gateway.nowMs),
      inquiries: new InquiryStates(options.keys, gateway.nowMs),
      clientAddress: options.clientAddress,
      onStreamRefused: options.onStreamRefused,
    }
    this.#get = new McpGet(this.#parts)
    this.#post = new McpPost(this.#parts)
    this.#localHosts = localHosts(gateway.url)
  }

  /** A GET at `/mcp` that does not accept event streams gets the server metadata. */
  get(call: Call, snapshot: Snapshot): void {
    const accept = call.request.header('accept')
    if (isWholeEndpoint(call.request.path) && !accept.includes('text/event-stream'))
      return serverMetadata(this.#parts.gateway, call)
    // a stream without a body would keep its slot, as nothing ends it
    if (call.request.method === 'HEAD') return methodNotAllowed(call)
    if (this.#allowed(call)) void this.#get.get(call, snapshot)
  }

  post(call: Call, snapshot: Snapshot): void {
    if (this.#allowed(call)) this.#post.post(call, snapshot)
  }

  delete(call: Call, snapshot: Snapshot): void {
    if (this.#allowed(call)) void endSession(this.#parts, call, snapshot)
  }

  get openStreams(): number {
    return this.#parts.streams.size
  }

  /** Notifies the clients whose lists differ between the two snapshots. */
  announce(previous: Snapshot, next: Snapshot, changed: Parameters<Streams['announce']>[2]): Promise<void> {
    return this.#parts.streams.announce(previous, next, changed)
  }

  /** Ends every stream, for the drain. */
  close(): void {
    this.#parts.streams.close()
  }

  #allowed(call: Call): boolean {
    const refused = refusedHeader(call.request, this.#parts.cors, this.#localHosts)
    if (refused === undefined) {
      const fault = selectionFault(call)
      if (fault !== undefined) badRequest(call, null, fault)
      return fault === undefined
    }
    const message =
      refused === 'host'
        ? 'The name in the Host header is not a local name. Set GATEWAY_URL to the address that clients use.'
        : `The origin "${call.request.header('origin').slice(0, MAX_SHOWN_ORIGIN)}" may not use this endpoint. Add the origin to CORS_ORIGINS.`
    call.respond(403, { error: 'forbidden_origin', message, request_id: call.requestId })
    return false
  }
}

/** Without the limiter streams live as long as their clients; slow readers are still cut by the listener. */
function streamLimits({ limiter, streams }: McpOptions): StreamLimits {
  if (limiter.enabled) return streams
  return { ...streams, idleTimeoutMs: Number.POSITIVE_INFINITY, maxDurationMs: Number.POSITIVE_INFINITY }
}
