/** One JSON-RPC request → one answer. It knows methods, not transports: bodies, streams and sessions are `endpoint.ts`. */
import type { Cancellation } from '../../pipeline/cancellation.ts'
import type { ExchangeInit, Operation, Snapshot } from '../../pipeline/exchange.ts'
import type { Refusal } from '../../pipeline/refusal.ts'
import type { Call } from '../call.ts'
import { CAPABILITIES } from '../capabilities.ts'
import { challengeContext, type Ended, type GatewayParts, rateLimitHeaders, run } from '../gateway.ts'
import { refusalHeaders, rpcError, rpcStatus } from '../refusal-body.ts'
import { OPTIMIZATION_LEVELS, optimize, readLevel, savedHeader } from '../token-optimization.ts'
import { resultView, toolsJson } from '../tool-view.ts'
import {
  errorMessage,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
  type RequestId,
  type RpcRequest,
  resultMessage,
} from './message.ts'
import { pageOf } from './pagination.ts'
import { negotiate, type ProtocolVersion } from './versions.ts'

/** What is known about the conversation a request belongs to. */
export interface Conversation {
  readonly call: Call
  readonly snapshot: Snapshot
  readonly version: ProtocolVersion
  readonly cancellation: Cancellation
  readonly onProgress?: ExchangeInit['onProgress']
}

export interface RpcAnswer {
  /** HTTP status when the request came alone. */
  readonly status: number
  /** Flat; meaningful when the request came alone. */
  readonly headers: readonly string[]
  /** The JSON-RPC message, serialized. */
  readonly body: string
}

const NO_HEADERS: readonly string[] = []

export class Dispatcher {
  readonly #parts: GatewayParts

  constructor(parts: GatewayParts) {
    this.#parts = parts
  }

  dispatch(request: RpcRequest, conversation: Conversation): RpcAnswer | Promise<RpcAnswer> {
    switch (request.method) {
      case 'initialize':
        return this.#initialize(request)
      case 'ping':
        return ok(request.id, '{}')
      case 'tools/list':
        return this.#toolsList(request, conversation)
      case 'tools/call':
        return this.#toolsCall(request, conversation)
      case 'resources/list':
        return this.#empty(request, conversation, { action: 'resources.list' }, '{"resources":[]}')
      case 'resources/templates/list':
        return this.#empty(request, conversation, { action: 'resources.list' }, '{"resourceTemplates":[]}')
      case 'prompts/list':
        return this.#empty(request, conversation, { action: 'prompts.list' }, '{"prompts":[]}')
      case 'resources/read':
        return fault(request.id, RESOURCE_NOT_FOUND, 'Resource not found.', { uri: request.params.uri })
      case 'prompts/get':
        return fault(request.id, INVALID_PARAMS, 'Prompt not found.')
      default:
        return fault(request.id, METHOD_NOT_FOUND, `Method not found: ${request.method.slice(0, 64)}`)
    }
  }

  #initialize(request: RpcRequest): RpcAnswer {
    const { protocolVersion } = request.params
    if (typeof protocolVersion !== 'string')
      return fault(request.id, INVALID_PARAMS, 'protocolVersion must be a string.')
    const result = {
      protocolVersion: negotiate(protocolVersion),
      capabilities: CAPABILITIES,
      serverInfo: { name: this.#parts.name, version: this.#parts.version },
    }
    return ok(request.id, JSON.stringify(result))
  }

  #toolsList(request: RpcRequest, conversation: Conversation): RpcAnswer | Promise<RpcAnswer> {
    const { cursor } = request.params
    if (cursor !== undefined && typeof cursor !== 'string')
      return fault(request.id, INVALID_PARAMS, 'cursor must be a string.')
    return this.#run(request.id, conversation, { action: 'tools.list' }, ({ exchange }) => {
      const listing = exchange.listing!
      const page = pageOf(listing.tools, cursor)
      if (page === undefined)
        return fault(request.id, INVALID_PARAMS, 'cursor is not one this server has given out.')
      const next = page.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(page.nextCursor)}`
      return ok(
        request.id,
        `{"tools":${toolsJson(listing, conversation.version, page.from, page.to)}${next}}`,
      )
    })
  }

  #toolsCall(request: RpcRequest, conversation: Conversation): RpcAnswer | Promise<RpcAnswer> {
    const level = readLevel(conversation.call.request.header('x-token-optimization'))
    if (level === undefined)
      return fault(
        request.id,
        INVALID_PARAMS,
        `X-Token-Optimization is none of ${OPTIMIZATION_LEVELS.join(', ')}.`,
      )
    const { name, arguments: args = {} } = request.params
    if (typeof name !== 'string' || name === '')
      return fault(request.id, INVALID_PARAMS, 'name must be the name of a tool.')
    if (typeof args !== 'object' || args === null || Array.isArray(args)) {
      return fault(request.id, INVALID_PARAMS, 'arguments must be an object.')
    }
    const operation: Operation = {
      action: 'tools.call',
      tool: name,
      arguments: args as { readonly [name: string]: unknown },
    }
    return this.#run(request.id, conversation, operation, ({ exchange, final }) => {
      if (final?.kind !== 'reply') return fault(request.id, -32603, 'Internal error.')
      const { result, savedBytes } = optimize(resultView(final.result, conversation.version), level)
      return ok(request.id, JSON.stringify(result), [
        ...rateLimitHeaders(exchange),
        ...savedHeader(level, savedBytes),
      ])
    })
  }

  #empty(
    request: RpcRequest,
    conversation: Conversation,
    operation: Operation,
    resultJson: string,
  ): RpcAnswer | Promise<RpcAnswer> {
    return this.#run(request.id, conversation, operation, () => ok(request.id, resultJson))
  }

  #run(
    id: RequestId,
    conversation: Conversation,
    operation: Operation,
    then: (ended: Ended) => RpcAnswer,
  ): RpcAnswer | Promise<RpcAnswer> {
    const { call, snapshot, cancellation, onProgress, version } = conversation
    const finish = (ended: Ended): RpcAnswer => {
      if (ended.final?.kind !== 'refusal') return then(ended)
      // from 2025-11-25 on the model is told what was wrong with its arguments (MCP 2025-11-25, tools, "Error Handling")
      if (ended.final.reason === 'invalid_arguments' && version >= '2025-11-25') {
        const result = { content: [{ type: 'text', text: ended.final.message }], isError: true }
        return ok(id, JSON.stringify(result), rateLimitHeaders(ended.exchange))
      }
      return this.#refused(id, call, ended.final)
    }
    const ended = run(this.#parts, snapshot, call, 'jsonrpc', operation, cancellation, onProgress)
    return ended instanceof Promise ? ended.then(finish) : finish(ended)
  }

  #refused(id: RequestId, call: Call, refusal: Refusal): RpcAnswer {
    return {
      status: rpcStatus(refusal),
      headers: refusalHeaders(refusal, challengeContext(this.#parts, call.request.path)),
      body: errorMessage(id, rpcError(refusal, call.requestId)),
    }
  }
}

export function ok(id: RequestId, resultJson: string, headers: readonly string[] = NO_HEADERS): RpcAnswer {
  return { status: 200, headers, body: resultMessage(id, resultJson) }
}

export function fault(id: RequestId | null, code: number, message: string, data?: unknown): RpcAnswer {
  return {
    status: 200,
    headers: NO_HEADERS,
    body: errorMessage(id, data === undefined ? { code, message } : { code, message, data }),
  }
}
