/** Connect: how a client is configured, and a check of the gateway step by step. */
import { useSignal } from '@preact/signals'
import { request } from '../api/client.ts'
import { Page, Section } from '../components/layout.tsx'
import { Code, Copyable, Facts, Status } from '../components/text.tsx'
import { session } from '../state/session.ts'
import { ClientEntry } from './connect-clients.tsx'
import { listTools } from './tools/seen-tools.tsx'

export function Connect() {
  const url = `${session.value!.gateway_url}/mcp`
  return (
    <Page title="Connect" lead="Connect an MCP client to the gateway.">
      <div class="columns">
        <Section title="Configure a client">
          <div class="card">
            <Facts rows={[['MCP endpoint', <Copyable text={url} label="the address" />]]} />
            <ClientEntry url={url} />
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
        The console server connects to the gateway like an MCP client, with your rights. The check stops at
        the first step that fails.
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
      <p class="muted">
        To check certificates, discovery and registration as well, run this command on the machine of the
        client:
      </p>
      <Code text={`npx toolgate doctor --url ${url}`} label="Command" />
    </div>
  )
}

const STEPS: readonly (readonly [string, () => Promise<string>])[] = [
  [
    'Ready',
    async () => {
      await request('gateway/ready')
      return 'The gateway serves a configuration and has the signing keys of the identity provider.'
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
      return `The gateway opened a session with protocol version ${version ?? 'unknown'}.`
    },
  ],
  [
    'List tools',
    async () => {
      const { tools } = await listTools(undefined)
      if (tools.length === 0)
        throw new Error('No tool is visible to you. Check the roles and scopes of your account.')
      const longest = Math.max(...tools.map(({ name }) => name.length))
      return `Tools: ${tools.length}. The longest name has ${longest} characters.`
    },
  ],
]
