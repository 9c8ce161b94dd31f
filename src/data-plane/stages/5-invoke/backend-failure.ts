/** Makes the outcomes of calls that ended without a usable response of their backend. */
import { refuse } from '../../../model/refusal.ts'
import type { EgressFailure } from '../../../net/egress/egress.ts'
import type { Outcome } from '../../pipeline/outcome.ts'

type Reason = EgressFailure['reason']

const TEXT_OF_FAILURE: Readonly<
  Record<Exclude<Reason, 'cancelled' | 'timeout' | 'too_large' | 'over_budget'>, string>
> = {
  unreachable: 'The backend cannot be reached.',
  reset: 'The backend closed the connection without a response. The backend may have executed the request.',
  truncated:
    'The backend closed the connection before its response was complete. The backend may have executed the request.',
  blocked_address: 'The backend cannot be reached.', // callers must not learn which addresses are blocked
  unsendable: 'The request for the backend cannot be sent: its address or a header is not valid.',
  not_http2: 'The backend does not respond with HTTP/2, as its configuration demands.',
  encoding:
    'The body of the response of the backend is not in the content encoding that its head names, or in one that the gateway does not decode.',
  protocol: 'The response of the backend is not valid HTTP.',
}

/** The backend was not called. */
export const BUSY = refuse('upstream_busy', { retryAfterSecs: 1 })

const NOT_HELD = refuse('memory_limit', {
  message:
    'The gateway dropped the response of the backend, because it holds as many bytes as it may (HELD_BYTES_MAX). The backend may have executed the request. Request fewer items, or try again later.',
  retryAfterSecs: 1,
})

/** The backend was not called. */
export const NOT_CALLED = refuse('memory_limit', {
  message:
    'The gateway did not call the backend, because it holds as many bytes as it may (HELD_BYTES_MAX) and the last responses of this tool were long. Request fewer items, or try again later.',
  retryAfterSecs: 1,
})

export function backendFailure(
  { reason, saturated }: Pick<EgressFailure, 'reason' | 'saturated'>,
  timeoutMs: number,
  maxBytes: number,
): Outcome {
  if (saturated === true) return BUSY
  if (reason === 'cancelled') return refuse('cancelled')
  if (reason === 'over_budget') return NOT_HELD
  const text =
    reason === 'timeout'
      ? `The backend did not respond within ${timeoutMs} ms.`
      : reason === 'too_large'
        ? `The response of the backend is larger than ${maxBytes} bytes, the limit of the gateway. Request fewer items; the setting BACKEND_RESPONSE_MAX changes the limit.`
        : TEXT_OF_FAILURE[reason]
  return failedCall(
    text,
    { failure: reason === 'blocked_address' ? 'unreachable' : reason },
    reason === 'timeout',
  )
}

/** @param backend what programs read about the failure */
export function failedCall(text: string, backend: object, timedOut = false): Outcome {
  return {
    kind: 'reply',
    result: { content: [{ type: 'text', text }], isError: true, _meta: { 'toolgate.dev/backend': backend } },
    failure: timedOut ? 'backend_timeout' : 'backend_unreachable',
    backendStatus: 0,
  }
}
