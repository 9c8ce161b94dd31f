/** How the calls of one upstream share connections, as its author chose (docs/reference/toolset.md, Connections). It opens none. */

/** Absent: one HTTP/1.1 request in flight on each connection. At most one of the two is set. */
export interface UpstreamTransport {
  /** Idempotent requests in flight on one plain-http connection, from 2. */
  readonly pipelining?: number
  /** HTTP/2, by ALPN for https and with prior knowledge for http. */
  readonly http2?: true
}

export const MAX_PIPELINING = 16
