/** The HTTP version of the calls of one upstream, as its author chose (docs/reference/toolset.md, Connections). */

export interface UpstreamTransport {
  /** HTTP/2, by ALPN for https and with prior knowledge for http; false: one HTTP/1.1 request in flight on each connection. */
  readonly http2?: boolean
}

/** undefined: nothing but the default was chosen. */
export function chosenTransport({ http2 = false }: UpstreamTransport): UpstreamTransport | undefined {
  return http2 ? { http2 } : undefined
}
