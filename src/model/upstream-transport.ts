/** How the calls of one upstream share connections, as its author chose (docs/reference/toolset.md, Connections). It opens none. */

/** At most one of the two is chosen. */
export interface UpstreamTransport {
  /** Idempotent requests in flight on one plain-http connection; 1. */
  readonly pipelining?: number
  /** HTTP/2, by ALPN for https and with prior knowledge for http; false. */
  readonly http2?: boolean
}

export const MAX_PIPELINING = 16

/** undefined: nothing but the defaults was chosen, which is one HTTP/1.1 request in flight on each connection. */
export function chosenTransport({
  pipelining = 1,
  http2 = false,
}: UpstreamTransport): UpstreamTransport | undefined {
  if (http2) return { http2 }
  return pipelining > 1 ? { pipelining } : undefined
}
