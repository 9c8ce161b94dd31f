/** A tool of an MCP server made ready to be called: where its calls go, and what they send. It sends nothing. */
import { isObject } from '../../model/is-object.ts'
import type { Tool } from '../../model/tool.ts'
import { serverAddress } from '../../shared/mcp-client/address.ts'
import { headerValue } from '../../shared/mcp-client/connection.ts'
import type { McpTarget } from '../snapshot/snapshot.ts'

type Args = { readonly [name: string]: unknown }

/** undefined: the backend is not an MCP server. */
export function prepareMcp({ mcp, authentication, request: { fixed } }: Tool): McpTarget | undefined {
  if (mcp === undefined) return undefined
  const address = serverAddress(mcp, authentication)
  const { tool, session, mirrored = [] } = mcp
  return {
    address,
    key: JSON.stringify([session, address]),
    isShared: session === 'shared',
    request(args) {
      const whole = fixed === undefined ? args : { ...args, ...fixed }
      return {
        params: { name: tool, arguments: whole },
        headers: mirrored.flatMap(({ path, header }) => mirroredHeader(header, valueAt(whole, path))),
      }
    },
  }
}

/** MCP 2026-07-28, `x-mcp-header`; other servers ignore it. */
function mirroredHeader(header: string, value: unknown): readonly string[] {
  if (value === undefined || value === null || value === '') return []
  return [`mcp-param-${header.toLowerCase()}`, headerValue(String(value))]
}

function valueAt(args: Args, path: readonly string[]): unknown {
  let value: unknown = args
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}
