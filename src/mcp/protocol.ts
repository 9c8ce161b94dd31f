/** Addresses, request options and outcomes of MCP on the side of the client. */
import type { Cancellation } from '../base/cancellation.ts'
import type { Party } from '../base/fair-shares.ts'
import type { EgressFailure } from '../net/egress/egress.ts'
import type { ByteBudget } from '../net/held-bytes.ts'

export type Dict = { readonly [name: string]: unknown }

/** Request id of a request of ours: a number, or a text where other threads and instances number requests of the same session. */
export type RequestId = number | string

export interface ServerAddress {
  readonly url: string
  /** `auto`: every transport in turn; `sse` is that of 2024-11-05. */
  readonly transport: 'auto' | 'streamable' | 'sse'
  /** Flat, a credential that does not change included. */
  readonly headers: readonly string[]
  /** The access token of the next request; '' sends none. */
  readonly bearer?: { readonly token: string } | undefined
}

/** Name and version of the gateway, as servers read it. */
export interface ClientInfo {
  readonly name: string
  readonly version: string
}

export interface RpcResult {
  readonly kind: 'result'
  readonly result: Dict
}

/** A JSON-RPC error of the server. */
export interface RpcError {
  readonly kind: 'error'
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** No response of the server to the request itself. */
export interface RpcFailure {
  readonly kind: 'failure'
  /** `status`: an HTTP status without a JSON-RPC message. `not_mcp`: a response that is not valid MCP. */
  readonly reason: EgressFailure['reason'] | 'status' | 'session_lost' | 'not_mcp'
  /** For logs and operators; holds no credential. */
  readonly message: string
  /** False: the server did not execute the request, so that repeating it is safe. */
  readonly sent: boolean
  readonly status?: number
  /** The request was never tried, because of a bound of this side: this says nothing about the server. */
  readonly saturated?: true
}

export type RpcOutcome = RpcResult | RpcError | RpcFailure

export type OnProgress = (progress: number, total: number | undefined, message: string | undefined) => void

/** @param params of `notifications/message` */
export type OnLog = (params: Dict) => void

export type OnServerRequest = (method: string, params: Dict) => Promise<Dict | undefined>

export interface RequestOptions {
  /** From the start to the response. */
  readonly timeoutMs: number
  /** For everything that is received for this request. */
  readonly maxResponseBytes: number
  /** As of `EgressRequest`. */
  readonly budget?: ByteBudget | undefined
  /** As of `EgressRequest`. */
  readonly party?: Party | undefined
  /** The request ends with the connection, not with a response: it takes no connection of calls. */
  readonly isLasting?: boolean
  /** For parsing one message, nanoseconds; 10 ms. */
  readonly maxParseNs?: number | undefined
  /** false: a short text is read as any other result, for comparison; true. */
  readonly shortTexts?: boolean | undefined
  readonly cancellation?: Cancellation | undefined
  /** Flat; sent beside those of the address. */
  readonly headers?: readonly string[]
  readonly onProgress?: OnProgress | undefined
  /** Receives log messages during this request. */
  readonly onLog?: OnLog | undefined
  /** Least severe level of log messages; the server's choice when absent. */
  readonly logLevel?: string | undefined
  /** For the client behind the gateway, as a request of 2026-07-28 declares them; none when absent. */
  readonly capabilities?: Dict | undefined
  /** Handles a request of the server during this one (up to 2025-11-25); undefined: it is refused. Never rejects. */
  readonly onServerRequest?: OnServerRequest | undefined
  /** Counts what is received for the request. */
  readonly onBytes?: ((bytes: number) => void) | undefined
}

export function failure(
  reason: RpcFailure['reason'],
  message: string,
  sent: boolean,
  status?: number,
): RpcFailure {
  return { kind: 'failure', reason, message, sent, ...(status === undefined ? {} : { status }) }
}
