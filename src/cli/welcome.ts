/** What a person sees when the gateway is up: addresses, a token, a call, a client configuration. Text only. */
import type { Addresses } from '../main.ts'

/** No line of it begins with `{`: only the ready line does (contract §1). */
export function welcome(addresses: Addresses): string {
  const { gateway_url, api_url, auth_url, metrics_url, example_url } = addresses
  const development = addresses.embedded_provider
  const token = development
    ? `  TOKEN=$(curl -s ${auth_url}/protocol/openid-connect/token \\
    -d grant_type=client_credentials -d client_id=demo-agent -d client_secret=demo-agent-secret \\
    | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`
    : `  TOKEN=…   # from your identity provider, ${auth_url}`
  return `
Toolgate is up.

  gateway        ${gateway_url}      MCP at ${gateway_url}/mcp/sse
  control plane  ${api_url}
  identity       ${auth_url}${development ? '   (embedded, for development only)' : ''}
  metrics        ${metrics_url}/metrics${example_url === undefined ? '' : `\n  example shop   ${example_url}`}

Get a token:

${token}

List the tools:

  curl -s -X POST ${gateway_url}/mcp/v1/tools -H "Authorization: Bearer $TOKEN"

Connect an MCP client:

  "mcpServers": { "toolgate": {
    "type": "http", "url": "${gateway_url}/mcp/sse",
    "headers": { "Authorization": "Bearer <the token>" } } }

See it work:  npx toolgate demo${gateway_url === 'http://localhost:8080' ? '' : ` --url ${gateway_url}`}

`
}
