/** Calls the HTTP backend of a tool or of a resource, and turns its response into a result. */

import {
  andThen,
  continueWith,
  type MaybePending,
  type MaybePromise,
  type Pending,
} from '../../../base/and-then.ts'
import { beginInSlices, nextTurn, runInSlices } from '../../../base/async/slices.ts'
import type { Cancellation } from '../../../base/cancellation.ts'
import { isLongJson } from '../../../base/json/long-json.ts'
import { refuse } from '../../../model/refusal.ts'
import type { CircuitOpen } from '../../../net/egress/circuit.ts'
import type { Egress, EgressFailure, EgressRequest, EgressResponse } from '../../../net/egress/egress.ts'
import type { BackendTokens } from '../../../net/egress/oauth/backend-tokens.ts'
import type { RuledUpstreams } from '../../../net/egress/ruled-upstreams.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import { MIN_UNREAD_BYTES, TextReply } from '../../pipeline/text-reply.ts'
import type { BackendRequest } from '../../snapshot/snapshot.ts'
import { awaitAcceptedWork, isAcceptedWork } from './accepted-work.ts'
import { backendFailure } from './backend-failure.ts'
import { backendHeaders, headersOfCall } from './backend-headers.ts'
import { type CallToken, callWithToken, followUps } from './backend-token.ts'
import { callTimeoutMs } from './begin-task.ts'
import { ProgressLines } from './progress-lines.ts'
import { redactedPaths } from './redact-result.ts'
import type { ResponseSizes } from './response-sizes.ts'
import { cachedMs } from './result-cache.ts'
import { makingResult, plainText } from './tool-result.ts'

const LARGE_BYTES = 1024 * 1024

export interface BackendParts {
  readonly egress: Egress
  /** For APIs with rules for their upstream. */
  readonly upstreams: RuledUpstreams
  readonly backendTokens: BackendTokens
  readonly maxResponseBytes: number
  /** Short texts pass as bytes, without a value made of them; false: for comparison. */
  readonly textReplies: boolean
}

type Received = EgressResponse | EgressFailure | CircuitOpen

export function callsOfBackend(
  { egress, upstreams, backendTokens, maxResponseBytes, textReplies }: BackendParts,
  sizes: ResponseSizes,
) {
  function send(
    exchange: Exchange,
    request: BackendRequest,
    cancellation: Cancellation,
    token?: CallToken,
  ): Pending<Received> {
    const { apiId, upstream } = exchange.tool!.tool
    const rules = apiId === undefined ? undefined : exchange.snapshot.apiOf(apiId)?.upstream
    const own = withBearer(request.headers, token)
    const progress = exchange.transport.onProgress && observeProgress(exchange, exchange.transport.onProgress)
    const outgoing: EgressRequest = {
      method: request.method,
      url: request.url,
      // a mirror copies one list
      headers: rules === undefined ? own : backendHeaders(own, exchange),
      headersOfCall: rules === undefined ? headersOfCall(exchange) : undefined,
      body: request.body,
      timeoutMs: token?.timeoutMs ?? callTimeoutMs(exchange),
      maxResponseBytes,
      budget: exchange.budget,
      party: exchange.party,
      cancellation,
      transport: upstream,
      onHead: progress?.onHead,
      onChunk: progress?.onChunk,
    }
    return rules === undefined ? egress.request(outgoing) : upstreams.of(rules).request(outgoing)
  }

  /** For a task: the response of work that the backend has only accepted, once the work has ended. */
  async function endCall(
    exchange: Exchange,
    built: BackendRequest,
    cancellation: Cancellation,
    token: CallToken | undefined,
    first: Received,
  ): Promise<Received> {
    if (first.kind !== 'response' || !isAcceptedWork(exchange, first)) return first
    const followUp = followUps(token, isUnauthorized)
    return awaitAcceptedWork(first, built, exchange, cancellation, request =>
      followUp(cancellation, current => send(exchange, request, cancellation, current)),
    )
  }

  function receiveResponse(exchange: Exchange, response: Received): MaybePromise<Outcome> {
    if (response.kind === 'circuit_open')
      return refuse('upstream_unavailable', { retryAfterSecs: response.retryAfterSecs })
    if (response.kind !== 'response') {
      exchange.backendFault = response.message
      return backendFailure(response, callTimeoutMs(exchange), maxResponseBytes)
    }
    sizes.note(exchange.tool!.tool, response.body.byteLength)
    // joining the body and reading it take milliseconds each: other calls come between
    return response.body.byteLength > LARGE_BYTES
      ? respondedLater(exchange, response, textReplies)
      : toReply(exchange, response, textReplies)
  }

  function timeReply(exchange: Exchange, response: Received, startedAt: number): MaybePromise<Outcome> {
    exchange.backendMs = performance.now() - startedAt
    return receiveResponse(exchange, response)
  }

  function request(
    exchange: Exchange,
    built: BackendRequest,
    cancellation: Cancellation,
  ): MaybePending<Outcome> {
    if (exchange.tool!.tool.authentication.oauth !== undefined)
      return callWithToken(backendTokens, exchange, cancellation, async token => {
        const startedAt = performance.now()
        const first = await send(exchange, built, cancellation, token)
        const response = await endCall(exchange, built, cancellation, token, first)
        exchange.backendMs = performance.now() - startedAt
        // a response after the first one is about work that has begun
        return { outcome: await receiveResponse(exchange, response), isRefused: isUnauthorized(first) }
      })
    const startedAt = performance.now()
    return continueWith(send(exchange, built, cancellation), first =>
      isAcceptedWork(exchange, first)
        ? endCall(exchange, built, cancellation, undefined, first).then(last =>
            timeReply(exchange, last, startedAt),
          )
        : timeReply(exchange, first, startedAt),
    )
  }

  return (exchange: Exchange, cancellation: Cancellation): MaybePending<Outcome> => {
    const { operation, tool } = exchange
    if (!isCall(operation)) return undefined
    const args = operation.arguments
    if (!isLongJson(args)) return request(exchange, tool!.buildRequest(args), cancellation)
    return runInSlices(tool!.buildInSteps(args)).then(built => request(exchange, built, cancellation))
  }
}

