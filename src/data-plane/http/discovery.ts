/** Public start page, server metadata and capabilities, at `/`, `/mcp` and `/mcp/capabilities`. */

import { LATEST_LEGACY, PROTOCOL_VERSIONS } from '../../mcp/versions.ts'
import { linksTo, NOT_STORED, startPage } from '../../net/server/pages.ts'
import type { Call } from './call.ts'
import { capabilitiesOf, TOKEN_OPTIMIZATION } from './capabilities.ts'
import type { GatewayParts } from './gateway.ts'
import { serverInfoOf } from './presentation.ts'

/** GET /: leads a browser to the pages of this deployment, and other clients to all that has an address. */
export function root({ url, pages }: GatewayParts, call: Call): void {
  const page = startPage(call.request.header('accept'), pages)
  if (page !== undefined) return call.respond(302, undefined, ['location', page, ...NOT_STORED])
  call.respond(200, { ...linksTo(pages, url), mcp: `${url}/mcp`, health: `${url}/mcp/health` }, NOT_STORED)
}

/** Server metadata (docs/reference/http.md, Discovery). */
export function serverMetadata(parts: GatewayParts, call: Call): void {
  const { url } = parts
  call.respond(200, {
    name: parts.name,
    version: parts.version,
    protocolVersion: LATEST_LEGACY,
    supportedVersions: PROTOCOL_VERSIONS,
    endpoints: {
      mcp: `${url}/mcp`,
      sse: `${url}/mcp/sse`,
      tools_list: `${url}/mcp/tools/list`,
      tools_call: `${url}/mcp/tools/call`,
      invoke: `${url}/mcp/v1/tools/invoke`,
      capabilities: `${url}/mcp/capabilities`,
      health: `${url}/mcp/health`,
      protected_resource: `${url}/.well-known/oauth-protected-resource`,
      authorization_server: `${url}/.well-known/oauth-authorization-server`,
    },
  })
}

/** Detailed capabilities (docs/reference/http.md, Discovery). */
export function capabilities(parts: GatewayParts, call: Call): void {
  const policy = parts.snapshot()?.policy
  call.respond(200, {
    protocolVersion: LATEST_LEGACY,
    supportedVersions: PROTOCOL_VERSIONS,
    serverInfo: serverInfoOf(parts, LATEST_LEGACY),
    capabilities: capabilitiesOf(parts.snapshot()?.served),
    features: {
      batch: true,
      resumability: true,
      tokenOptimization: TOKEN_OPTIMIZATION,
      apiKeys: true,
      policy: { engine: policy?.engine ?? null, revision: policy?.revision ?? null },
      quotas: true,
    },
  })
}
