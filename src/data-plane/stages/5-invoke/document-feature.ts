/** Serves resources, prompts and completions that a document describes, from the document or through a given read function. */

import { continueWith, type MaybePending } from '../../../base/and-then.ts'
import { RESOURCE_NOT_FOUND } from '../../../model/rpc-errors.ts'
import type { Content, ToolResult } from '../../../model/tool.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import type { DocumentTarget } from '../../snapshot/snapshot.ts'

const EMPTY: ToolResult = Object.freeze({ content: [], isError: false })

/** @param read calls the backend */
export function documentFeature(
  target: DocumentTarget,
  exchange: Exchange,
  read: () => MaybePending<Outcome>,
): MaybePending<Outcome> {
  const { operation } = exchange
  if (!isCall(operation)) return undefined
  if (operation.completion !== undefined) return toReply(target.complete(operation.completion))
  if (target.render !== undefined) return toReply(target.render(operation.arguments))
  const { mimeType } = exchange.tool!.tool.feature!.listed
  const uri = String(operation.arguments.uri)
  return continueWith(read(), outcome =>
    outcome?.kind === 'reply'
      ? asResource(outcome, uri, typeof mimeType === 'string' ? mimeType : undefined)
      : outcome,
  )
}

function toReply(members: NonNullable<Reply['served']>): Reply {
  return { kind: 'reply', result: EMPTY, served: members }
}

function asResource(reply: Reply, uri: string, mimeType: string | undefined): Reply {
  const { result, failure, backendStatus } = reply
  if (failure !== undefined) return backendStatus === 404 ? { ...reply, result: notFound(result) } : reply
  // what follows the body are notes about the response
  const [content] = result.content
  return {
    ...reply,
    result: EMPTY,
    served: { contents: content === undefined ? [] : [partOf(content, uri, mimeType)] },
  }
}

function notFound(result: ToolResult): ToolResult {
  return { ...result, _meta: { 'toolgate.dev/backend': { status: 404, rpc_code: RESOURCE_NOT_FOUND } } }
}

function partOf(content: Content, uri: string, mimeType: string | undefined): object {
  const typed = mimeType === undefined ? undefined : { mimeType }
  switch (content.type) {
    case 'text':
      return { uri, ...typed, text: content.text }
    case 'image':
    case 'audio':
      return { uri, mimeType: content.mimeType, blob: content.data }
    case 'resource':
      return { ...content.resource, uri }
    case 'resource_link':
      return { uri, ...typed, text: content.uri }
  }
}
