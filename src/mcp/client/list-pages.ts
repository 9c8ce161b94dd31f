/** Reads one whole list of a server (tools, resources, resource templates, prompts), page by page and bounded. */

import { failure, type RequestOptions, type RpcOutcome } from '../protocol.ts'
import type { McpConnection } from './server-connection.ts'

const MAX_PAGES = 1_000
const MAX_ENTRIES = 10_000

export interface ListMethod {
  readonly method: 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list'
  /** Member of the result that holds the entries. */
  readonly field: string
}

export async function listPages(
  connection: McpConnection,
  { method, field }: ListMethod,
  options: RequestOptions,
): Promise<readonly unknown[] | Exclude<RpcOutcome, { kind: 'result' }>> {
  const entries: unknown[] = []
  const untilMs = performance.now() + options.timeoutMs
  const seen = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const timeoutMs = Math.max(1, untilMs - performance.now())
    const params = cursor === undefined ? {} : { cursor }
    const outcome = await connection.request(method, params, { ...options, timeoutMs })
    if (outcome.kind !== 'result') return outcome
    const given = outcome.result[field]
    if (!Array.isArray(given))
      return failure('not_mcp', `the result of ${method} has no list "${field}"`, true)
    // before: a spread of a long list overflows the stack
    if (entries.length + given.length > MAX_ENTRIES)
      return failure('too_large', `the MCP server lists more than ${MAX_ENTRIES} ${field}`, true)
    entries.push(...given)
    const { nextCursor } = outcome.result
    if (typeof nextCursor !== 'string') return entries
    if (seen.has(nextCursor))
      return failure('not_mcp', `the MCP server sent the same cursor for ${method} twice`, true)
    seen.add(nextCursor)
    cursor = nextCursor
  }
  return failure('too_large', `the MCP server lists its ${field} on more than ${MAX_PAGES} pages`, true)
}
