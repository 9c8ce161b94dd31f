/** The three tools that stand for a catalog (find, describe, call): definitions, instructions, check of arguments. */
import { namedMembers } from '../../base/json/named-members.ts'
import type { Tool } from '../../model/tool.ts'
import type { ListedTool } from './tool-view.ts'

export const FIND_TOOLS = 'find_tools'
export const DESCRIBE_TOOLS = 'describe_tools'
export const CALL_TOOL = 'call_tool'

const NAMES: ReadonlySet<string> = new Set([FIND_TOOLS, DESCRIBE_TOOLS, CALL_TOOL])
const MAX_QUERY_CHARS = 500
const MAX_FOUND = 20
const DEFAULT_FOUND = 5
const MAX_DESCRIBED = 10
/** Sources that are named in the description. */
const MAX_SOURCES = 12

export function isSearchTool(name: string): boolean {
  return NAMES.has(name)
}

/** For clients that show them to the model (MCP, `instructions`). */
export const SEARCH_INSTRUCTIONS = `The tools of this server are not listed one by one. Find them with ${FIND_TOOLS}, read their arguments with ${DESCRIBE_TOOLS}, run them with ${CALL_TOOL}.`

/** Where some are listed, too. */
export const SOME_SEARCHED_INSTRUCTIONS = `This server has more tools than the list contains. Find them with ${FIND_TOOLS}, read their arguments with ${DESCRIBE_TOOLS}, run them with ${CALL_TOOL}.`

/** @param tools that can be found: their sources are named */
export function searchTools(tools: readonly Tool[]): readonly ListedTool[] {
  return [
    {
      name: FIND_TOOLS,
      description: `Finds tools by what they do, best match first. Describe one action and its object in a few English words, as API documents name them: "add a label to an issue". ${catalogOf(tools)}`,
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', minLength: 1, maxLength: MAX_QUERY_CHARS },
          limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, default: DEFAULT_FOUND },
        },
        required: ['query'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    {
      name: DESCRIBE_TOOLS,
      description: `Returns the definitions of tools, with the schemas of their arguments. Use it before ${CALL_TOOL} unless the arguments are known.`,
      inputSchema: {
        type: 'object',
        properties: {
          names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_DESCRIBED },
        },
        required: ['names'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    {
      name: CALL_TOOL,
      description: `Calls a tool that ${FIND_TOOLS} returned. Returns the result of that tool.`,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          arguments: { type: 'object', description: 'Arguments that match the inputSchema of the tool.' },
        },
        required: ['name'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
  ]
}

function catalogOf(tools: readonly Tool[]): string {
  const counts = new Map<string, number>()
  for (const { toolSet } of tools) counts.set(toolSet, (counts.get(toolSet) ?? 0) + 1)
  const sources = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  const named = sources.slice(0, MAX_SOURCES).map(([source, count]) => `${source} (${count})`)
  const more = sources.length > MAX_SOURCES ? ` and ${sources.length - MAX_SOURCES} more` : ''
  return `Tools: ${tools.length}, of ${named.join(', ')}${more}.`
}

type Arguments = { readonly [name: string]: unknown }

/** The arguments, or what is wrong with them. */
export function readFind(args: Arguments): { readonly query: string; readonly limit: number } | string {
  const { query, limit = DEFAULT_FOUND } = args
  if (typeof query !== 'string' || query.trim() === '' || query.length > MAX_QUERY_CHARS)
    return `query must be a string of 1 to ${MAX_QUERY_CHARS} characters.`
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_FOUND)
    return `limit must be an integer from 1 to ${MAX_FOUND}.`
  return { query, limit }
}

export function readDescribe(args: Arguments): readonly string[] | string {
  const { names } = args
  return Array.isArray(names) &&
    names.length > 0 &&
    names.length <= MAX_DESCRIBED &&
    names.every(name => typeof name === 'string')
    ? names
    : `names must be a list of 1 to ${MAX_DESCRIBED} tool names.`
}

export function readCall(args: Arguments): { readonly name: string; readonly arguments: Arguments } | string {
  const { name } = args
  if (typeof name !== 'string' || name === '') return 'name must be a tool name (non-empty string).'
  const inner = namedMembers(args.arguments)
  return inner === undefined ? 'arguments must be an object.' : { name, arguments: inner }
}
