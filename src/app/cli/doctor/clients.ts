/**
 * The known clients: the names, redirect addresses and limits with which the doctor connects for them.
 * Sources: documentation and source code of the clients, and for Gemini CLI and Zed also compatibility tables of zuplo.com. A loopback redirect
 * address stands for any port (RFC 8252 §7.3).
 */
import type { ProtocolVersion } from '../../../mcp/versions.ts'
import { CLIENT_TOOL_LIMITS } from '../../../model/client-limits.ts'

export const CLIENT_NAMES = [
  'claude',
  'cursor',
  'vscode',
  'chatgpt',
  'inspector',
  'windsurf',
  'gemini',
  'codex',
  'zed',
  'librechat',
] as const
export type ClientName = (typeof CLIENT_NAMES)[number]

export interface ClientProfile {
  readonly name: ClientName
  readonly title: string
  /** What it asks for in `initialize`. */
  readonly protocolVersion: ProtocolVersion
  readonly clientInfo: { readonly name: string; readonly version: string }
  /** Sent at registration; the first is the one the code comes back to. */
  readonly redirectUris: readonly [string, ...string[]]
  /** The client calls from its maker's servers: an address on this machine or in a private network is out of its reach. */
  readonly callsFromTheInternet: boolean
  /** Origin of the page that calls; undefined for programs. */
  readonly pageOrigin: string | undefined
  /** What counts against `maxNameLength`. @param server the name the user gives the server in the client */
  nameAsCounted(server: string, tool: string): string
  readonly maxNameLength: number
  /** What a tool name may be made of. */
  readonly nameCharacters: RegExp
  /** For all servers together; beyond it tools are left out or the client warns; undefined where no bound is known. */
  readonly maxTools: number | undefined
  /** For all servers together; beyond it definitions are not given to the model at once; undefined where no bound is known. */
  readonly maxDefinitionTokens: number | undefined
}

/** What the model interfaces behind them take for a function name. */
const FUNCTION_NAME = /^[A-Za-z0-9_-]+$/

const COMMON = {
  protocolVersion: '2025-11-25',
  callsFromTheInternet: false,
  pageOrigin: undefined,
  nameAsCounted: (_: string, tool: string) => tool,
  maxNameLength: 64,
  nameCharacters: FUNCTION_NAME,
  maxTools: undefined,
  maxDefinitionTokens: undefined,
} as const

export const CLIENTS: Readonly<Record<ClientName, ClientProfile>> = {
  claude: {
    ...COMMON,
    name: 'claude',
    title: 'Claude',
    clientInfo: { name: 'claude-ai', version: '1.0.0' },
    redirectUris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
    callsFromTheInternet: true,
    nameAsCounted: (server, tool) => `mcp__${server}__${tool}`,
    // a tenth of the context, after which Claude Code searches for tools instead
    maxDefinitionTokens: 20_000,
  },
  cursor: {
    ...COMMON,
    name: 'cursor',
    title: 'Cursor',
    protocolVersion: '2025-06-18',
    clientInfo: { name: 'cursor-vscode', version: '1.0.0' },
    redirectUris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
    nameAsCounted: (server, tool) => `${server}${tool}`,
    // it filters out a tool when both names together have 60 characters
    maxNameLength: 59,
    maxTools: CLIENT_TOOL_LIMITS.Cursor,
  },
  vscode: {
    ...COMMON,
    name: 'vscode',
    title: 'VS Code',
    clientInfo: { name: 'Visual Studio Code', version: '1.106.0' },
    redirectUris: [
      'http://127.0.0.1:33418/',
      'http://127.0.0.1/',
      'https://vscode.dev/redirect',
      'https://insiders.vscode.dev/redirect',
    ],
    nameAsCounted: (server, tool) => `mcp_${server}_${tool}`,
    maxTools: CLIENT_TOOL_LIMITS['VS Code'],
  },
  chatgpt: {
    ...COMMON,
    name: 'chatgpt',
    title: 'ChatGPT',
    protocolVersion: '2025-06-18',
    clientInfo: { name: 'openai-mcp', version: '1.0.0' },
    redirectUris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    callsFromTheInternet: true,
    // of the model interface
    maxTools: CLIENT_TOOL_LIMITS.ChatGPT,
  },
  inspector: {
    ...COMMON,
    name: 'inspector',
    title: 'MCP Inspector',
    clientInfo: { name: 'inspector-client', version: '2.12.0' },
    redirectUris: ['http://localhost:6274/oauth/callback'],
    pageOrigin: 'http://localhost:6274',
    // it shows any name the specification allows
    maxNameLength: 128,
    nameCharacters: /^[A-Za-z0-9_.-]+$/,
  },
  windsurf: {
    ...COMMON,
    name: 'windsurf',
    title: 'Windsurf',
    protocolVersion: '2025-06-18',
    clientInfo: { name: 'windsurf', version: '1.0.0' },
    // its address is not published; a loopback address is what its registrations must be allowed at least
    redirectUris: ['http://127.0.0.1:8765/callback'],
    maxTools: CLIENT_TOOL_LIMITS.Windsurf,
  },
  gemini: {
    ...COMMON,
    name: 'gemini',
    title: 'Gemini CLI',
    protocolVersion: '2025-06-18',
    clientInfo: { name: 'gemini-cli-mcp-client', version: '1.0.0' },
    redirectUris: ['http://localhost:7777/oauth/callback'],
    // it shortens a longer name in the middle
    nameAsCounted: (server, tool) => `mcp_${server}_${tool}`,
  },
  codex: {
    ...COMMON,
    name: 'codex',
    title: 'Codex',
    protocolVersion: '2025-06-18',
    clientInfo: { name: 'codex-mcp-client', version: '1.0.0' },
    redirectUris: ['http://127.0.0.1:8765/callback'],
    nameAsCounted: (server, tool) => `mcp__${server}__${tool}`,
    maxTools: CLIENT_TOOL_LIMITS.Codex,
  },
  zed: {
    ...COMMON,
    name: 'zed',
    title: 'Zed',
    clientInfo: { name: 'Zed', version: '1.0.0' },
    redirectUris: ['http://127.0.0.1:8765/callback'],
  },
  librechat: {
    ...COMMON,
    name: 'librechat',
    title: 'LibreChat',
    clientInfo: { name: '@librechat/api-client', version: '1.0.0' },
    // of an installation on this machine; one with another DOMAIN_SERVER registers that
    redirectUris: ['http://localhost:3080/api/mcp/toolgate/oauth/callback'],
    nameAsCounted: (server, tool) => `${tool}_mcp_${server}`,
  },
}
