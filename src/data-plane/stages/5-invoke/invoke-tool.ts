/** Calls the backend of a tool and turns its response into a tool result. It never forwards the caller's token. */

import { beginInSlices, nextTurn, runInSlices } from '../../../shared/async/slices.ts'
import {
  andThen,
  continueWith,
  type MaybePending,
  type MaybePromise,
  type Pending,
} from '../../../shared/call/and-then.ts'
import type { Cancellation } from '../../../shared/call/cancellation.ts'
import { isLongJson } from '../../../shared/call/long-json.ts'
import { refuse } from '../../../shared/call/refusal.ts'
import type { CircuitOpen } from '../../../shared/egress/circuit.ts'
import type {
  Egress,
  EgressFailure,
  EgressHeaders,
  EgressRequest,
  EgressResponse,
} from '../../../shared/egress/egress.ts'
import type { RuledUpstreams } from '../../../shared/egress/ruled-upstreams.ts'
import type { McpSessions } from '../../../shared/mcp-client/sessions.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { BackendRequest } from '../../snapshot/snapshot.ts'
import { isLargeText, optimizeLargeTexts } from '../shared/token-optimization.ts'
import { backendFailure } from './backend-failure.ts'
import { backendHeaders } from './backend-headers.ts'
import { callMcpServer } from './call-mcp-server.ts'
import { documentFeature } from './document-feature.ts'
import type { LargeTexts } from './large-texts.ts'
import { checkedOutput } from './output-check.ts'
import { ProgressLines } from './progress-lines.ts'
import { redactedPaths, redactOutcome } from './redact-result.ts'
import type { ResultCache } from './result-cache.ts'
import { makingResult } from './tool-result.ts'

const ALLOWED: Reply = Object.freeze({ kind: 'reply', result: { content: [], isError: false }, served: {} })
const LARGE_BYTES = 1024 * 1024

interface InvokeParts {
  readonly egress: Egress
  /** Of APIs with rules for their upstream. */
  readonly upstreams: RuledUpstreams
  readonly mcpSessions: McpSessions
  readonly maxResponseBytes: number
  readonly results: ResultCache
  readonly largeTexts: LargeTexts
}

export function invokeTool(parts: InvokeParts): Stage {
  const { egress, upstreams, mcpSessions, maxResponseBytes, results: cache, largeTexts } = parts

  function call(exchange: Exchange, cancellation: Cancellation): MaybePending<Outcome> {
    const { operation, tool } = exchange
    if (!isCall(operation)) return undefined
    const args = operation.arguments
    if (isLongJson(args))
      return runInSlices(tool!.buildInSteps(args)).then(request => send(exchange, request, cancellation))
    return send(exchange, tool!.buildRequest(args), cancellation)
  }

  function send(
    exchange: Exchange,
    request: BackendRequest,
    cancellation: Cancellation,
  ): MaybePending<Outcome> {
    const { apiId, timeoutMs } = exchange.tool!.tool
    const progress = progressOf(exchange)
    const startedAt = performance.now()
    const outgoing: EgressRequest = {
      method: request.method,
      url: request.url,
      headers: backendHeaders(request.headers, exchange),
      body: request.body,
      timeoutMs,
      maxResponseBytes,
      cancellation,
      onHead:
        progress && ((_: number, headers: EgressHeaders) => progress.begin(headers.get('content-type'))),
      onChunk: progress && ((chunk: Uint8Array) => progress.chunk(chunk)),
    }
    const rules = apiId === undefined ? undefined : exchange.snapshot.apiOf(apiId)?.upstream
    const sent: Pending<EgressResponse | EgressFailure | CircuitOpen> =
      rules === undefined ? egress.request(outgoing) : upstreams.of(rules).request(outgoing)
    return continueWith(sent, response => {
      exchange.backendMs = performance.now() - startedAt
      if (response.kind === 'circuit_open')
        return refuse('upstream_unavailable', { retryAfterSecs: response.retryAfterSecs })
      if (response.kind !== 'response') return backendFailure(response.reason, timeoutMs, maxResponseBytes)
      // joining the body and reading it take milliseconds each: other calls come between
      if (response.body.byteLength > LARGE_BYTES) return nextTurn().then(() => responded(exchange, response))
      return responded(exchange, response)
    })
  }

  const callServer = callMcpServer(mcpSessions, maxResponseBytes)

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
      const { document } = exchange.tool!
      if (document !== undefined)
        return documentFeature(document, exchange, () => cache.respond(exchange, checkedCall))
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
