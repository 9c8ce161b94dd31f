/**
 * Calls an MCP server for a tool, resource, prompt or completion, and turns its response into an outcome. `mcp/client/` keeps the
 * sessions.
 */

import { continueWith, type MaybePending } from '../../../base/and-then.ts'
import { Cancellation } from '../../../base/cancellation.ts'
import type { CircuitOpen, McpSessions } from '../../../mcp/client/sessions.ts'
import { ShortTextResult } from '../../../mcp/client/short-text-result.ts'
import type {
  OnProgress,
  RequestOptions,
  RpcError,
  RpcFailure,
  RpcOutcome,
  RpcResult,
} from '../../../mcp/protocol.ts'
import { type Refusal, refuse } from '../../../model/refusal.ts'
import type { ToolResult } from '../../../model/tool.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { MAX_ROUNDS } from '../../pipeline/inquiry.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import { TextReply } from '../../pipeline/text-reply.ts'
import { ownerOf } from '../../sessions/owner.ts'
import { backendFailure, failedCall } from './backend-failure.ts'
import { backendHeaders } from './backend-headers.ts'
import { type Attempt, type CallToken, callWithToken, followUps } from './backend-token.ts'
import { callTimeoutMs } from './begin-task.ts'
import type { BackendParts } from './call-backend.ts'
import { featureResult } from './feature-result.ts'
import { mcpResult, plainTextOf } from './mcp-result.ts'
import { NotificationLimit } from './notification-limit.ts'
import { redactedPaths } from './redact-result.ts'
import type { ResponseSizes } from './response-sizes.ts'
import { askInputs, declaredCapabilities, questionHandler } from './server-questions.ts'
import { awaitServerTask, type SendToServer, type ServerOutcome, serverTaskOf } from './server-task.ts'

/** For the texts of a server in an error. */
const MAX_ERROR_CHARS = 4_000

const CANCEL_WITHIN_MS = 5_000
const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

type Params = { readonly [name: string]: unknown }

