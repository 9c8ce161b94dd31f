/** Calls of the search tools: recognizes them, and makes the replies to find and describe. */

import type { MaybePromise } from '../../../base/and-then.ts'
import { beginInSlices } from '../../../base/async/slices.ts'
import { writeJson } from '../../../base/json/exact-number.ts'
import { hasFeature, type ProtocolVersion } from '../../../mcp/versions.ts'
import { INVALID_PARAMS } from '../../../model/rpc-errors.ts'
import { type OfferedTool, type OfferedTools, offeredTools } from '../../listing/offered-tools.ts'
import type { ToolIndexes } from '../../listing/search/tool-indexes.ts'
import { FIND_TOOLS, isSearchTool, readDescribe, readFind } from '../../listing/search-tools.ts'
import { toolView } from '../../listing/tool-view.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { offerOf } from '../../pipeline/offer.ts'
import type { Selection } from '../../pipeline/selection.ts'
import type { CompiledTool, Snapshot } from '../../snapshot/snapshot.ts'
import type { RequestId } from './message.ts'
import { fault, type ResultWriter, type RpcReply } from './result.ts'

/** For a tool that was found. */
const MAX_SUMMARY = 200

/** Whether the name means a search tool at this address, and no tool of the catalog. */
export function isSearchCall(name: string, { tools }: Selection, snapshot: Snapshot): boolean {
  return isSearchTool(name) && (tools === 'search' || (tools === undefined && snapshot.hasSearchedTools))
}

export interface SearchCall {
  readonly id: RequestId
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
  readonly selection: Selection
  readonly version: ProtocolVersion
}

/** Makes the reply to a call of find or describe. `readSearch` returns a text where the arguments are not valid. */
export type SearchRequest = (exchange: Exchange, writer: ResultWriter) => MaybePromise<RpcReply>

export function readSearch(call: SearchCall, indexes: ToolIndexes): SearchRequest | string {
  const { id, selection, version } = call
  if (call.name === FIND_TOOLS) {
    const find = readFind(call.arguments)
    if (typeof find === 'string') return find
    return (exchange, writer) => {
      const offered = offeredAt(exchange, selection)
      const found = findTools(indexes, exchange, offered, find)
      return found.then(tools => textReply(id, writer, foundText(tools)))
    }
  }
  const names = readDescribe(call.arguments)
  if (typeof names === 'string') return names
  return (exchange, writer) => {
    const { byName } = offeredAt(exchange, selection)
    const unknown = names.find(name => !byName.has(name))
    if (unknown !== undefined) {
      const message = `Tool not found: ${unknown.slice(0, 64)}. Find tools with ${FIND_TOOLS}.`
      return fault(id, INVALID_PARAMS, message)
    }
    const views = names.map(name => toolView(byName.get(name)!.tool, version))
    return textReply(id, writer, writeJson(views))
  }
}

function offeredAt(exchange: Exchange, selection: Selection): OfferedTools {
  return offeredTools(exchange.listing!, offerOf(exchange.snapshot, exchange, selection))
}

/** Invalid arguments: a result from 2025-11-25 on, so that the model reads it. */
export function invalidSearch(
  id: RequestId,
  version: ProtocolVersion,
  writer: ResultWriter,
  message: string,
) {
  return hasFeature(version, 'argumentErrorResults')
    ? writer.toolError(id, message, [])
    : fault(id, INVALID_PARAMS, message)
}

async function findTools(
  indexes: ToolIndexes,
  { snapshot, tenant }: Exchange,
  { byEntry }: OfferedTools,
  { query, limit }: { readonly query: string; readonly limit: number },
): Promise<readonly OfferedTool[]> {
  const isVisible = (entry: CompiledTool): boolean => byEntry.has(entry)
  const index = await indexes.of(snapshot, tenant)
  const entries = await beginInSlices(index.searchSteps(query, isVisible, limit))
  return entries.map(entry => byEntry.get(entry)!)
}

/** The reply to find, for the model. */
export function foundText(tools: readonly Pick<OfferedTool, 'tool'>[]): string {
  if (tools.length === 0) return 'No tool matches the query. Use other words, or fewer words.'
  return writeJson(
    tools.map(({ tool }) => {
      const { properties = {}, required = [] } = tool.inputSchema
      const optional = Object.keys(properties).filter(name => !required.includes(name))
      return { name: tool.name, description: summaryOf(tool.description), required, optional }
    }),
  )
}

/** The first line, ended after a sentence or a word. */
function summaryOf(description: string): string {
  const line = description.split('\n', 1)[0]!
  if (line.length <= MAX_SUMMARY) return line
  const start = line.slice(0, MAX_SUMMARY)
  const end = start.lastIndexOf('. ')
  return end > 0 ? start.slice(0, end + 1) : `${start.slice(0, start.lastIndexOf(' '))}…`
}

function textReply(id: RequestId, writer: ResultWriter, text: string): RpcReply {
  return writer.complete(id, writeJson({ content: [{ type: 'text', text }], isError: false }))
}
