/** Connect: the entry for each MCP client, links that install it, and a check of the gateway step by step. It writes no file. */
import { useSignal } from '@preact/signals'
import { request } from '../api/client.ts'
import { Field } from '../components/dialog.tsx'
import { Page, Section } from '../components/layout.tsx'
import { Code, Copyable, Facts, Status } from '../components/text.tsx'
import { query, setQuery } from '../state/router.ts'
import { session } from '../state/session.ts'
import { listTools } from './tools/seen-tools.tsx'

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
    place: 'Settings, connectors: add a connector with this address; it logs in by itself',
    entry: url => url,
  },
  {
    name: 'cursor',
    title: 'Cursor',
    place: '~/.cursor/mcp.json; without headers it logs in by itself',
    entry: url => json({ mcpServers: { toolgate: { url, headers: HEADERS } } }),
    link: url =>
      `cursor://anysphere.cursor-deeplink/mcp/install?name=toolgate&config=${encodeURIComponent(btoa(JSON.stringify({ url })))}`,
  },
  {
    name: 'vscode',
    title: 'VS Code',
    place: '.vscode/mcp.json; without headers it logs in by itself',
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
    place: 'Transport "Streamable HTTP", and this address',
    entry: url => url,
  },
]

export function Connect() {
  const url = `${session.value!.gateway_url}/mcp`
  const client = CLIENTS.find(({ name }) => name === query.value.get('client')) ?? CLIENTS[0]!
  return (
    <Page title="Connect" lead="How a client reaches the gateway.">
      <div class="columns">
        <Section title="Configure a client">
          <div class="card">
            <Facts rows={[['MCP endpoint', <Copyable text={url} label="the address" />]]} />
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
            <div class="actions">
              {client.link !== undefined && (
                <a class="button primary" href={client.link(url)}>
                  Open in {client.title}
                </a>
              )}
            </div>
          </div>
        </Section>
        <Section title="Check the connection">
          <Check url={url} />
        </Section>
      </div>
    </Page>
  )
}

interface Step {
  readonly title: string
  readonly state: 'passed' | 'failed'
  readonly detail: string
}

/** As the user; the command checks what only a client outside can see. */
function Check({ url }: { readonly url: string }) {
  const steps = useSignal<readonly Step[]>([])
  const busy = useSignal(false)
  const run = async (): Promise<void> => {
    busy.value = true
    steps.value = []
    for (const [title, step] of STEPS) {
      const done: Step = await step().then(
        detail => ({ title, state: 'passed', detail }),
        (error: Error) => ({ title, state: 'failed', detail: error.message }),
      )
      steps.value = [...steps.value, done]
      if (done.state === 'failed') break
    }
    busy.value = false
  }
  return (
    <div class="card">
      <p>
        The server of this console repeats the steps of a client with your rights, and stops at the first that
        fails.
      </p>
      <div class="actions">
        <button type="button" class="button" disabled={busy.value} onClick={() => void run()}>
          {busy.value ? 'Checking…' : 'Check'}
        </button>
      </div>
      <ol class="steps" aria-live="polite">
        {steps.value.map(({ title, state, detail }) => (
          <li key={title}>
            <Status tone={state === 'passed' ? 'good' : 'bad'}>{`${title}: ${state}`}</Status>
            <p class="muted">{detail}</p>
          </li>
        ))}
      </ol>
      <p class="muted">From the machine of the client, with certificates, discovery and registration:</p>
      <Code text={`npx toolgate doctor --url ${url}`} label="Command" />
    </div>
  )
}

const STEPS: readonly (readonly [string, () => Promise<string>])[] = [
  [
    'Ready',
    async () => {
      await request('gateway/ready')
      return 'The gateway serves a configuration and has the keys of the identity provider.'
    },
  ],
  [
    'Initialize',
    async () => {
      const params = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'toolgate-console', version: '1' },
      }
      const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
      const headers = { accept: 'application/json, text/event-stream' }
      const response = await request('gateway/mcp', { method: 'POST', body, headers })
      const version = /"protocolVersion":"([^"]+)"/.exec(await response.text())?.[1]
      return `A session with protocol version ${version ?? 'unknown'} was opened.`
    },
  ],
  [
    'List tools',
    async () => {
      const { tools } = await listTools(undefined)
      if (tools.length === 0)
        throw new Error('No tool is visible to you. Check the roles and scopes of your account.')
      const longest = Math.max(...tools.map(({ name }) => name.length))
      return `${tools.length} tools; the longest name has ${longest} characters.`
    },
  ],
]
