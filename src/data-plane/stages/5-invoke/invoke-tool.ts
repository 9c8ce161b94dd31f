/** Calls the backend of a tool and turns its response into a tool result. It never forwards the caller's token. */

import { beginInSlices, nextTurn } from '../../../shared/async/slices.ts'
import { andThen, type MaybePromise } from '../../../shared/call/and-then.ts'
import type { Cancellation } from '../../../shared/call/cancellation.ts'
import { newSpanId } from '../../../shared/call/random-ids.ts'
import { refuse } from '../../../shared/call/refusal.ts'
import type { Egress, EgressFailure, EgressHeaders, EgressResponse } from '../../../shared/egress/egress.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { isLargeText, optimizeLargeTexts } from '../shared/token-optimization.ts'
import type { LargeTexts } from './large-texts.ts'
import { checkedOutput } from './output-check.ts'
import { ProgressLines } from './progress-lines.ts'
import { redactedPaths, redactOutcome } from './redact-result.ts'
import type { ResultCache } from './result-cache.ts'
import { makingResult } from './tool-result.ts'

const LARGE_BYTES = 1024 * 1024

export function invokeTool(
  egress: Egress,
  maxResponseBytes: number,
  cache: ResultCache,
  largeTexts: LargeTexts,
): Stage {
  async function call(exchange: Exchange, cancellation: Cancellation): Promise<Outcome> {
    const { operation, tool } = exchange
    if (operation.action !== 'tools.call') return undefined
    const request = tool!.buildRequest(operation.arguments)
    const progress = progressOf(exchange)
    const startedAt = performance.now()
    const response = await egress.request({
      method: request.method,
      url: request.url,
      headers: headersOf(request.headers, exchange),
      body: request.body,
      timeoutMs: tool!.tool.timeoutMs,
      maxResponseBytes,
      cancellation,
      onHead:
        progress && ((_: number, headers: EgressHeaders) => progress.begin(headers.get('content-type'))),
      onChunk: progress && ((chunk: Uint8Array) => progress.chunk(chunk)),
    })
    exchange.backendMs = performance.now() - startedAt
    if (response.kind !== 'response') return failed(response, tool!.tool.timeoutMs, maxResponseBytes)
    // joining the body and reading it take milliseconds each: other calls come between
    if (response.body.byteLength > LARGE_BYTES) await nextTurn()
    const reply = responded(exchange, response)
    const { validateOutput } = tool!
    return validateOutput === undefined
      ? reply
      : andThen(reply, value => checkedOutput(value, validateOutput))
  }

  return {
    id: 'invoke-tool',
    phase: 'invoke',
    run(exchange) {
      if (exchange.operation.action !== 'tools.call') return undefined
      if (exchange.cancellation.cancelled) return refuse('cancelled')
      const response = cache.respond(exchange, call)
      const redacted = redactedPaths(exchange)
      const owner = exchange.tool!.tool.tenant ?? exchange.tool!.tool.toolSet
      const visible =
        redacted === undefined
          ? response
          : andThen(response, outcome =>
              redactOutcome(outcome, redacted, text => largeTexts.rewrite(owner, text, { paths: redacted })),
            )
      const { optimization: level = 'none' } = exchange.operation
      if (level === 'none') return visible
      return andThen(visible, outcome => {
        if (outcome?.kind !== 'reply' || !outcome.result.content.some(isLargeText)) return outcome
        const shorten = (text: string) => largeTexts.rewrite(owner, text, { level })
        return optimizeLargeTexts(outcome.result, level, shorten).then(() => outcome)
      })
    },
  }
}

/** Progress of a streaming backend; without text where the result is redacted, because the text could contain the redacted data. */
function progressOf(exchange: Exchange): ProgressLines | undefined {
  const { onProgress } = exchange.transport
  if (onProgress === undefined) return undefined
  return new ProgressLines(
    redactedPaths(exchange) === undefined ? onProgress : (done, total) => onProgress(done, total, undefined),
  )
}

function headersOf(own: readonly string[], exchange: Exchange): readonly string[] {
  const headers = [...own, 'x-request-id', exchange.requestId, 'traceparent', traceparent(exchange)]
  const propagation = exchange.propagation?.traceHeaders
  if (propagation !== undefined && propagation.length > 0) headers.push(...propagation)
  return headers
}

/** W3C Trace Context §3.2: a new parent id for the call we make; the caller's word on recording stands. */
function traceparent(exchange: Exchange): string {
  exchange.backendSpanId = newSpanId()
  return `00-${exchange.traceId}-${exchange.backendSpanId}-${exchange.traceFlags}`
}

function responded(exchange: Exchange, response: EgressResponse): MaybePromise<Reply> {
  exchange.responseBytes = response.body.byteLength
  const ok = response.status >= 200 && response.status < 300
  const making = makingResult(response, exchange.tool!.tool.outputSchema !== undefined)
  return andThen(beginInSlices(making), result =>
    ok
      ? { kind: 'reply', result, backendStatus: response.status }
      : { kind: 'reply', result, backendStatus: response.status, failure: 'tool_execution_failed' },
  )
}

const TEXT_OF_FAILURE: Readonly<
  Record<Exclude<EgressFailure['reason'], 'cancelled' | 'timeout' | 'too_large'>, string>
> = {
  unreachable: 'The backend cannot be reached.',
  reset:
    'The backend closed the connection without a response. Whether it did what was requested is unknown.',
  truncated:
    'The backend closed the connection before its response was complete. Whether it did what was requested is unknown.',
  blocked_address: 'The backend cannot be reached.', // callers must not learn which addresses are blocked
  protocol: 'The response of the backend is not valid HTTP.',
}

function failed(response: EgressFailure, timeoutMs: number, maxBytes: number): Outcome {
  if (response.reason === 'cancelled') return refuse('cancelled')
  const timedOut = response.reason === 'timeout'
  const text =
    response.reason === 'timeout'
      ? `The backend did not respond within ${timeoutMs} ms.`
      : response.reason === 'too_large'
        ? `The response of the backend is larger than ${maxBytes} bytes, the limit of the gateway. Request fewer items; the setting BACKEND_RESPONSE_MAX changes the limit.`
        : TEXT_OF_FAILURE[response.reason]
  return {
    kind: 'reply',
    result: {
      content: [{ type: 'text', text }],
      isError: true,
      _meta: {
        'toolgate.dev/backend': {
          failure: response.reason === 'blocked_address' ? 'unreachable' : response.reason,
        },
      },
    },
    failure: timedOut ? 'backend_timeout' : 'backend_unreachable',
    backendStatus: 0,
  }
}
