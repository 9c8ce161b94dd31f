/** Reads the whole tool list of a server, page by page and bounded. It checks no tool. */
import type { McpConnection } from './connection.ts'
import { failure, type RequestOptions, type RpcOutcome } from './protocol.ts'

const MAX_PAGES = 1_000
const MAX_TOOLS = 10_000

export async function listTools(
  connection: McpConnection,
  options: RequestOptions,
): Promise<readonly unknown[] | Exclude<RpcOutcome, { kind: 'result' }>> {
  const tools: unknown[] = []
  const untilMs = performance.now() + options.timeoutMs
  const seen = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const timeoutMs = Math.max(1, untilMs - performance.now())
    const params = cursor === undefined ? {} : { cursor }
    const outcome = await connection.request('tools/list', params, { ...options, timeoutMs })
    if (outcome.kind !== 'result') return outcome
    if (!Array.isArray(outcome.result.tools))
      return failure('not_mcp', 'tools/list has no list of tools', true)
    tools.push(...outcome.result.tools)
    if (tools.length > MAX_TOOLS)
      return failure('too_large', `the server lists more than ${MAX_TOOLS} tools`, true)
    const { nextCursor } = outcome.result
    if (typeof nextCursor !== 'string') return tools
    if (seen.has(nextCursor)) return failure('not_mcp', 'tools/list repeats a cursor', true)
    seen.add(nextCursor)
    cursor = nextCursor
  }
  return failure('too_large', `the server lists its tools on more than ${MAX_PAGES} pages`, true)
}
