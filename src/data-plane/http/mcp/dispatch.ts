/** Runs a JSON-RPC request by its method and makes the reply. */

import { andThen, type MaybePending, type MaybePromise } from '../../../base/and-then.ts'
import { writeJson } from '../../../base/json/exact-number.ts'
import { isLongJson, writeLongJson } from '../../../base/json/long-json.ts'
import { namedMembers } from '../../../base/json/named-members.ts'
import {
  hasFeature,
  isModernVersion,
  MODERN_VERSIONS,
  negotiate,
  PROTOCOL_VERSIONS,
  type ProtocolVersion,
} from '../../../mcp/versions.ts'
import { INTERNAL_ERROR, INVALID_PARAMS } from '../../../model/rpc-errors.ts'
import type { ToolResult } from '../../../model/tool.ts'
import { boundedResult } from '../../listing/bounded-result.ts'
import { offeredTools } from '../../listing/offered-tools.ts'
import { ToolIndexes } from '../../listing/search/tool-indexes.ts'
import { CALL_TOOL, readCall } from '../../listing/search-tools.ts'
import { listTail, resultView, toolsForm } from '../../listing/tool-view.ts'
import { offerOf } from '../../pipeline/offer.ts'
import type { Operation } from '../../pipeline/operation.ts'
import { TextReply } from '../../pipeline/text-reply.ts'
import { capabilitiesOf } from '../capabilities.ts'
import { emptyReason } from '../empty-list.ts'
import { callHeaders, type Ended, type GatewayParts, runAndRender } from '../gateway.ts'
import { type Introduction, introduce } from '../introduction.ts'
import { readLevel, UNKNOWN_LEVEL_MESSAGE } from '../optimization-level.ts'
import { serverInfoOf } from '../presentation.ts'
import type { Conversation } from './conversation.ts'
import { FEATURE_LISTS, type FeatureList, featureOperation, featurePage, featureReply } from './features.ts'
import { isLogLevel, UNKNOWN_LOG_LEVEL } from './log-messages.ts'
import { type RequestId, type RpcRequest, readCursor } from './message.ts'
import { pageOf } from './pagination.ts'
import { refusedReply } from './refused.ts'
import { fault, longMessage, ResultWriter, type RpcReply } from './result.ts'
import { invalidSearch, isSearchCall, readSearch, type SearchCall } from './search-calls.ts'
import { selectionOf } from './selection.ts'
import { callOrTask } from './tasks/task-calls.ts'
import { TaskMethods } from './tasks/task-methods.ts'

type RpcOutcome = MaybePending<RpcReply>
type Render = (ended: Ended, id: RequestId, conversation: Conversation, writer: ResultWriter) => RpcOutcome

const NEEDS_SESSION = 'The method needs a session: send initialize first.'

export class Dispatcher {
  readonly #parts: GatewayParts
  readonly #writers: ReadonlyMap<ProtocolVersion, ResultWriter>
  readonly #indexes = new ToolIndexes()
  readonly #tasks: TaskMethods

