/** Makes the failures of outgoing calls, also from errors of libraries, and the error of a streamed body. It decides on no retry. */
import type { EgressFailure } from './egress.ts'

export function failure(reason: EgressFailure['reason'], message: string, sent: boolean): EgressFailure {
  return { kind: 'failure', reason, message, sent }
}

/** The request was not sent, because of a bound of this side. */
export function saturation(origin: string, reason: string): EgressFailure {
  return { ...failure('unreachable', `${origin} was not called: ${reason}`, false), saturated: true }
}

/** The error of a body that is read while it arrives. */
export class StreamFailure extends Error {
  readonly reason: EgressFailure['reason']

  constructor({ message, reason }: EgressFailure) {
    super(message)
    this.reason = reason
  }
}

/** How far an exchange had come when it failed. */
export interface Progress {
  /** The request was handed to a socket. */
  readonly sent: boolean
  /** A status line has arrived. */
  readonly responded: boolean
}

/**
 * Names a failure of the client library. The text holds the origin and a code, never headers, path or body,
 * because those may carry credentials.
 */
export function failureOf(error: unknown, origin: string, { sent, responded }: Progress): EgressFailure {
  const code = codeOf(error)
  if (code === 'ERR_BLOCKED_ADDRESS') return failure('blocked_address', (error as Error).message, false)
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED')
    return failure('unsendable', `the request is not valid: ${(error as Error).message}`, false)
  if (code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH')
    return failure('unsendable', `the request is not valid: ${(error as Error).message}`, sent)
  if (code === 'ERR_NOT_HTTP2')
    return failure('not_http2', `${origin} does not respond with HTTP/2. ${NOT_HTTP2_FIX}`, false)
  if (PROTOCOL.test(code))
    return failure('protocol', `${origin} sent a response that is not valid HTTP: ${code}`, sent)
  if (responded)
    return failure(
      'truncated',
      `${origin} closed the connection before the response was complete: ${code}`,
      sent,
    )
  if (sent) return failure('reset', `${origin} closed the connection without a response: ${code}`, true)
  return failure('unreachable', `cannot connect to ${origin}: ${code}`, false)
}

const NOT_HTTP2_FIX =
  'Enable HTTP/2 on this server (without TLS: h2c with prior knowledge), or disable HTTP/2 in the gateway: remove spec.upstream.http2 from the ToolSet, or set traffic.connections.http2 of the API to false.'

const PROTOCOL =
  /^HPE_|^ERR_HTTP2_(?:PROTOCOL|FLOW_CONTROL|FRAME_SIZE|COMPRESSION)_ERROR$|^UND_ERR_(RES_CONTENT_LENGTH_MISMATCH|HEADERS_OVERFLOW|RESPONSE)$/

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown error'
  const { code, name } = error as { code?: unknown; name?: unknown }
  if (typeof code === 'string') return code
  return typeof name === 'string' ? name : 'unknown error'
}