function isUnauthorized(received: Received): boolean {
  return received.kind === 'response' && received.status === 401
}

function withBearer(headers: readonly string[], call: CallToken | undefined): readonly string[] {
  return call === undefined ? headers : [...headers, 'authorization', `Bearer ${call.token}`]
}

/**
 * Progress of a streaming backend; without text where the result is redacted, because the text could contain the redacted data. Apart: a function with
 * a closure allocates a scope whenever it is called.
 */
function observeProgress(
  exchange: Exchange,
  onProgress: NonNullable<Exchange['transport']['onProgress']>,
): Pick<EgressRequest, 'onHead' | 'onChunk'> {
  const lines = new ProgressLines(
    redactedPaths(exchange) === undefined ? onProgress : (done, total) => onProgress(done, total, undefined),
  )
  return {
    onHead: (_status, headers) => lines.begin(headers.get('content-type')),
    onChunk: chunk => lines.chunk(chunk),
  }
}

function toReply(exchange: Exchange, response: EgressResponse, textReplies: boolean): MaybePromise<Reply> {
  exchange.responseBytes = response.body.byteLength
  const structured = exchange.tool!.tool.outputSchema !== undefined
  const long = response.body.byteLength >= MIN_UNREAD_BYTES && isUnread(exchange)
  const text = structured || !textReplies ? undefined : plainText(response, long)
  return text === undefined ? madeReply(response, structured) : new TextReply(text, response.status)
}

/** Whether a text is sent as it came: a result for MCP is bounded, which takes its characters. */
function isUnread(exchange: Exchange): boolean {
  const { access, operation, tool } = exchange
  if (access !== 'rest' || !isCall(operation) || (operation.optimization ?? 'none') !== 'none') return false
  return cachedMs(tool!.tool) === 0 && redactedPaths(exchange) === undefined
}

// apart: a function with a closure allocates a scope whenever it is called
function respondedLater(exchange: Exchange, response: EgressResponse, textReplies: boolean): Promise<Reply> {
  return nextTurn().then(() => toReply(exchange, response, textReplies))
}

function madeReply(response: EgressResponse, structured: boolean): MaybePromise<Reply> {
  const ok = response.status >= 200 && response.status < 300
  const making = makingResult(response, structured)
  return andThen(beginInSlices(making), result =>
    ok
      ? { kind: 'reply', result, backendStatus: response.status }
      : { kind: 'reply', result, backendStatus: response.status, failure: 'tool_execution_failed' },
  )
}