  constructor(parts: GatewayParts) {
    this.#parts = parts
    this.#tasks = new TaskMethods(parts)
    this.#writers = new Map(
      PROTOCOL_VERSIONS.map(version => [version, new ResultWriter(version, serverInfoOf(parts, version))]),
    )
  }

  dispatch(request: RpcRequest, conversation: Conversation): RpcOutcome {
    const writer = this.#writers.get(conversation.version)!
    switch (request.method) {
      case 'tools/list':
        return this.#toolsList(request, conversation, writer)
      case 'tools/call':
        return this.#toolsCall(request, conversation, writer)
      case 'resources/list':
      case 'resources/templates/list':
      case 'prompts/list':
        return this.#featureList(request, conversation, writer, FEATURE_LISTS[request.method])
      case 'completion/complete':
        if (!conversation.snapshot.served.completions) break
        return this.#feature(request, conversation, writer)
      case 'resources/read':
      case 'prompts/get':
        return this.#feature(request, conversation, writer)
    }
    const ofTasks = request.method.startsWith('tasks/')
      ? this.#ofTasks(request, conversation, writer)
      : undefined
    if (ofTasks !== undefined) return ofTasks
    if (isModernVersion(conversation.version)) {
      return request.method === 'server/discover'
        ? this.#discover(request, conversation, writer)
        : writer.methodNotFound(request.id, request.method)
    }
    if (request.method === 'logging/setLevel' && conversation.snapshot.served.logging)
      return this.#setLogLevel(request, conversation, writer)
    if (request.method === 'resources/subscribe' && conversation.snapshot.served.subscriptions)
      return this.#subscribe(request, conversation, writer)
    if (request.method === 'resources/unsubscribe' && conversation.snapshot.served.subscriptions)
      return this.#unsubscribe(request, conversation, writer)
    if (request.method === 'initialize') return this.#initialize(request, conversation, writer)
    return request.method === 'ping'
      ? writer.complete(request.id, '{}')
      : writer.methodNotFound(request.id, request.method)
  }

  /** MCP 2026-07-28, `server/discover`: public, without a quota. */
  #discover(request: RpcRequest, conversation: Conversation, writer: ResultWriter): RpcOutcome {
    const { snapshot, version, caller } = conversation
    return andThen(this.#introduce(conversation, version), ({ serverInfo, instructions }) => {
      const capabilities = capabilitiesOf(snapshot.served, version)
      const result = JSON.stringify({ supportedVersions: MODERN_VERSIONS, capabilities, instructions })
      const own = snapshot.views.all.length === 0 ? writer : new ResultWriter(version, serverInfo)
      return own.list(request.id, result, caller === undefined ? 'public' : 'private')
    })
  }

  #initialize(request: RpcRequest, conversation: Conversation, writer: ResultWriter): RpcOutcome {
    const { protocolVersion } = request.params
    if (typeof protocolVersion !== 'string')
      return fault(request.id, INVALID_PARAMS, 'protocolVersion must be a string.')
    const version = negotiate(protocolVersion)
    const capabilities = capabilitiesOf(conversation.snapshot.served, version)
    return andThen(this.#introduce(conversation, version), introduction =>
      writer.complete(
        request.id,
        JSON.stringify({ protocolVersion: version, capabilities, ...introduction }),
      ),
    )
  }

  #introduce({ call, snapshot, caller }: Conversation, version: ProtocolVersion): MaybePromise<Introduction> {
    return introduce(this.#parts, snapshot, caller, selectionOf(call), version)
  }

  #toolsList(request: RpcRequest, conversation: Conversation, writer: ResultWriter): RpcOutcome {
    const cursor = readCursor(request.params)
    if (cursor === false) return fault(request.id, INVALID_PARAMS, 'cursor must be a string.')
    return this.#run(request.id, conversation, writer, { action: 'tools.list' }, ({ exchange }) => {
      const offer = offerOf(exchange.snapshot, exchange, selectionOf(conversation.call))
      const listing = offeredTools(exchange.listing!, offer)
      const page = pageOf(listing.tools, cursor)
      if (page === undefined)
        return fault(request.id, INVALID_PARAMS, 'cursor was not issued by this server.')
      const next = page.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(page.nextCursor)}`
      // JSON never contains this character, so it marks the place of the list, which may be text or cached bytes
      const meta = listing.tools.length === 0 ? { 'toolgate.dev/empty': emptyReason(exchange) } : undefined
      const { status, headers, body } = writer.list(request.id, `{"tools":\0${next}}`, 'private', meta)
      const frame = body as string
      const at = frame.indexOf('\0')
      const [before, after] = [frame.slice(0, at), frame.slice(at + 1)]
      return andThen(toolsForm(listing, conversation.version, page.from, page.to), form => {
        if ('pieces' in form)
          return { status, headers, body: longMessage(request.id, before, [...form.pieces, after]) }
        const rest = listTail(form, after)
        const pieces = rest === undefined ? undefined : { start: before, rest }
        return { status, headers, body: before + form.json + after, pieces }
      })
    })
  }

  #toolsCall(request: RpcRequest, conversation: Conversation, writer: ResultWriter): RpcOutcome {
    const optimization = readLevel(conversation.call.request.header('x-token-optimization'))
    if (optimization === undefined) return fault(request.id, INVALID_PARAMS, UNKNOWN_LEVEL_MESSAGE)
    const { name } = request.params
    if (typeof name !== 'string' || name === '')
      return fault(request.id, INVALID_PARAMS, 'params.name must be a tool name (non-empty string).')
    const args = namedMembers(request.params.arguments)
    if (args === undefined) return fault(request.id, INVALID_PARAMS, 'arguments must be an object.')
    const selection = selectionOf(conversation.call)
    const isSearch = isSearchCall(name, selection, conversation.snapshot)
    if (isSearch && name !== CALL_TOOL)
      return this.#search({ id: request.id, name, arguments: args, selection }, conversation, writer)
    const target = isSearch ? readCall(args) : undefined
    if (typeof target === 'string') return invalidSearch(request.id, conversation.version, writer, target)
    const operation: Operation = {
      action: 'tools.call',
      tool: target === undefined ? name : target.name,
      arguments: target === undefined ? args : target.arguments,
      optimization,
      selection,
    }
    const sent = isSearch ? withoutMirrors(conversation) : conversation
    return mayBeTask(conversation)
      ? this.#callOrTask(request, sent, writer, operation)
      : this.#callTool(request.id, sent, writer, operation)
  }

  #search(call: Omit<SearchCall, 'version'>, conversation: Conversation, writer: ResultWriter): RpcOutcome {
    const { version } = conversation
    const search = readSearch({ ...call, version }, this.#indexes)
    if (typeof search === 'string') return invalidSearch(call.id, version, writer, search)
    return this.#run(call.id, conversation, writer, { action: 'tools.list' }, ({ exchange }) =>
      search(exchange, writer),
    )
  }

  #callOrTask(
    request: RpcRequest,
    conversation: Conversation,
    writer: ResultWriter,
    operation: Operation,
  ): RpcOutcome {
    return callOrTask(this.#parts, request, conversation, writer, by =>
      this.#callTool(request.id, by, writer, operation),
    )
  }

  #callTool(
    id: RequestId,
    conversation: Conversation,
    writer: ResultWriter,
    operation: Operation,
  ): RpcOutcome {
    return this.#run(id, conversation, writer, operation, this.#callReply)
  }

  /** Made once, and not for each call. */
  readonly #callReply: Render = ({ exchange, final }, id, { version }, writer) => {
    if (final?.kind !== 'reply') return fault(id, INTERNAL_ERROR, 'Internal error.')
    const { tool } = exchange.tool!
    const maxBytes = tool.maxResultBytes ?? this.#parts.maxResultBytes
    const headers = callHeaders(exchange)
    if (final instanceof TextReply && exchange.optimized === undefined && final.bytes.length <= maxBytes) {
      const written = writer.completeText(id, final.bytes, headers)
      if (written !== undefined) return written
    }
    const bounded = boundedResult((exchange.optimized ?? final).result, maxBytes, tool)
    const { _meta, ...result } = resultView(bounded, version)
    if (isLongJson(result)) return longReply(id, result, writer, headers, _meta)
    return writer.complete(id, writeJson(result), headers, _meta)
  }

  #ofTasks(request: RpcRequest, conversation: Conversation, writer: ResultWriter): RpcOutcome | undefined {
    return this.#tasks.handle(request, conversation, writer, done =>
      this.#run(request.id, conversation, writer, { action: 'session' }, ({ exchange }) => done(exchange)),
    )
  }

  #featureList(
    { id, params }: RpcRequest,
    conversation: Conversation,
    writer: ResultWriter,
    list: FeatureList,
  ): RpcOutcome {
    const cursor = readCursor(params)
    if (cursor === false) return fault(id, INVALID_PARAMS, 'cursor must be a string.')
    const { call, version } = conversation
    return this.#run(id, conversation, writer, { action: list.action }, ({ exchange }) => {
      const json = featurePage(exchange, list, cursor, version, selectionOf(call))
      return json === undefined
        ? fault(id, INVALID_PARAMS, 'cursor was not issued by this server.')
        : writer.list(id, json)
    })
  }

  #setLogLevel(
    { id, params: { level } }: RpcRequest,
    conversation: Conversation,
    writer: ResultWriter,
  ): RpcOutcome {
    const { session } = conversation
    if (!isLogLevel(level)) return fault(id, INVALID_PARAMS, UNKNOWN_LOG_LEVEL)
    if (session === undefined) return fault(id, INVALID_PARAMS, NEEDS_SESSION)
    // the session belongs to the caller, which is checked on the way
    return this.#run(id, conversation, writer, { action: 'session' }, () =>
      andThen(session.setLogLevel(level), () => writer.complete(id, '{}')),
    )
  }

  #subscribe(request: RpcRequest, conversation: Conversation, writer: ResultWriter): RpcOutcome {
    const { id } = request
    const { session } = conversation
    if (session === undefined) return fault(id, INVALID_PARAMS, NEEDS_SESSION)
    const operation = featureOperation(request, selectionOf(conversation.call))
    if (typeof operation === 'string') return fault(id, INVALID_PARAMS, operation)
    return this.#run(id, conversation, writer, operation, ({ exchange }) => {
      const why = session.watch(exchange.tool!, String(operation.arguments.uri))
      return why === undefined
        ? writer.complete(id, '{}', callHeaders(exchange))
        : fault(id, INVALID_PARAMS, why)
    })
  }

  #unsubscribe(
    { id, params: { uri } }: RpcRequest,
    conversation: Conversation,
    writer: ResultWriter,
  ): RpcOutcome {
    const { session } = conversation
    if (typeof uri !== 'string') return fault(id, INVALID_PARAMS, 'uri must be the URI of a resource.')
    if (session === undefined) return fault(id, INVALID_PARAMS, NEEDS_SESSION)
    return this.#run(id, conversation, writer, { action: 'session' }, () => {
      session.unwatch(uri)
      return writer.complete(id, '{}')
    })
  }

  /** `resources/read`, `prompts/get`, `completion/complete`. */
  #feature(request: RpcRequest, conversation: Conversation, writer: ResultWriter): RpcOutcome {
    const operation = featureOperation(request, selectionOf(conversation.call))
    const { id, method } = request
    if (typeof operation === 'string') return fault(id, INVALID_PARAMS, operation)
    return this.#run(id, conversation, writer, operation, ({ exchange, final }) =>
      final?.kind === 'reply'
        ? featureReply(id, method, exchange, final, conversation.version, writer)
        : fault(id, INTERNAL_ERROR, 'Internal error.'),
    )
  }

  #run(
    id: RequestId,
    conversation: Conversation,
    writer: ResultWriter,
    operation: Operation,
    render: Render,
  ): RpcOutcome {
    const { call, snapshot, cancellation, transport } = conversation
    const reply = (ended: Ended): RpcOutcome =>
      ended.final?.kind === 'refusal'
        ? refusedReply(this.#parts, id, conversation, writer, ended, ended.final)
        : render(ended, id, conversation, writer)
    return runAndRender(reply, this.#parts, snapshot, call, 'jsonrpc', operation, cancellation, transport)
  }
}

function longReply(
  id: RequestId,
  result: object,
  writer: ResultWriter,
  headers: readonly string[],
  meta: ToolResult['_meta'],
): RpcOutcome {
  return writeLongJson(result).then(pieces => writer.complete(id, pieces, headers, meta))
}

/** Where a tool of the catalog runs as a task, in versions that have them. */
function mayBeTask({ snapshot, version }: Conversation): boolean {
  return snapshot.served.tasks && hasFeature(version, 'tasks')
}

/** A client mirrors the arguments of the tool that it names, which is not the target of `call_tool`. */
function withoutMirrors(conversation: Conversation): Conversation {
  const { mirrored: _, ...transport } = conversation.transport
  return { ...conversation, transport }
}
