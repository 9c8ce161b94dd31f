/** Makes the spans of a timed call and of its stages, with their names and attributes. */

import type { RefusalReason } from '../../../model/refusal.ts'
import { originOf, socketPathOf } from '../../../model/upstream-url.ts'
import type { CallTraces } from '../../../telemetry/traces.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Peer } from '../../pipeline/exchange-parts.ts'
import { type CallOperation, isCall, type Operation } from '../../pipeline/operation.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { isRecorded, outcomeOf, statusOf } from './record-metrics.ts'

type Attributes = Record<string, string | number>

/** The call ended without a response of the backend. */
const NO_RESPONSE: ReadonlySet<RefusalReason> = new Set([
  'backend_unreachable',
  'backend_timeout',
  'upstream_unavailable',
  'upstream_busy',
  'cancelled',
])

/** Where callers reach the gateway. */
export interface TracedServer {
  readonly scheme: 'http' | 'https'
  readonly address: string
  readonly port: number
}

const MAX_USER_AGENT = 256
/** `Mcp-Protocol-Version` comes from the caller: only dates are kept. */
const PROTOCOL_VERSION = /^\d{4}-\d{2}-\d{2}$/

/** @param clientAddress of the client that sent a request, through trusted proxies or directly */
export function traceCall(
  traces: CallTraces,
  server: TracedServer,
  clientAddress: (peer: Peer) => string,
): Stage {
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
        name: spanName(exchange),
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
          'client.address': clientAddress(exchange.peer),
          ...serverAttributes(exchange, server),
          ...(outcome === 'success' ? undefined : { 'error.type': outcome }),
          ...toolAttributes(exchange),
          ...(exchange.tenant === undefined ? undefined : { 'toolgate.tenant': exchange.tenant }),
          ...(principal === undefined ? undefined : { 'toolgate.consumer': principal.consumer }),
        },
        failed: status >= 500,
        steps: timings.map(({ stage, startedAt: at, ms }) => {
          const times = { startedAtMs: timeOrigin + at, endedAtMs: timeOrigin + at + ms }
          if (stage !== 'invoke-tool' && stage !== 'invoke-proxy')
            return { name: stage, spanId: '', ...times }
          const spanId = exchange.backendSpanId
          // the result was cached: no backend was called
          if (spanId === '') return { name: stage, spanId, ...times }
          const error = backendError(exchange)
          const attributes = {
            'toolgate.stage': stage,
            ...backendAttributes(exchange),
            ...(error === undefined ? undefined : { 'error.type': error }),
          }
          return {
            name: backendSpanName(exchange),
            spanId,
            attributes,
            failed: error !== undefined,
            ...times,
          }
        }),
      })
      return undefined
    },
  }
}

/** OpenTelemetry, HTTP server spans; MCP requests are named by their method and target. Paths of proxied APIs may hold data of a caller: their prefix stands for them. */
function spanName(exchange: Exchange): string {
  const { access, operation, tool } = exchange
  const route = routeOf(exchange)
  const method = exchange.peer.method ?? ''
  if (access !== 'jsonrpc' && route !== '') return `${method} ${route}`
  return tool === undefined ? mcpMethod(operation) : `${mcpMethod(operation)} ${tool.tool.name}`
}

function routeOf({ access, operation, peer }: Exchange): string {
  if (operation.action === 'proxy') return operation.api.prefix
  if (operation.action === 'admin') return `/admin/${operation.resource}`
  return access === 'rest' || access === 'jsonrpc' ? (peer.path ?? '') : ''
}

function serverAttributes(exchange: Exchange, { scheme, address, port }: TracedServer): Attributes {
  const { method, path, header } = exchange.peer
  const route = routeOf(exchange)
  if (method === undefined || path === undefined) return {}
  const userAgent = header?.call(exchange.peer, 'user-agent').slice(0, MAX_USER_AGENT) ?? ''
  return {
    'http.request.method': method,
    'url.scheme': scheme,
    'url.path': route,
    'http.route': route,
    'server.address': address,
    'server.port': port,
    ...(userAgent === '' ? undefined : { 'user_agent.original': userAgent }),
  }
}

/** OpenTelemetry, semantic conventions for MCP and generative AI. */
function toolAttributes({ operation, access, tool, peer }: Exchange): Attributes | undefined {
  const isList = operation.action.endsWith('.list')
  if (!isCall(operation) && !isList) return undefined
  const version = access === 'jsonrpc' ? (peer.header?.('mcp-protocol-version') ?? '') : ''
  return {
    ...(access === 'jsonrpc' ? { 'mcp.method.name': mcpMethod(operation) } : undefined),
    ...(PROTOCOL_VERSION.test(version) ? { 'mcp.protocol.version': version } : undefined),
    ...(tool === undefined || operation.action !== 'tools.call'
      ? undefined
      : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool.tool.name }),
  }
}

function mcpMethod({ action }: CallOperation | Operation): string {
  return action.replace('.', '/')
}

function backendSpanName({ operation, tool }: Exchange): string {
  if (operation.action === 'proxy') return operation.method
  if (tool === undefined) return 'HTTP'
  const { mcp, request, name } = tool.tool
  return mcp === undefined ? `${request.method} ${request.path}` : `${mcpMethod(operation)} ${name}`
}

/**
 * OpenTelemetry, HTTP client spans: an error is a status of 400 and above, by its number, or no response. A call that was refused after
 * its backend responded is not an error of the backend.
 */
function backendError({ final }: Exchange): string | undefined {
  if (final === undefined) return undefined
  if (final.kind === 'refusal') return NO_RESPONSE.has(final.reason) ? final.reason : undefined
  const status = final.backendStatus ?? 0
  return status >= 400 ? String(status) : final.failure
}

/** OpenTelemetry, HTTP client spans. Arguments are part of the path: its template stands for it. */
function backendAttributes({ operation, tool, final }: Exchange): Attributes {
  const status = (final?.kind === 'reply' ? final.backendStatus : undefined) ?? 0
  const responded = status === 0 ? undefined : { 'http.response.status_code': status }
  if (operation.action === 'proxy')
    return { ...addressOf(operation.api.upstreamUrl, operation.method, ''), ...responded }
  if (tool === undefined) return {}
  const { mcp, request } = tool.tool
  if (mcp !== undefined) {
    const base = addressOf(mcp.url, 'POST', '')
    return { ...base, 'mcp.method.name': mcpMethod(operation) }
  }
  return { ...addressOf(request.baseUrl, request.method, request.path), ...responded }
}

function addressOf(base: string, method: string, template: string): Attributes {
  const origin = originOf(base)
  if (origin === undefined) return { 'http.request.method': method }
  const { hostname, port, protocol, pathname } = new URL(base)
  const path = pathname === '/' ? template : pathname + template
  const socketPath = socketPathOf(origin)
  return {
    'http.request.method': method,
    'url.full': origin + path,
    ...(template === '' ? undefined : { 'url.template': path }),
    ...(socketPath === undefined
      ? {
          'server.address': hostname,
          'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
        }
      : { 'server.address': socketPath, 'network.transport': 'unix' }),
  }
}
