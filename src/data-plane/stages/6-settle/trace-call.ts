/** Makes the spans of a call: one for the call and one per stage. It exports nothing. */

import type { CallTraces } from '../../../shared/telemetry/traces.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { isRecorded, outcomeOf, statusOf } from './record-metrics.ts'

export function traceCall(traces: CallTraces): Stage {
  return {
    id: 'trace-call',
    phase: 'settle',
    run(exchange) {
      const { timings, operation, principal, startedAt } = exchange
      if (timings === undefined || !isRecorded(exchange)) return undefined
      const { timeOrigin } = performance
      const outcome = outcomeOf(exchange)
      const status = statusOf(exchange)
      traces.call({
        name:
          exchange.tool === undefined ? operation.action : `${operation.action} ${exchange.tool.tool.name}`,
        traceId: exchange.traceId,
        parentSpanId: exchange.parentSpanId,
        startedAtMs: timeOrigin + startedAt,
        endedAtMs: timeOrigin + startedAt + exchange.durationMs,
        attributes: {
          'toolgate.action': operation.action,
          'toolgate.access': exchange.access,
          'toolgate.outcome': outcome,
          'toolgate.request_id': exchange.requestId,
          'http.response.status_code': status,
          'client.address': exchange.peer.peerAddress,
          ...(outcome === 'success' ? undefined : { 'error.type': outcome }),
          ...toolAttributes(exchange),
          ...(exchange.tenant === undefined ? undefined : { 'toolgate.tenant': exchange.tenant }),
          ...(principal === undefined ? undefined : { 'toolgate.consumer': principal.consumer }),
        },
        failed: status >= 500,
        steps: timings.map(({ stage, startedAt: at, ms }) => ({
          name: stage,
          startedAtMs: timeOrigin + at,
          endedAtMs: timeOrigin + at + ms,
          ...(stage === 'invoke-tool' || stage === 'invoke-proxy'
            ? { spanId: exchange.backendSpanId, attributes: backendAttributes(exchange) }
            : { spanId: '' }),
        })),
      })
      return undefined
    },
  }
}

/** OpenTelemetry, semantic conventions for MCP and generative AI. */
function toolAttributes({ operation, access, tool }: Exchange): Record<string, string> | undefined {
  if (operation.action !== 'tools.call' && operation.action !== 'tools.list') return undefined
  return {
    ...(access === 'jsonrpc' ? { 'mcp.method.name': operation.action.replace('.', '/') } : undefined),
    ...(tool === undefined
      ? undefined
      : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool.tool.name }),
  }
}

/** OpenTelemetry, HTTP client spans, without the path: arguments are part of it. */
function backendAttributes({ operation, tool }: Exchange): Record<string, string | number> {
  const url = operation.action === 'proxy' ? operation.api.upstreamUrl : (tool?.tool.request.baseUrl ?? '')
  if (!URL.canParse(url)) return {}
  const { hostname, port, protocol } = new URL(url)
  return {
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    ...(tool === undefined ? undefined : { 'http.request.method': tool.tool.request.method }),
  }
}
