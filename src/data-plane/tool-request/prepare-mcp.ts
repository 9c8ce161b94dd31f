/** Prepares the calls of a tool, resource or prompt of an MCP server: their address, session key and messages. */
import { isObject } from '../../base/json/is-object.ts'
import { serverAddress } from '../../mcp/client/address.ts'
import { headerValue } from '../../mcp/client/server-connection.ts'
import { isPerCaller, type Tool } from '../../model/tool.ts'
import { credentialKeyOf } from '../../net/egress/oauth/backend-tokens.ts'
import type { McpTarget } from '../snapshot/snapshot.ts'

type Args = { readonly [name: string]: unknown }

/** undefined: the backend is not an MCP server. */
export function prepareMcp(tool: Tool): McpTarget | undefined {
  const {
    mcp,
    authentication,
    feature,
    request: { fixed },
  } = tool
  if (mcp === undefined) return undefined
  const address = serverAddress(mcp, authentication)
  const { tool: name, session, mirrored = [], uriPrefix = '', serves = [] } = mcp
  return {
    address,
    key: JSON.stringify([
      session,
      address,
      ...(authentication.oauth ? [credentialKeyOf(authentication)] : []),
    ]),
    isShared: session === 'shared' && !isPerCaller(authentication),
    authentication,
    uriPrefix,
    complete:
      feature !== undefined && serves.includes('completions')
        ? ({ argument, context }) => ({
            method: 'completion/complete',
            params: {
              ref:
                feature.kind === 'prompt'
                  ? { type: 'ref/prompt', name }
                  : { type: 'ref/resource', uri: name },
              argument,
              ...(context === undefined ? undefined : { context }),
            },
            headers: [],
          })
        : undefined,
    request(args) {
      if (feature?.kind === 'prompt')
        return { method: 'prompts/get', params: { name, arguments: args }, headers: [] }
      if (feature !== undefined)
        return {
          method: 'resources/read',
          params: { uri: String(args.uri).slice(uriPrefix.length) },
          headers: [],
        }
      const whole = fixed === undefined ? args : { ...args, ...fixed }
      return {
        method: 'tools/call',
        params: { name, arguments: whole },
        headers: mirrored.flatMap(({ path, header }) => mirroredHeader(header, valueAt(whole, path))),
      }
    },
  }
}

/** MCP 2026-07-28, `x-mcp-header`; other servers ignore it. */
function mirroredHeader(header: string, value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  return [`mcp-param-${header.toLowerCase()}`, headerValue(String(value))]
}

function valueAt(args: Args, path: readonly string[]): unknown {
  let value: unknown = args
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}
