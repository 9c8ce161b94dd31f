/** Calls a tool of an MCP server, and turns its response into a tool result. It never forwards the caller's token. */
import type { Cancellation } from '../../../shared/call/cancellation.ts'
import type { OnProgress, RpcError, RpcFailure } from '../../../shared/mcp-client/protocol.ts'
import type { CircuitOpen, McpSessions } from '../../../shared/mcp-client/sessions.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import { ownerOf } from '../../sessions/owner.ts'
import { backendFailure, failedCall } from './backend-failure.ts'
import { backendHeaders } from './backend-headers.ts'
import { mcpResult } from './mcp-result.ts'
import { NotificationLimit } from './notification-limit.ts'
import { redactedPaths } from './redact-result.ts'

/** Of the texts of a server in an error. */
const MAX_ERROR_CHARS = 4_000

export function callMcpServer(
  sessions: McpSessions,
  maxResponseBytes: number,
): (exchange: Exchange, cancellation: Cancellation) => Promise<Outcome> {
  return async (exchange, cancellation) => {
    const { operation, tool, transport } = exchange
    if (operation.action !== 'tools.call') return undefined
    const { mcp } = tool!
    const { address, key, isShared, request } = mcp!
    const { params, headers } = request(operation.arguments)
    const { timeoutMs } = tool!.tool
    const caller = isShared ? '' : `${ownerOf(exchange.principal!)} ${transport.session?.id ?? ''}`
    const startedAt = performance.now()
    exchange.responseBytes = 0
    const outcome = await sessions.request(
      { address, key, caller, ...(isShared ? {} : { onEnd: transport.session?.onEnd }) },
      'tools/call',
      params,
      {
        ...{ timeoutMs, maxResponseBytes, cancellation },
        headers: backendHeaders(headers, exchange),
        onBytes: bytes => {
          exchange.responseBytes += bytes
        },
        onProgress: progressOf(exchange),
      },
    )
    exchange.backendMs = performance.now() - startedAt
    if (outcome.kind === 'error') return rpcError(outcome)
    if (outcome.kind === 'circuit_open') return circuitOpen(outcome)
    if (outcome.kind === 'failure') return failed(outcome, timeoutMs, maxResponseBytes)
    if (outcome.result.resultType === 'input_required')
      return failedCall(NEEDS_INPUT, { failure: 'input_required' })
    const result = mcpResult(outcome.result)
    if (result === undefined) return failed(NO_RESULT, timeoutMs, maxResponseBytes)
    return result.isError
      ? { kind: 'reply', result, backendStatus: 200, failure: 'tool_execution_failed' }
      : { kind: 'reply', result, backendStatus: 200 }
  }
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

const NEEDS_INPUT =
  'The MCP server asks for input of the user before it executes the tool, which the gateway does not pass on.'
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

function failed({ reason, status }: RpcFailure, timeoutMs: number, maxBytes: number): Outcome {
  switch (reason) {
    case 'status': {
      const text =
        status === 401 || status === 403
          ? `The MCP server refused the credential of the gateway (status ${status}).`
          : `The MCP server responded with status ${status}.`
      return failedCall(text, { failure: reason, status })
    }
    case 'session_lost':
      return failedCall('The MCP server ended its session. The tool was not executed.', { failure: reason })
    case 'not_mcp':
      return failedCall('The response of the MCP server is not a valid result.', { failure: reason })
    default:
      return backendFailure(reason, timeoutMs, maxBytes)
  }
}
