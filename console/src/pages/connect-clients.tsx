/** The entry of the gateway for each MCP client, and links that install it. */
import { Field } from '../components/dialog.tsx'
import { Code } from '../components/text.tsx'
import { query, setQuery } from '../state/router.ts'

interface Client {
  readonly name: string
  readonly title: string
  /** Where the entry goes. */
  readonly place: string
  readonly entry: (url: string) => string
  /** Opens the client and installs the server. */
  readonly link?: (url: string) => string
}

const HEADERS = { Authorization: 'Bearer <token>' }
const json = (value: object): string => JSON.stringify(value, null, 2)

const CLIENTS: readonly Client[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    place: 'Run in a terminal',
    entry: url => `claude mcp add --transport http toolgate ${url} --header "Authorization: Bearer $TOKEN"`,
  },
  {
    name: 'claude',
    title: 'Claude and ChatGPT',
    place:
      'In the settings of the client, add a connector with this address. The client then opens the login page.',
    entry: url => url,
  },
  {
    name: 'cursor',
    title: 'Cursor',
    place: 'Add this entry to ~/.cursor/mcp.json. Without "headers", the client opens the login page.',
    entry: url => json({ mcpServers: { toolgate: { url, headers: HEADERS } } }),
    link: url =>
      `cursor://anysphere.cursor-deeplink/mcp/install?name=toolgate&config=${encodeURIComponent(btoa(JSON.stringify({ url })))}`,
  },
  {
    name: 'vscode',
    title: 'VS Code',
    place: 'Add this entry to .vscode/mcp.json. Without "headers", the client opens the login page.',
    entry: url => json({ servers: { toolgate: { type: 'http', url, headers: HEADERS } } }),
    link: url =>
      `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'toolgate', type: 'http', url }))}`,
  },
  {
    name: 'windsurf',
    title: 'Windsurf',
    place: '~/.codeium/windsurf/mcp_config.json',
    entry: serverUrl => json({ mcpServers: { toolgate: { serverUrl, headers: HEADERS } } }),
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    place: '~/.gemini/settings.json',
    entry: httpUrl => json({ mcpServers: { toolgate: { httpUrl, headers: HEADERS } } }),
  },
  {
    name: 'codex',
    title: 'Codex',
    place: '~/.codex/config.toml',
    entry: url => `[mcp_servers.toolgate]\nurl = "${url}"\nbearer_token_env_var = "TOOLGATE_TOKEN"`,
  },
  {
    name: 'zed',
    title: 'Zed',
    place: 'settings.json',
    entry: url => json({ context_servers: { toolgate: { url, headers: HEADERS } } }),
  },
  {
    name: 'librechat',
    title: 'LibreChat',
    place: 'librechat.yaml',
    entry: url =>
      `mcpServers:\n  toolgate:\n    type: streamable-http\n    url: ${url}\n    headers:\n      Authorization: Bearer <token>`,
  },
  {
    name: 'inspector',
    title: 'MCP Inspector',
    place: 'Select the transport "Streamable HTTP" and enter this address.',
    entry: url => url,
  },
]

/** The choice of the client is in the address. */
export function ClientEntry({ url }: { readonly url: string }) {
  const client = CLIENTS.find(({ name }) => name === query.value.get('client')) ?? CLIENTS[0]!
  return (
    <>
      <Field label="Client">
        {id => (
          <select
            id={id}
            value={client.name}
            onChange={event => setQuery({ client: event.currentTarget.value })}
          >
            {CLIENTS.map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
      <p class="muted">{client.place}</p>
      <Code text={client.entry(url)} label={`Entry for ${client.title}`} />
      {client.link !== undefined && (
        <div class="actions">
          <a class="button primary" href={client.link(url)}>
            Open in {client.title}
          </a>
        </div>
      )}
    </>
  )
}
