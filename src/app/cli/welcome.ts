/** The text that is printed when the process is ready, such as its addresses. */
import type { Running } from '../main.ts'

/** No line begins with `{`: only the ready line does. */
export function welcome({ addresses, embedded, role, pages }: Running): string {
  if (role !== 'all') return onePlane({ addresses, role, pages })
  const { gateway_url, api_url, auth_url, metrics_url } = addresses
  const { provider: development, exampleUrl } = embedded
  const token = development
    ? `  TOKEN=$(curl -s ${auth_url}/protocol/openid-connect/token \\
    -d grant_type=client_credentials -d client_id=demo-agent -d client_secret=demo-agent-secret \\
    | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`
    : `  TOKEN=…   # from your identity provider, ${auth_url}`
  return `
Toolgate is up.

  gateway        ${gateway_url}      MCP at ${gateway_url}/mcp/sse
  control plane  ${api_url}${linesOf(pages)}
  identity       ${auth_url}${development ? '   (embedded, for development only)' : ''}
  metrics        ${metrics_url}/metrics${exampleUrl === undefined ? '' : `\n  example shop   ${exampleUrl}`}

Get a token:

${token}

List the tools:

  curl -s -X POST ${gateway_url}/mcp/v1/tools -H "Authorization: Bearer $TOKEN"

Connect an MCP client:

  "mcpServers": { "toolgate": {
    "type": "http", "url": "${gateway_url}/mcp/sse",
    "headers": { "Authorization": "Bearer <the token>" } } }

Run the demo:  npx toolgate demo${gateway_url === 'http://localhost:8080' ? '' : ` --url ${gateway_url}`}

`
}

/** For one plane alone; the other one prints the rest. */
function onePlane({ addresses, role, pages }: Pick<Running, 'addresses' | 'role' | 'pages'>): string {
  const { gateway_url, api_url, auth_url, metrics_url } = addresses
  const own =
    role === 'gateway'
      ? `Toolgate gateway is up at ${gateway_url}`
      : `Toolgate control plane is up at ${api_url}`
  const other =
    role === 'gateway'
      ? `  control plane  ${api_url}`
      : `  gateways       ${gateway_url}      (ROLE=gateway, CONTROL_PLANE_URL=${api_url}, AUTH_ISSUER=${auth_url})`
  return `\n${own}\n\n${other}${linesOf(pages)}\n  identity       ${auth_url}\n  metrics        ${metrics_url}/metrics\n\n`
}

function linesOf(pages: Running['pages']): string {
  return Object.entries(pages)
    .map(([name, address]) => `\n  ${name.padEnd(15)}${address}`)
    .join('')
}
