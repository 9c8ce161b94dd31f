/** Calls the backend of a tool and turns its response into a tool result. It never forwards the caller's token. */

import { beginInSlices, nextTurn } from '../../../shared/async/slices.ts'
import { andThen, continueWith, type MaybePending, type MaybePromise } from '../../../shared/call/and-then.ts'
import type { Cancellation } from '../../../shared/call/cancellation.ts'
import { refuse } from '../../../shared/call/refusal.ts'
import type { Egress, EgressFailure, EgressHeaders, EgressResponse } from '../../../shared/egress/egress.ts'
import type { BackendTokens } from '../../../shared/egress/oauth/backend-tokens.ts'
import type { McpSessions } from '../../../shared/mcp-client/sessions.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { BackendRequest } from '../../snapshot/snapshot.ts'
import { isLargeText, optimizeLargeTexts } from '../shared/token-optimization.ts'
import { backendFailure } from './backend-failure.ts'
import { backendHeaders } from './backend-headers.ts'
import { type CallToken, callWithToken } from './backend-token.ts'
import { callMcpServer } from './call-mcp-server.ts'
import type { LargeTexts } from './large-texts.ts'
import { checkedOutput } from './output-check.ts'
import { ProgressLines } from './progress-lines.ts'
import { redactedPaths, redactOutcome } from './redact-result.ts'
import type { ResultCache } from './result-cache.ts'
import { makingResult } from './tool-result.ts'

const ALLOWED: Reply = Object.freeze({ kind: 'reply', result: { content: [], isError: false }, served: {} })
const LARGE_BYTES = 1024 * 1024

export function invokeTool(
  egress: Egress,
  mcpSessions: McpSessions,
  maxResponseBytes: number,
  cache: ResultCache,
  largeTexts: LargeTexts,
  tokens: BackendTokens,
): Stage {
  function send(exchange: Exchange, request: BackendRequest, cancellation: Cancellation, token?: CallToken) {
    const progress = progressOf(exchange)
    return egress.request({
      method: request.method,
      url: request.url,
      headers: backendHeaders(withBearer(request.headers, token), exchange),
      body: request.body,
      timeoutMs: token?.timeoutMs ?? exchange.tool!.tool.timeoutMs,
      maxResponseBytes,
      cancellation,
      onHead:
        progress && ((_: number, headers: EgressHeaders) => progress.begin(headers.get('content-type'))),
      onChunk: progress && ((chunk: Uint8Array) => progress.chunk(chunk)),
    })
  }

  function received(exchange: Exchange, response: EgressResponse | EgressFailure): MaybePromise<Outcome> {
    if (response.kind !== 'response')
      return backendFailure(response.reason, exchange.tool!.tool.timeoutMs, maxResponseBytes)
    // joining the body and reading it take milliseconds each: other calls come between
    if (response.body.byteLength > LARGE_BYTES) return nextTurn().then(() => responded(exchange, response))
    return responded(exchange, response)
  }

  function call(exchange: Exchange, cancellation: Cancellation): MaybePending<Outcome> {
    const { operation, tool } = exchange
    if (!isCall(operation)) return undefined
    const request = tool!.buildRequest(operation.arguments)
    const { oauth } = tool!.tool.authentication
    if (oauth !== undefined)
      return callWithToken(tokens, exchange, cancellation, async token => {
        const startedAt = performance.now()
        const response = await send(exchange, request, cancellation, token)
        exchange.backendMs = performance.now() - startedAt
        const isRefused = response.kind === 'response' && response.status === 401
        return { outcome: await received(exchange, response), isRefused }
      })
    const startedAt = performance.now()
    return continueWith(send(exchange, request, cancellation), response => {
      exchange.backendMs = performance.now() - startedAt
      return received(exchange, response)
    })
  }

  const callServer = callMcpServer(mcpSessions, tokens, maxResponseBytes)

  /** With the check of structured content, for every kind of backend. A tool without one adds no promise. */
  function checkedCall(exchange: Exchange, cancellation: Cancellation): MaybePending<Outcome> {
    const { mcp, validateOutput } = exchange.tool!
    const called = mcp === undefined ? call(exchange, cancellation) : callServer(exchange, cancellation)
    if (validateOutput === undefined) return called
    const missing = mcp === undefined ? undefined : 'has no structured content'
    return continueWith(called, outcome =>
      outcome?.kind === 'reply' ? checkedOutput(outcome, validateOutput, missing) : outcome,
    )
  }

  return {
    id: 'invoke-tool',
    phase: 'invoke',
    run(exchange) {
      if (!isCall(exchange.operation)) return undefined
      if (exchange.cancellation.cancelled) return refuse('cancelled')
      // the endpoint watches the resource; all that was to be decided is decided
      if (exchange.operation.subscribes === true) return ALLOWED
      const response = cache.respond(exchange, checkedCall)
      const redacted = redactedPaths(exchange)
      const owner = exchange.tool!.tool.tenant ?? exchange.tool!.tool.toolSet
      const visible =
        redacted === undefined
          ? response
          : continueWith(response, outcome =>
              redactOutcome(outcome, redacted, text => largeTexts.rewrite(owner, text, { paths: redacted })),
            )
      const { optimization: level = 'none' } = exchange.operation
      if (level === 'none') return visible
      return continueWith(visible, outcome => {
        if (outcome?.kind !== 'reply' || !outcome.result.content.some(isLargeText)) return outcome
        const shorten = (text: string) => largeTexts.rewrite(owner, text, { level })
        return optimizeLargeTexts(outcome.result, level, shorten).then(() => outcome)
      })
    },
  }
}

function withBearer(headers: readonly string[], call: CallToken | undefined): readonly string[] {
  return call === undefined ? headers : [...headers, 'authorization', `Bearer ${call.token}`]
}

/** Progress of a streaming backend; without text where the result is redacted, because the text could contain the redacted data. */
function progressOf(exchange: Exchange): ProgressLines | undefined {
  const { onProgress } = exchange.transport
  if (onProgress === undefined) return undefined
  return new ProgressLines(
    redactedPaths(exchange) === undefined ? onProgress : (done, total) => onProgress(done, total, undefined),
  )
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