export function callMcpServer(
  sessions: McpSessions,
  {
    backendTokens: tokens,
    maxResponseBytes,
    textReplies,
  }: Pick<BackendParts, 'backendTokens' | 'maxResponseBytes' | 'textReplies'>,
  sizes: ResponseSizes,
): (exchange: Exchange, cancellation: Cancellation) => MaybePending<Outcome> {
  function once(
    exchange: Exchange,
    cancellation: Cancellation,
    method: string,
    params: Params,
    headers: readonly string[],
    call: CallToken | undefined,
    timeoutMs = call?.timeoutMs ?? callTimeoutMs(exchange),
  ): MaybePending<RpcOutcome | CircuitOpen> {
    const { tool } = exchange
    const { session } = exchange.transport
    const { address, key, isShared } = tool!.mcp!
    const capabilities = isShared ? undefined : declaredCapabilities(exchange)
    const onServerRequest = isShared ? undefined : questionHandler(exchange)
    const canAsk = onServerRequest === undefined ? '' : ' asks'
    const scope = isShared
      ? { address, key, caller: '', token: call?.token }
      : {
          address,
          key,
          caller: `${ownerOf(exchange.principal!)} ${session?.id ?? ''}${canAsk}`,
          callerSession: session?.id,
          token: call?.token,
          tokenOwner: call?.owner,
          onEnd: session && ((listener: () => void) => session.onEnd(listener)),
          capabilities: onServerRequest === undefined ? undefined : capabilities,
        }
    return sessions.request(scope, method, params, {
      timeoutMs,
      maxResponseBytes,
      budget: exchange.budget,
      party: exchange.party,
      shortTexts: textReplies,
      cancellation,
      onServerRequest,
      capabilities: withTasks(exchange, capabilities),
      headers: backendHeaders(
        call === undefined ? headers : [...headers, 'authorization', `Bearer ${call.token}`],
        exchange,
      ),
      onBytes: bytes => {
        exchange.responseBytes += bytes
      },
      onProgress: progressOf(exchange),
      // the messages of a shared session may be about calls of others
      ...(isShared ? undefined : logOf(exchange)),
    })
  }

  function attempt(exchange: Exchange, cancellation: Cancellation, call?: CallToken): MaybePending<Attempt> {
    const { operation, tool } = exchange
    if (!isCall(operation)) return toAttempt(undefined)
    const { request, complete } = tool!.mcp!
    const { completion } = operation
    const asked = completion === undefined ? request(operation.arguments) : complete?.(completion)
    // a server that completes nothing has no suggestions (MCP, completion)
    if (asked === undefined) return toAttempt(NO_SUGGESTIONS)
    const { method, headers } = asked
    const asTask = sendsAsTask(exchange) ? { task: { ttl: callTimeoutMs(exchange) } } : undefined
    const params = asTask === undefined ? asked.params : { ...asked.params, ...asTask }
    exchange.responseBytes = 0
    exchange.backendMs = 0
    const startedAt = performance.now()
    return continueWith(once(exchange, cancellation, method, params, headers, call), first => {
      exchange.backendMs += performance.now() - startedAt
      if (first.kind === 'result' && isUnfinished(method, first))
        return finish(exchange, cancellation, { method, params, headers }, first, call)
      return endAttempt(first, exchange, method)
    })
  }

  /** The server executes the call as a task, or asks for input first. The attempt is not repeated: the server has begun with it. */
  async function finish(
    exchange: Exchange,
    cancellation: Cancellation,
    { method, params, headers }: { method: string; params: Params; headers: readonly string[] },
    first: RpcOutcome | CircuitOpen,
    call: CallToken | undefined,
  ): Promise<Attempt> {
    const followUp = followUps(call, isUnauthorized)
    let last = first
    for (let round = 0; ; round++) {
      const startedAt = performance.now()
      const task = last.kind === 'result' && method === 'tools/call' ? serverTaskOf(last.result) : undefined
      const outcome =
        task === undefined
          ? last
          : await resultOf(task, exchange, cancellation, (name, args, cancelling, withinMs) =>
              followUp(cancelling, current => once(exchange, cancelling, name, args, [], current, withinMs)),
            )
      exchange.backendMs += performance.now() - startedAt
      if (outcome.kind === 'refusal') return toAttempt(outcome)
      if (outcome.kind !== 'result' || outcome.result.resultType !== 'input_required')
        return { ...endAttempt(outcome, exchange, method), isRefused: false }
      const { inputRequests, requestState } = outcome.result
      const inputResponses = round < MAX_ROUNDS ? await askInputs(exchange, inputRequests) : undefined
      if (inputResponses === undefined)
        return toAttempt(failedCall(NEEDS_INPUT, { failure: 'input_required' }))
      if (inputResponses === 'pending') return toAttempt(refuse('confirmation_pending'))
      if (inputResponses === 'declined') return toAttempt(failedCall(DECLINED, { failure: 'input_declined' }))
      const askedAt = performance.now()
      const again = { ...params, inputResponses, requestState }
      last = await followUp(cancellation, current =>
        once(exchange, cancellation, method, again, headers, current),
      )
      exchange.backendMs += performance.now() - askedAt
    }
  }

  function endAttempt(outcome: RpcOutcome | CircuitOpen, exchange: Exchange, method: string): Attempt {
    if (outcome.kind === 'result') sizes.note(exchange.tool!.tool, exchange.responseBytes)
    if (outcome instanceof ShortTextResult && method === 'tools/call')
      return toAttempt(new TextReply(outcome.text, 200))
    if (outcome.kind === 'error') return toAttempt(rpcError(outcome))
    if (outcome.kind === 'circuit_open') return toAttempt(circuitOpen(outcome))
    const timeoutMs = callTimeoutMs(exchange)
    if (outcome.kind === 'failure') {
      exchange.backendFault = outcome.message
      return { outcome: toFailure(outcome, timeoutMs, maxResponseBytes), isRefused: isUnauthorized(outcome) }
    }
    const { uriPrefix } = exchange.tool!.mcp!
    const found =
      method === 'tools/call'
        ? reply(mcpResult(outcome.result, uriPrefix), textReplies)
        : toOutcome(featureResult(method, outcome.result, uriPrefix))
    return toAttempt(found ?? toFailure(NO_RESULT, timeoutMs, maxResponseBytes))
  }

  return (exchange, cancellation) => {
    if (exchange.tool!.tool.authentication.oauth === undefined)
      return continueWith(attempt(exchange, cancellation), ({ outcome }) => outcome)
    return callWithToken(tokens, exchange, cancellation, async call => attempt(exchange, cancellation, call))
  }
}

/** More is to be sent before the result is known. */
function isUnfinished(method: string, outcome: RpcResult): boolean {
  if (outcome instanceof ShortTextResult) return false
  const { result } = outcome
  return (
    result.resultType === 'input_required' || (method === 'tools/call' && serverTaskOf(result) !== undefined)
  )
}

/** The server made a task of the call: so does the gateway, where the client takes one, else the client waits. */
async function resultOf(
  task: NonNullable<ReturnType<typeof serverTaskOf>>,
  exchange: Exchange,
  cancellation: Cancellation,
  send: SendToServer,
): Promise<ServerOutcome | Refusal> {
  const side = exchange.transport.task
  if (side?.mode === 'offered' && !side.begun) {
    const refusal = await side.begin(exchange.principal!)
    if (refusal !== undefined) {
      void send('tasks/cancel', { taskId: task.taskId }, new Cancellation(), CANCEL_WITHIN_MS)
      return refusal
    }
  }
  return awaitServerTask(task, exchange, cancellation, send)
}

/** The server runs it as a task only, or may and the call is one (MCP 2025-11-25). */
function sendsAsTask({ tool, transport: { task } }: Exchange): boolean {
  const support = tool!.tool.mcp?.tasks
  return support === 'required' || (support === 'optional' && task?.begun === true)
}

