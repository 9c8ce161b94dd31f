/** Checks the well-known addresses of an endpoint below a path prefix, which are at the root of the host (RFC 8414 §3.1, RFC 9728 §3.1). */
import { ask, describeResponse, objectOf } from '../ask.ts'
import { demand } from '../fault.ts'
import type { Step } from '../visit.ts'

export const prefix: Step = {
  id: 'prefix',
  login: true,
  async run({ url, guarded }) {
    if (!guarded) return { skipped: 'The server requires no token.' }
    const { origin, pathname } = new URL(url)
    const path = pathname.replace(/\/$/, '')
    // the endpoints of the gateway are /mcp, /mcp/sse, and /mcp/{name} of a ToolSet or ToolView
    const before = path.replace(/\/mcp(\/[^/]+)?$/, '')
    if (before === '') return { skipped: 'The URL has no path prefix before /mcp.' }
    for (const address of [
      `${origin}/.well-known/oauth-protected-resource${path}`,
      `${origin}/.well-known/oauth-authorization-server${before}`,
    ]) {
      const response = await ask(address, { headers: { accept: 'application/json' } })
      demand(
        response.status === 200 && objectOf(response) !== undefined,
        `${describeResponse(response)}.`,
        `Clients append the path prefix of the gateway to each well-known path. Set GATEWAY_URL to "${origin}${before}". The proxy in front of ` +
          `the gateway must forward "/.well-known/*${before}", and all paths below that path, without removing the prefix. ` +
          `In nginx, use "location ~ ^/\\.well-known/[^/]+${before}(/|$) { proxy_pass http://…; }".`,
      )
    }
    return {
      facts: [`Below /.well-known, the host serves the OAuth metadata for the path prefix "${before}".`],
    }
  },
}
