/** Makes the reply to a refused JSON-RPC request, in the form of its version and method. */

import { hasFeature, isModernVersion, type ProtocolVersion } from '../../../mcp/versions.ts'
import type { Refusal } from '../../../model/refusal.ts'
import { INVALID_PARAMS, MISSING_CAPABILITY } from '../../../model/rpc-errors.ts'
import type { Call } from '../call.ts'
import { callHeaders, challengeContext, type Ended, type GatewayParts } from '../gateway.ts'
import {
  ERROR_META_KEY,
  isToolError,
  refusalHeaders,
  restBody,
  rpcError,
  rpcStatus,
} from '../refusal-body.ts'
import { unknownFeature } from './features.ts'
import { errorMessage, type RequestId } from './message.ts'
import type { PendingInput } from './modern-client.ts'
import { fault, type ResultWriter, type RpcReply } from './result.ts'
import { missingCapability } from './tasks/task-view.ts'

/** The part of a conversation that the reply depends on. */
interface RefusedRequest {
  readonly call: Call
  readonly version: ProtocolVersion
  readonly pendingInput?: () => PendingInput | undefined
}

export function refusedReply(
  parts: GatewayParts,
  id: RequestId,
  { call, version, pendingInput }: RefusedRequest,
  writer: ResultWriter,
  ended: Ended,
  refusal: Refusal,
): RpcReply {
  const ofArguments = refusal.reason === 'invalid_arguments' || refusal.reason === 'arguments_too_expensive'
  const isTool = ended.exchange.operation.action === 'tools.call'
  if (ofArguments && isTool && hasFeature(version, 'argumentErrorResults'))
    return writer.toolError(id, refusal.message, callHeaders(ended.exchange))
  if (refusal.reason === 'confirmation_unsupported' && isModernVersion(version)) {
    return fault(
      id,
      MISSING_CAPABILITY,
      refusal.message,
      {
        requiredCapabilities: Object.fromEntries(
          (refusal.requiredCapabilities ?? ['elicitation']).map(name => [name, {}]),
        ),
      },
      400,
    )
  }
  if (refusal.reason === 'task_required' && isModernVersion(version)) return missingCapability(id)
  if (refusal.reason === 'header_mismatch')
    return fault(id, refusal.row.rpcCode, refusal.message, undefined, 400)
  if (refusal.reason === 'confirmation_pending') {
    const input = pendingInput?.()
    if (input === 'state_rejected') {
      return fault(
        id,
        INVALID_PARAMS,
        'requestState was not issued for this call, or has expired. Repeat the call without requestState.',
      )
    }
    if (input !== undefined) return writer.inputRequired(id, input.inputRequests, input.requestState)
  }
  const headers = refusalHeaders(refusal, challengeContext(parts, call.request.path))
  const unknown = unknownFeature(id, ended.exchange, refusal, version)
  if (unknown !== undefined) return unknown
  if (isTool && isToolError(refusal)) {
    // a quota refusal has its own X-RateLimit headers
    const standing = refusal.reason === 'quota_exceeded' ? [] : callHeaders(ended.exchange)
    const meta = { [ERROR_META_KEY]: restBody(refusal, call.requestId) }
    return writer.toolError(id, refusal.message, [...headers, ...standing], meta)
  }
  return {
    status: rpcStatus(refusal),
    headers,
    // as for an unknown session, which is refused before the request is read
    body: errorMessage(refusal.reason === 'session_not_found' ? null : id, rpcError(refusal, call.requestId)),
  }
}
