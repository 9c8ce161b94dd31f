/** Reads which tools an address offers and what is wrong with it, and makes the address to post to for an HTTP+SSE stream. */
import { oncePer } from '../../../base/once-per.ts'
import { EVERYTHING, type Selection } from '../../pipeline/selection.ts'
import type { Call } from '../call.ts'
import { MCP_PATH } from './paths.ts'

const MAX_TAGS = 20
const MAX_NAME = 128
/** The same endpoint as `/mcp`. */
const SSE = 'sse'

/** The selection of a request whose address was checked (`selectionFault`). */
export function selectionOf(call: Call): Selection {
  const selection = readSelection(call)
  return typeof selection === 'string' ? EVERYTHING : selection
}

/** What is wrong with the address; undefined: nothing. */
export function selectionFault(call: Call): string | undefined {
  const selection = readSelection(call)
  return typeof selection === 'string' ? selection : undefined
}

function readSelection(call: Call): Selection | string {
  const { path, query } = call.request
  return query === '' && toolSetOf(path) === undefined ? EVERYTHING : parsedSelection(call)
}

/** Once for all messages of a batch. */
const parsedSelection = oncePer(({ request: { path, query } }: Call): Selection | string => {
  const toolSet = toolSetOf(path)
  const parameters = new URLSearchParams(query)
  const tools = parameters.get('tools') ?? undefined
  if (tools !== undefined && tools !== 'search' && tools !== 'list')
    return '?tools= must be "search" or "list".'
  const form = parameters.get('form')
  if (form !== null && form !== 'compact') return 'The query parameter form must be "compact".'
  const compact = form !== null
  const tags = [...new Set((parameters.get('tags') ?? '').split(',').map(tag => tag.trim()))].filter(Boolean)
  if (tags.length > MAX_TAGS || tags.some(tag => tag.length > MAX_NAME))
    return `The query parameter tags must name 1 to ${MAX_TAGS} tags of up to ${MAX_NAME} characters, separated by commas.`
  if (toolSet === undefined && tools === undefined && tags.length === 0 && !compact) return EVERYTHING
  tags.sort()
  const key = JSON.stringify([toolSet ?? null, tags, tools ?? null, compact])
  return { toolSet, tags, tools, compact, key }
})

/** The address to which a client of an HTTP+SSE stream posts: that of the stream, with its selection. */
export function endpointAddress({ request: { path, query } }: Call, sessionId: string): string {
  const parameters = new URLSearchParams(query)
  parameters.delete('sessionId')
  const rest = parameters.size === 0 ? '' : `&${parameters}`
  return `${endpointPath(path)}?sessionId=${sessionId}${rest}`
}

/** The path of the endpoint without a slash at its end. */
function endpointPath(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

/** The segment after `/mcp/`, decoded: the router has refused encoded slashes and what would not decode. */
function toolSetOf(path: string): string | undefined {
  const decoded = path.includes('%') ? decodeURIComponent(path) : path
  const name = endpointPath(decoded).slice(MCP_PATH.length + 1)
  return name === '' || name === SSE ? undefined : name
}
