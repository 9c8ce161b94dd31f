/** How the clients people use differ where it matters to a server: what they register, ask for, and put up with. Facts only; it sends nothing. */

export const CLIENT_NAMES = ['claude', 'cursor', 'vscode', 'chatgpt'] as const
export type ClientName = (typeof CLIENT_NAMES)[number]

export interface ClientProfile {
  readonly name: ClientName
  readonly title: string
  /** What it asks for in `initialize`. */
  readonly protocolVersion: string
  readonly clientInfo: { readonly name: string; readonly version: string }
  /** Sent at registration; the first is the one the code comes back to. */
  readonly redirectUris: readonly [string, ...string[]]
  /** It calls from its maker's servers: an address on this machine or in a private network is out of its reach. */
  readonly callsFromTheInternet: boolean
  /** What counts against `maxNameLength`. @param server the name the user gives the server in the client */
  nameAsCounted(server: string, tool: string): string
  readonly maxNameLength: number
  /** What a tool name may be made of. */
  readonly nameCharacters: RegExp
  /** Beyond it tools are left out or the client warns; undefined where no bound is known. */
  readonly maxTools: number | undefined
}

/** What the model interfaces behind all four take for a function name. */
const FUNCTION_NAME = /^[A-Za-z0-9_-]+$/

export const CLIENTS: Readonly<Record<ClientName, ClientProfile>> = {
  claude: {
    name: 'claude',
    title: 'Claude',
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'claude-ai', version: '1.0.0' },
    redirectUris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
    callsFromTheInternet: true,
    nameAsCounted: (server, tool) => `mcp__${server}__${tool}`,
    maxNameLength: 64,
    nameCharacters: FUNCTION_NAME,
    maxTools: undefined,
  },
  cursor: {
    name: 'cursor',
    title: 'Cursor',
    protocolVersion: '2025-06-18',
    clientInfo: { name: 'cursor-vscode', version: '1.0.0' },
    redirectUris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
    callsFromTheInternet: false,
    nameAsCounted: (server, tool) => `${server}${tool}`,
    // it filters out a tool when both names together have 60 characters
    maxNameLength: 59,
    nameCharacters: FUNCTION_NAME,
    maxTools: undefined,
  },
  vscode: {
    name: 'vscode',
    title: 'VS Code',
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'Visual Studio Code', version: '1.106.0' },
    redirectUris: [
      'http://127.0.0.1:33418/',
      'http://127.0.0.1/',
      'https://vscode.dev/redirect',
      'https://insiders.vscode.dev/redirect',
    ],
    callsFromTheInternet: false,
    nameAsCounted: (server, tool) => `mcp_${server}_${tool}`,
    maxNameLength: 64,
    nameCharacters: FUNCTION_NAME,
    maxTools: 128,
  },
  chatgpt: {
    name: 'chatgpt',
    title: 'ChatGPT',
    protocolVersion: '2025-06-18',
    clientInfo: { name: 'openai-mcp', version: '1.0.0' },
    redirectUris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    callsFromTheInternet: true,
    nameAsCounted: (_, tool) => tool,
    maxNameLength: 64,
    nameCharacters: FUNCTION_NAME,
    maxTools: undefined,
  },
}
