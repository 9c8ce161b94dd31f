/** Reads the lists of an MCP server over an open connection, and whether the server reports changes of them. */
import { isObject } from '../../base/json/is-object.ts'
import { type ListMethod, listPages } from '../../mcp/client/list-pages.ts'
import type { McpConnection } from '../../mcp/client/server-connection.ts'
import type { RequestOptions, RpcError, RpcFailure } from '../../mcp/protocol.ts'

/** The document of a server; lists that are empty are absent, except `tools`. */
export interface ServerLists {
  readonly tools: readonly unknown[]
  readonly resources?: readonly unknown[]
  readonly resourceTemplates?: readonly unknown[]
  readonly prompts?: readonly unknown[]
  /** Optional parts of MCP that it declares. */
  readonly serves?: readonly string[]
}

type Features = readonly ('tools' | 'resources' | 'prompts')[]

const LISTS: readonly (ListMethod & { readonly capability: Features[number]; readonly key: string })[] = [
  { method: 'tools/list', field: 'tools', capability: 'tools', key: 'name' },
  { method: 'resources/list', field: 'resources', capability: 'resources', key: 'uri' },
  {
    method: 'resources/templates/list',
    field: 'resourceTemplates',
    capability: 'resources',
    key: 'uriTemplate',
  },
  { method: 'prompts/list', field: 'prompts', capability: 'prompts', key: 'name' },
]

/** @param features that the tool set takes over */
export async function readLists(
  connection: McpConnection,
  features: Features,
  options: RequestOptions,
): Promise<ServerLists | RpcFailure | RpcError> {
  const { capabilities } = connection.server
  const read: Record<string, readonly unknown[]> = { tools: [] }
  // servers that declare nothing at all are older than their tools
  const others = isObject(capabilities.resources) || isObject(capabilities.prompts)
  for (const { method, field, capability, key } of LISTS) {
    const isDeclared = isObject(capabilities[capability]) || (capability === 'tools' && !others)
    if (!isDeclared || !features.includes(capability)) continue
    const entries = await listPages(connection, { method, field }, options)
    if ('kind' in entries) {
      // a server may declare resources and have no templates
      if (entries.kind === 'error' && capability !== 'tools') continue
      return entries
    }
    if (entries.length > 0) read[field] = [...entries].sort(by(key))
  }
  const serves = servesOf(capabilities)
  return { ...(read as unknown as ServerLists), ...(serves.length === 0 ? {} : { serves }) }
}

/** MCP 2026-07-28, extension of tasks. */
const TASKS = 'io.modelcontextprotocol/tasks'

function servesOf(capabilities: McpConnection['server']['capabilities']): string[] {
  const { completions, resources, logging, extensions } = capabilities
  return [
    ...(isObject(completions) ? ['completions'] : []),
    ...(isObject(resources) && resources.subscribe === true ? ['subscriptions'] : []),
    ...(isObject(logging) ? ['logging'] : []),
    ...(isObject(extensions) && isObject(extensions[TASKS]) ? ['tasks'] : []),
  ]
}

/** True when the server reports changes of a list that the tool set takes over. */
export function reportsChanges({ server }: McpConnection, features: Features): boolean {
  return features.some(feature => {
    const declared = server.capabilities[feature]
    return isObject(declared) && declared.listChanged === true
  })
}

/** Servers may list in any order. */
function by(key: string): (a: unknown, b: unknown) => number {
  return (a, b) => {
    const [x, y] = [a, b].map(entry => (isObject(entry) ? String(entry[key]) : ''))
    return x! < y! ? -1 : x! > y! ? 1 : 0
  }
}
