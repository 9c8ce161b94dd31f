/** Resources, prompts and completion over MCP: reads operations from requests, and makes lists, results and errors for a version. */

import { writeJson } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import { namedMembers } from '../../../base/json/named-members.ts'
import { hasFeature, isModernVersion, type ProtocolVersion } from '../../../mcp/versions.ts'
import type { Refusal } from '../../../model/refusal.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND } from '../../../model/rpc-errors.ts'
import type { Feature } from '../../../model/tool.ts'
import { olderContent } from '../../listing/tool-view.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isOffered, offerOf } from '../../pipeline/offer.ts'
import type { CallOperation } from '../../pipeline/operation.ts'
import type { Reply } from '../../pipeline/outcome.ts'
import type { Selection } from '../../pipeline/selection.ts'
import { PROMPT_PREFIX, RESOURCE_PREFIX } from '../../snapshot/snapshot.ts'
import { callHeaders } from '../gateway.ts'
import type { RequestId, RpcRequest } from './message.ts'
import { pageOf } from './pagination.ts'
import { fault, type ResultWriter, type RpcReply } from './result.ts'

type Dict = { readonly [name: string]: unknown }

/** Method of a list → the kind that it holds, and the members of its result and its entries. */
export const FEATURE_LISTS = {
  'resources/list': { action: 'resources.list', kind: 'resource', field: 'resources', id: 'uri' },
  'resources/templates/list': {
    action: 'resources.list',
    kind: 'template',
    field: 'resourceTemplates',
    id: 'uriTemplate',
  },
  'prompts/list': { action: 'prompts.list', kind: 'prompt', field: 'prompts', id: 'name' },
} as const
export type FeatureList = (typeof FEATURE_LISTS)[keyof typeof FEATURE_LISTS]

/** A page of the list; undefined: the cursor is not one of ours. */
export function featurePage(
  exchange: Exchange,
  { kind, field, id }: FeatureList,
  cursor: string | undefined,
  version: ProtocolVersion,
  selection: Selection,
): string | undefined {
  const offer = offerOf(exchange.snapshot, exchange, selection)
  const offered = exchange.listing!.tools.filter(
    ({ tool }) => tool.feature?.kind === kind && isOffered(tool, offer),
  )
  const page = pageOf(offered, cursor)
  if (page === undefined) return undefined
  const entries = offered.slice(page.from, page.to).map(({ tool }) => entryOf(tool.feature!, id, version))
  return writeJson({ [field]: entries, nextCursor: page.nextCursor })
}

function entryOf({ id: value, listed }: Feature, id: string, version: ProtocolVersion): object {
  const { title, icons, ...common } = listed
  return {
    [id]: value,
    ...common,
    // resources of older versions have names for their titles
    ...(title === undefined || !hasFeature(version, 'titles') ? undefined : { title }),
    ...(icons === undefined || !hasFeature(version, 'icons') ? undefined : { icons }),
  }
}

/** @returns the operation, or what is wrong with the params */
export function featureOperation(
  { method, params }: RpcRequest,
  selection: Selection,
): CallOperation | string {
  if (method === 'completion/complete') return completionOperation(params, selection)
  if (method === 'resources/read' || method === 'resources/subscribe') {
    const { uri } = params
    if (typeof uri !== 'string' || uri === '') return 'uri must be the URI of a resource.'
    const read = {
      action: 'resources.read',
      tool: RESOURCE_PREFIX + uri,
      arguments: { uri },
      selection,
    } as const
    return method === 'resources/read' ? read : { ...read, subscribes: true }
  }
  const { name } = params
  if (typeof name !== 'string' || name === '') return 'params.name must be a prompt name (non-empty string).'
  const args = namedMembers(params.arguments)
  if (args === undefined) return 'arguments must be an object.'
  return { action: 'prompts.get', tool: PROMPT_PREFIX + name, arguments: args, selection }
}

function completionOperation({ ref, argument, context }: Dict, selection: Selection): CallOperation | string {
  if (!isObject(argument) || typeof argument.name !== 'string' || typeof argument.value !== 'string')
    return 'argument must have a name and a value.'
  const given = namedMembers(context)
  if (given === undefined) return 'context must be an object.'
  const completion = { argument, ...(Object.keys(given).length === 0 ? undefined : { context: given }) }
  const common = { arguments: {}, selection, completion }
  if (isObject(ref) && ref.type === 'ref/prompt' && typeof ref.name === 'string')
    return { action: 'prompts.get', tool: PROMPT_PREFIX + ref.name, ...common }
  if (isObject(ref) && ref.type === 'ref/resource' && typeof ref.uri === 'string')
    return { action: 'resources.read', tool: RESOURCE_PREFIX + ref.uri, ...common }
  return 'ref must have the type "ref/prompt" and a name, or the type "ref/resource" and a uri.'
}

/** The result of a read, a prompt or a completion. */
export function featureReply(
  id: RequestId,
  method: string,
  exchange: Exchange,
  { result, served, failure }: Reply,
  version: ProtocolVersion,
  writer: ResultWriter,
): RpcReply {
  const headers = callHeaders(exchange)
  if (served === undefined || failure !== undefined) return { ...failedFeature(id, result, version), headers }
  const { _meta, ...shown } = viewOf(served, version)
  const meta = isObject(_meta) ? _meta : undefined
  // the content may change with each read, and depends on the caller
  return method === 'resources/read'
    ? { ...writer.list(id, writeJson(shown), 'private', meta, 0), headers }
    : writer.complete(id, writeJson(shown), headers, meta)
}

function viewOf(served: Dict, version: ProtocolVersion): Dict {
  const { messages } = served
  if (!Array.isArray(messages) || hasFeature(version, 'resourceLinks')) return served
  return {
    ...served,
    messages: messages.map(({ role, content }) => ({ role, content: olderContent(content, version) })),
  }
}

/** There are no error results of these methods: a failure is a JSON-RPC error. */
function failedFeature(
  id: RequestId,
  { content, _meta }: Reply['result'],
  version: ProtocolVersion,
): RpcReply {
  const [part] = content
  const message =
    part?.type === 'text'
      ? part.text
      : 'The server of this prompt or resource did not respond with a valid result.'
  const backend = _meta?.['toolgate.dev/backend']
  const code = isObject(backend) ? backend.rpc_code : undefined
  if (code === RESOURCE_NOT_FOUND && !isModernVersion(version)) return fault(id, RESOURCE_NOT_FOUND, message)
  const isOfParams = code === INVALID_PARAMS || code === RESOURCE_NOT_FOUND
  return fault(id, isOfParams ? INVALID_PARAMS : INTERNAL_ERROR, message, _meta)
}

/** @returns undefined: the refusal is not about a resource or prompt that does not exist */
export function unknownFeature(
  id: RequestId,
  { operation }: Exchange,
  refusal: Refusal,
  version: ProtocolVersion,
): RpcReply | undefined {
  if (refusal.reason !== 'tool_not_found') return undefined
  if (operation.action === 'prompts.get') return fault(id, INVALID_PARAMS, 'Prompt not found.')
  if (operation.action !== 'resources.read') return undefined
  const code = isModernVersion(version) ? INVALID_PARAMS : RESOURCE_NOT_FOUND
  return fault(id, code, 'Resource not found.', { uri: operation.tool.slice(RESOURCE_PREFIX.length) })
}
