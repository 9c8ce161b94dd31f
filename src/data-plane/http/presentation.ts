/** Describes the gateway to clients and registries: `serverInfo`, the server card and `server.json`. */

import { hasFeature, PROTOCOL_VERSIONS, type ProtocolVersion } from '../../mcp/versions.ts'
import type { Presentation } from '../../model/presentation.ts'
import type { ToolView } from '../../model/tool-view.ts'
import type { Call } from './call.ts'
import type { GatewayParts } from './gateway.ts'

const DEFAULT_DESCRIPTION = 'Offers the operations of HTTP APIs as tools, with quotas and an access policy.'
const REGISTRY_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
/** Public documents may be read by any page. */
const OPEN = [
  'content-type',
  'application/json',
  'access-control-allow-origin',
  '*',
  'cache-control',
  'public, max-age=300',
]

/** `Implementation` of MCP, with the members that the version knows. @param view what it says comes before what the gateway says */
export function serverInfoOf(
  { name, version, presentation }: GatewayParts,
  since: ProtocolVersion,
  view?: ToolView,
): object {
  const title = view?.title ?? presentation.title
  const description = view?.description ?? presentation.description
  const websiteUrl = view?.websiteUrl ?? presentation.websiteUrl
  return {
    name,
    ...(hasFeature(since, 'titles') ? { title } : undefined),
    version,
    ...(hasFeature(since, 'icons')
      ? { description, websiteUrl, icons: view?.icons ?? iconsOf(presentation) }
      : undefined),
  }
}

/** GET /.well-known/mcp/server-card.json (draft of SEP-2127): what a client may know before it connects. */
export function serverCard(parts: GatewayParts, call: Call): void {
  const { url } = parts
  call.sendWithOwnCors(
    200,
    JSON.stringify({
      ...describe(parts),
      remotes: [{ type: 'streamable-http', url: `${url}/mcp`, supportedProtocolVersions: PROTOCOL_VERSIONS }],
      serverInfo: serverInfoOf(parts, PROTOCOL_VERSIONS.at(-1)!),
      authentication: {
        required: true,
        schemes: ['oauth2', 'bearer'],
        resourceMetadataUrl: `${url}/.well-known/oauth-protected-resource/mcp`,
      },
    }),
    OPEN,
  )
}

/** GET /.well-known/mcp/server.json: the entry for an MCP registry. */
export function registryEntry(parts: GatewayParts, call: Call): void {
  const remotes = [
    { type: 'streamable-http', url: `${parts.url}/mcp` },
    { type: 'sse', url: `${parts.url}/mcp/sse` },
  ]
  const entry = { $schema: REGISTRY_SCHEMA, ...describe(parts), remotes }
  call.sendWithOwnCors(200, JSON.stringify(entry), OPEN)
}

function describe({ url, name, version, presentation }: GatewayParts): object {
  const { title, description = DEFAULT_DESCRIPTION, websiteUrl } = presentation
  return {
    name: `${namespaceOf(url)}/${name}`,
    title,
    description,
    version,
    websiteUrl,
    icons: iconsOf(presentation),
  }
}

/** `gw.example.com` → `com.example.gw`; an IP address stays. */
function namespaceOf(url: string): string {
  const { hostname } = new URL(url)
  return /[a-z]$/.test(hostname) ? hostname.split('.').reverse().join('.') : hostname
}

function iconsOf({ iconUrl }: Presentation): readonly object[] | undefined {
  return iconUrl === undefined ? undefined : [{ src: iconUrl }]
}
