/** The interfaces of outgoing calls to the connections that carry them: requests, callbacks, and the error of a connection. */
import type { EgressHeaders } from '../egress.ts'

/** The callbacks of a call, for undici (its raw dispatch interface, version 7) and for our own connections. */
export interface ResponseHandler {
  /** The call has ended (cancelled, timed out): it must not be sent any more. */
  readonly over: boolean
  /** A connection is about to carry the request; `abort` takes the request back, or closes the connection (of HTTP/2: the stream) once bytes have left. */
  onConnect(abort: Abort): void
  /**
   * A head has arrived; also called for each informational response (status below 200).
   * @param wire our own parser's headers, or undici's name, value, name, value … in Latin-1
   * @param resume goes on after `onData` asked for a pause
   */
  onHeaders(status: number, wire: EgressHeaders | Buffer[], resume: () => void): boolean
  /** @returns false to pause the connection until `resume` is called */
  onData(chunk: Uint8Array): boolean
  onComplete(): void
  /** Nothing is called after it. */
  onError(error: Error): void
}

/** What carries a request. An object in place of a function, which would be made for each request. */
export interface Carrier {
  /** For a handler whose request it no longer carries: does nothing. */
  takeBack(handler: Pick<ResponseHandler, 'over'>): void
}

export type Abort = (() => void) | Carrier

/** A request whose body is at hand, so that its length is known before the first byte leaves. */
export interface WholeRequest {
  readonly method: string
  /** Path and query, visible ASCII. */
  readonly path: string
  /** Flat: name, value, name, value … */
  readonly headers: readonly string[]
  /** Further ones, behind those. */
  readonly headersOfCall: readonly string[]
  readonly body: string | Uint8Array | null
}

export interface OutgoingRequest {
  readonly method: string
  readonly path: string
  readonly headers: readonly string[]
  readonly headersOfCall: readonly string[]
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null
}

/** An error whose `code` `failureOf` reads. */
export class Http1Error extends Error {
  readonly code: string

  /** @param code `HPE_…` for a response that is not HTTP, `UND_ERR_INVALID_ARG` for a request that cannot be sent, `UND_ERR_SOCKET` … */
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
