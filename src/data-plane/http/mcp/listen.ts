/** `subscriptions/listen` (MCP 2026-07-28): reads what a client subscribes to, and opens the stream of notifications. */

import { Cancellation } from '../../../base/cancellation.ts'
import { writeJson } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import { messageEvent } from '../../../mcp/sse.ts'
import { INVALID_PARAMS, SERVER_ERROR } from '../../../model/rpc-errors.ts'
import type { Operation } from '../../pipeline/operation.ts'
import { type CompiledTool, RESOURCE_PREFIX, type Snapshot } from '../../snapshot/snapshot.ts'
import { type Opened, openedBy } from '../access-check.ts'
import type { Call } from '../call.ts'
import { challengeContext, runCall } from '../gateway.ts'
import { refusalHeaders, rpcError, rpcStatus } from '../refusal-body.ts'
import { errorMessage, type RpcRequest } from './message.ts'
import type { Envelope } from './modern.ts'
import { authenticatedStream, type McpParts, takeSlot, tooManyStreams } from './parts.ts'
import { MAX_SUBSCRIPTIONS, RESOURCE_UPDATED, watchResource } from './resource-subscriptions.ts'
import { fault } from './result.ts'
import { selectionOf } from './selection.ts'
import type { StreamSlot } from './stream-limiter.ts'
import { OpenStream, streamOwner } from './streams.ts'

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

export async function subscribe(
  parts: McpParts,
  call: Call,
  snapshot: Snapshot,
  request: RpcRequest,
  envelope: Envelope,
): Promise<void> {
  const wanted = request.params.notifications
  if (!isObject(wanted)) {
    const response = fault(
      request.id,
      INVALID_PARAMS,
      'notifications must be an object that names the notifications to subscribe to.',
    )
    return call.respond(response.status, response.body)
  }
  const { exchange, refusal } = await authenticatedStream(parts.gateway, call, snapshot, undefined)
  if (refusal !== undefined) {
    const headers = refusalHeaders(refusal, challengeContext(parts.gateway, call.request.path))
    return call.respond(
      rpcStatus(refusal),
      errorMessage(request.id, rpcError(refusal, call.requestId)),
      headers,
    )
  }
  const lists = Object.keys(LISTS).filter(list => wanted[list] === true)
  const resources = await permittedResources(parts, call, snapshot, wanted.resourceSubscriptions)
  const slot = await takeSlot(parts, call, exchange.party, false)
  if (typeof slot === 'string') {
    const data = tooManyStreams(slot, call.requestId)
    const error = { code: SERVER_ERROR, message: data.message, data }
    return call.respond(429, errorMessage(request.id, error), ['retry-after', '60'])
  }
  open(
    parts,
    call,
    snapshot,
    request,
    { lists, resources },
    streamOwner(exchange, envelope.version, selectionOf(call)),
    slot,
  )
}

/** Member of the request → the notification that it asks for. */
const LISTS: Readonly<Record<string, string>> = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
}

interface Wanted {
  /** Members of `LISTS`. */
  readonly lists: readonly string[]
  readonly resources: readonly {
    readonly uri: string
    readonly entry: CompiledTool
    readonly read: Opened
  }[]
}

/** The resources that the caller may read; each is decided about and counted like a read. */
async function permittedResources(
  parts: McpParts,
  call: Call,
  snapshot: Snapshot,
  wanted: unknown,
): Promise<Wanted['resources']> {
  const uris = Array.isArray(wanted) ? wanted.filter(uri => typeof uri === 'string') : []
  const selection = selectionOf(call)
  const permitted: Wanted['resources'][number][] = []
  for (const uri of new Set(uris.slice(0, MAX_SUBSCRIPTIONS))) {
    const operation: Operation = {
      action: 'resources.read',
      tool: RESOURCE_PREFIX + uri,
      arguments: { uri },
      subscribes: true,
      selection,
    }
    const cancellation = new Cancellation()
    const { exchange, final } = await runCall(
      ...([parts.gateway, snapshot, call, 'jsonrpc', operation, cancellation] as const),
    )
    if (final?.kind === 'reply') {
      const entry = exchange.tool!
      permitted.push({ uri, entry, read: { ...openedBy(exchange), tool: entry } })
    }
  }
  return permitted
}

function open(
  parts: McpParts,
  call: Call,
  snapshot: Snapshot,
  request: RpcRequest,
  { lists, resources }: Wanted,
  owner: OpenStream['owner'],
  slot: StreamSlot,
): void {
  const methods = new Set(lists.map(list => LISTS[list]))
  const ends: (() => void)[] = []
  const _meta = { [SUBSCRIPTION_ID]: request.id }
  const stream = call.eventStream()
  const subscription = new OpenStream({
    owner,
    stream,
    form: {
      notification: method =>
        methods.has(method)
          ? messageEvent(writeJson({ jsonrpc: '2.0', method, params: { _meta } }))
          : undefined,
      farewell: () =>
        messageEvent(
          writeJson({ jsonrpc: '2.0', id: request.id, result: { resultType: 'complete', _meta } }),
        ),
    },
    nowMs: call.receivedAtMs,
    onEnd: why => {
      slot.release()
      for (const end of ends) end()
      parts.streams.remove(subscription, why)
    },
  })
  parts.streams.add(subscription, snapshot)
  call.response.onAbort(() => subscription.aborted())
  slot.whenEvicted(() => subscription.end('share_exceeded'))
  // the client has gone: nothing would end the watches
  if (subscription.ended) return
  const watched = resources.filter(({ uri, entry, read }) => {
    const end = watchResource(parts.watches, entry, uri, () => {
      const params = { uri, _meta }
      subscription.write(messageEvent(writeJson({ jsonrpc: '2.0', method: RESOURCE_UPDATED, params })))
    })
    if (end === undefined) return false
    ends.push(end, parts.gateway.access.open(read, snapshot, end))
    return true
  })
  const honoured = {
    ...Object.fromEntries(lists.map(list => [list, true])),
    ...(watched.length === 0 ? undefined : { resourceSubscriptions: watched.map(({ uri }) => uri) }),
  }
  const params = { notifications: honoured, _meta }
  subscription.write(
    messageEvent(writeJson({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })),
  )
}
