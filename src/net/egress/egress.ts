/** The interface of the outgoing HTTP client: requests, responses and failures. Types only; `client.ts` implements it. */

import type { Pending } from '../../base/and-then.ts'
import type { Cancellation } from '../../base/cancellation.ts'
import type { Party } from '../../base/fair-shares.ts'
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
import type { ByteBudget } from '../held-bytes.ts'

export interface EgressRequest {
  readonly method: string
  /** Absolute URL of http(s) or of a Unix socket, already serialized; sent as given (no second normalization of path or query). */
  readonly url: string
  /** Flat: name, value, name, value … */
  readonly headers: readonly string[]
  /** Further ones, behind those. Apart, so that the headers that all calls of a tool have need not be copied for each call. */
  readonly headersOfCall?: readonly string[] | undefined
  readonly body?: string | Uint8Array | undefined
  /** From the start to the last byte of the response. */
  readonly timeoutMs: number
  /** A longer response is a failure `too_large`. */
  readonly maxResponseBytes: number
  /** Asked for a long response, which must not be kept otherwise: a failure `over_budget`. */
  readonly budget?: ByteBudget | undefined
  readonly cancellation?: Cancellation | undefined
  /** For whom it takes a connection, of which each party of an origin has a share. Absent: for the gateway itself. */
  readonly party?: Party | undefined
  /** Absent: one HTTP/1.1 request in flight on each connection. */
  readonly transport?: UpstreamTransport | undefined
  /** Sees each piece as it arrives (streaming backends); the whole body is still collected. `onHead` is called first. */
  readonly onHead?: ((status: number, headers: EgressHeaders) => void) | undefined
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined
}

export interface EgressHeaders {
  /** '' when absent; several values joined with `, `. Lower case name. */
  get(name: string): string
  /** Flat: name, value … as received, lower case names. */
  readonly raw: readonly string[]
}

export interface EgressResponse {
  readonly kind: 'response'
  readonly status: number
  readonly headers: EgressHeaders
  readonly body: Uint8Array
}

/** Closed set. `sent`: the request may have reached the peer (false: safe to retry). */
export interface EgressFailure {
  readonly kind: 'failure'
  readonly reason:
    | 'unreachable'
    | 'blocked_address'
    | 'timeout'
    | 'too_large'
    /** The process holds too many bytes of other calls. It says nothing about the peer. */
    | 'over_budget'
    | 'cancelled'
    /** The request cannot be written as HTTP: its address or a header is not valid. */
    | 'unsendable'
    /** The peer does not support HTTP/2, which the request requires. */
    | 'not_http2'
    /** The body of the response is not what its `Content-Encoding` names, or no one here decodes it. */
    | 'encoding'
    /** The response is not valid HTTP. */
    | 'protocol'
    /** The connection was closed after the request and before a response. */
    | 'reset'
    /** The connection was closed within the response. */
    | 'truncated'
  /** For logs and operators; holds no credential. */
  readonly message: string
  readonly sent: boolean
  /** The request was never sent: the calls or streams of the peer are at their maximum or at that of the party, or every pool is in use for others. This says nothing about the peer. */
  readonly saturated?: true
}

/** A request whose response flows through; its body may do so too (proxied APIs). Nothing is collected. */
export interface EgressStreamRequest
  extends Omit<
    EgressRequest,
    'headersOfCall' | 'body' | 'maxResponseBytes' | 'budget' | 'onHead' | 'onChunk'
  > {
  /** A body at hand is sent with its length. */
  readonly body?: AsyncIterable<Uint8Array> | string | Uint8Array
  /** The response stays open longer than any call: it takes no connection of calls, and has a separate bound. */
  readonly isLasting?: boolean | undefined
}

export interface EgressStreamResponse {
  readonly kind: 'response'
  readonly status: number
  readonly headers: EgressHeaders
  /** Must be consumed or destroyed. */
  readonly body: AsyncIterable<Uint8Array> & {
    /** A body of so many bytes, when it has arrived, in one piece, and none of it has been read: the stream is at its end then. */
    takeWhole?(bytes: number): Uint8Array | undefined
    destroy(): void
  }
}

export interface Egress {
  /** Never rejects. Redirects are not followed. */
  request(request: EgressRequest): Pending<EgressResponse | EgressFailure>
  stream(request: EgressStreamRequest): Promise<EgressStreamResponse | EgressFailure>
  close(): Promise<void>
}
