/** `subscriptions/listen` (MCP 2026-07-28): a POST whose response is the stream of the notifications requested. */
import { writeJson } from '../../../model/exact-number.ts'
import { isObject } from '../../../model/is-object.ts'
import { INVALID_PARAMS } from '../../../shared/call/rpc-errors.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { challengeContext } from '../gateway.ts'
import { refusalHeaders, rpcError, rpcStatus } from '../refusal-body.ts'
import { errorMessage, type RpcRequest } from './message.ts'
import type { Envelope } from './modern.ts'
import { authenticatedStream, type McpParts } from './parts.ts'
import { fault } from './result.ts'
import { selectionOf } from './selection.ts'
import { messageEvent } from './sse.ts'
import { OpenStream } from './streams.ts'

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
  const toolsListChanged = wanted.toolsListChanged === true
  open(parts, call, request, toolsListChanged, {
    principal: exchange.principal!,
    tenant: exchange.tenant,
    version: envelope.version,
    selection: selectionOf(call),
  })
}

function open(
  parts: McpParts,
  call: Call,
  request: RpcRequest,
  toolsListChanged: boolean,
  owner: OpenStream['owner'],
): void {
  const _meta = { [SUBSCRIPTION_ID]: request.id }
  const stream = call.eventStream()
  const subscription = new OpenStream({
    owner,
    stream,
    form: {
      notification: method =>
        toolsListChanged ? messageEvent(writeJson({ jsonrpc: '2.0', method, params: { _meta } })) : undefined,
      farewell: () =>
        messageEvent(
          writeJson({ jsonrpc: '2.0', id: request.id, result: { resultType: 'complete', _meta } }),
        ),
    },
    nowMs: call.receivedAtMs,
    onEnd: why => parts.streams.remove(subscription, why),
  })
  parts.streams.add(subscription, parts.gateway.snapshot())
  call.response.onAbort(() => subscription.aborted())
  // only tool lists change: prompts and resources are always empty
  const honoured = toolsListChanged ? { toolsListChanged: true } : {}
  const params = { notifications: honoured, _meta }
  subscription.write(
    messageEvent(writeJson({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })),
  )
}