/** The extension of 2026-07-28, where server and client of the call have it. */
function withTasks(
  { tool, transport: { task } }: Exchange,
  capabilities: Params | undefined,
): Params | undefined {
  if (tool!.tool.mcp?.serves?.includes('tasks') !== true) return capabilities
  if (task === undefined || task.mode === 'declined') return capabilities
  return { ...capabilities, extensions: { [TASKS_EXTENSION]: {} } }
}

function isUnauthorized(outcome: ServerOutcome): boolean {
  return outcome.kind === 'failure' && outcome.status === 401
}

function toAttempt(outcome: Outcome): Attempt {
  return { outcome, isRefused: false }
}

function reply(result: ToolResult | undefined, textReplies: boolean): Outcome {
  if (result === undefined) return undefined
  const text = textReplies ? plainTextOf(result) : undefined
  if (text !== undefined) return new TextReply(text, 200)
  const { isError } = result
  return {
    kind: 'reply',
    result,
    backendStatus: 200,
    ...(isError ? { failure: 'tool_execution_failed' } : {}),
  }
}

function toOutcome(result: Params | undefined): Outcome {
  return result === undefined
    ? undefined
    : { kind: 'reply', result: EMPTY, served: result, backendStatus: 200 }
}

/** Increasing, as MCP requires; without text where the result is redacted, because the text could contain the redacted data. */
function progressOf(exchange: Exchange): OnProgress | undefined {
  const { onProgress } = exchange.transport
  if (onProgress === undefined) return undefined
  const limit = new NotificationLimit()
  const isRedacted = redactedPaths(exchange) !== undefined
  let last = Number.NEGATIVE_INFINITY
  return (progress, total, message) => {
    if (progress <= last || !limit.admit()) return
    last = progress
    onProgress(progress, total, isRedacted ? undefined : message?.slice(0, MAX_ERROR_CHARS))
  }
}

/** Log messages of the server, for a caller who receives them and whose result is not redacted: they could contain the redacted data. */
function logOf(exchange: Exchange): Pick<RequestOptions, 'onLog' | 'logLevel'> {
  const { onLog, logLevel } = exchange.transport
  if (onLog === undefined || redactedPaths(exchange) !== undefined) return {}
  const limit = new NotificationLimit()
  const { toolSet } = exchange.tool!.tool
  return {
    logLevel,
    onLog: ({ level, logger, data }) => {
      if (limit.admit())
        onLog({ level, logger: typeof logger === 'string' ? `${toolSet}/${logger}` : toolSet, data })
    },
  }
}

const EMPTY: ToolResult = Object.freeze({ content: [], isError: false })
const NO_SUGGESTIONS: Outcome = Object.freeze({
  kind: 'reply' as const,
  result: EMPTY,
  served: { completion: { values: [] } },
})
const NEEDS_INPUT =
  'The MCP server requires input before it executes the tool, but the gateway cannot ask this client for input.'
const DECLINED =
  'The user declined to give the input that the MCP server requires. The tool was not executed.'
const NOT_A_RESULT =
  'The MCP server sent a response that is not a valid MCP result. The request may have been executed.'
const NO_HANDSHAKE =
  'The MCP handshake failed: the MCP server refused it, sent an invalid response, or supports no MCP version of the gateway. The request was not executed. Ask the owner of the tool to check the server.'
const NO_RESULT: RpcFailure = { kind: 'failure', reason: 'not_mcp', message: '', sent: true }

function rpcError({ code, message }: RpcError): Outcome {
  const said = message.slice(0, MAX_ERROR_CHARS)
  return {
    kind: 'reply',
    result: {
      content: [{ type: 'text', text: `The MCP server responded with error ${code}: ${said}` }],
      isError: true,
      _meta: { 'toolgate.dev/backend': { rpc_code: code } },
    },
    failure: 'tool_execution_failed',
    backendStatus: 200,
  }
}

function circuitOpen({ retryAfterSecs }: CircuitOpen): Outcome {
  const text = `The MCP server failed several times in a row and is not called at the moment. Try again in ${retryAfterSecs} s.`
  return failedCall(text, { failure: 'unreachable', retry_after: retryAfterSecs })
}

function toFailure(failed: RpcFailure, timeoutMs: number, maxBytes: number): Outcome {
  const { reason, status, sent } = failed
  switch (reason) {
    case 'status': {
      const text =
        status === 401 || status === 403
          ? `The MCP server refused the credential of the gateway (status ${status}).`
          : `The MCP server responded with status ${status}.`
      return failedCall(text, { failure: reason, status })
    }
    case 'session_lost':
      return failedCall('The MCP server ended the session with the gateway. The tool was not executed.', {
        failure: reason,
      })
    case 'not_mcp':
      return failedCall(sent ? NOT_A_RESULT : NO_HANDSHAKE, { failure: reason })
    default:
      return backendFailure({ ...failed, reason }, timeoutMs, maxBytes)
  }
}
