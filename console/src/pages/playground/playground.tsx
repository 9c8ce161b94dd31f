/** Playground: calls a tool as the user, over REST or MCP, or simulates the call, with a form from its schema. A call is real and counts. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CallDetail, ListedTool, Simulation } from '../../api/admin-types.ts'
import { gateway } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import { Field, TextField } from '../../components/dialog.tsx'
import { Empty, Loaded, Page, Section } from '../../components/layout.tsx'
import { duration } from '../../components/numbers.ts'
import { SimulationCard } from '../../components/simulation.tsx'
import { Facts, Json, Status } from '../../components/text.tsx'
import { href, query, setQuery } from '../../state/router.ts'
import { chosenTenant, tenant, user } from '../../state/session.ts'
import { listTools } from '../tools/seen-tools.tsx'
import { Questions } from './questions.tsx'
import { type CallOptions, type Exchange, inquiryOf, type Protocol, runCall } from './run-call.ts'
import { SchemaForm } from './schema-form.tsx'

export function Playground() {
  const list = useResource(signal => listTools(chosenTenant.value, signal), [chosenTenant.value])
  return (
    <Page
      title="Playground"
      lead="Call a tool with your rights. A call is real: it uses quota and reaches the backend. A simulation uses no quota and does not reach the backend."
    >
      <Loaded of={list}>
        {({ tools }) =>
          tools.length === 0 ? (
            <Empty title="No tool is visible">The policy shows you only the tools that you may call.</Empty>
          ) : (
            <Bench tools={tools} />
          )
        }
      </Loaded>
    </Page>
  )
}

function Bench({ tools }: { readonly tools: readonly ListedTool[] }) {
  const exchange = useSignal<Outcome | undefined>(undefined)
  const chosen = query.value.get('tool') ?? ''
  const tool = tools.find(({ name }) => name === chosen)
  const isKnown = tools.some(({ name }) => name === chosen)
  // the call of the response that is shown: its questions belong to it
  const asked = useSignal<{ readonly call: CallOptions; readonly at: number } | undefined>(undefined)
  const run = async (call: CallOptions): Promise<void> => {
    exchange.value = await runCall(call).catch((error: unknown) => error as Error)
    asked.value = { call, at: performance.now() }
  }
  const result = exchange.value
  const waiting = result !== undefined && 'protocol' in result ? inquiryOf(result) : undefined
  return (
    <div class="columns">
      <Section title="Request">
        <div class="card">
          <Field label="Tool">
            {id => (
              <select
                id={id}
                value={isKnown ? chosen : ''}
                onChange={event => setQuery({ tool: event.currentTarget.value, replay: '' })}
              >
                <option value="">Choose a tool</option>
                {tools.map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {tool !== undefined ? (
            <Request
              key={tool.name}
              tool={tool}
              onCall={run}
              onResult={result => {
                exchange.value = result
              }}
            />
          ) : (
            chosen !== '' && (
              <p class="notice warn">
                The tool {chosen} does not exist, or the policy does not let you call it.
              </p>
            )
          )}
        </div>
      </Section>
      <Section title="Response">
        <Result of={exchange.value} />
        {waiting !== undefined && (
          <Questions
            key={asked.value!.at}
            of={waiting}
            onResponses={async inputResponses => {
              const { call } = asked.value!
              const resume = { requestState: waiting.requestState, inputResponses }
              await run({ ...call, resume })
            }}
          />
        )}
      </Section>
    </div>
  )
}

type Arguments = Readonly<Record<string, unknown>>
type Outcome = Exchange | Simulation | Error

function Request({
  tool,
  onCall,
  onResult,
}: {
  readonly tool: ListedTool
  readonly onCall: (call: CallOptions) => Promise<void>
  readonly onResult: (result: Outcome) => void
}) {
  const args = useSignal<Arguments>({})
  const faults = useSignal<Readonly<Record<string, string | undefined>>>({})
  const protocol = useSignal<Protocol>('rest')
  const busy = useSignal(false)
  // a new form for arguments that did not come from it
  const form = useSignal(0)
  const replay = query.value.get('replay')
  useEffect(() => {
    if (replay === null) return
    gateway<CallDetail>(`admin/calls/${encodeURIComponent(replay)}`).then(
      ({ arguments: recorded }) => {
        if (typeof recorded !== 'object' || recorded === null) return
        args.value = recorded as Arguments
        form.value++
      },
      () => {
        // no longer recorded: the form stays empty
      },
    )
  }, [replay])
  const fault = Object.entries(faults.value).find(([, text]) => text !== undefined)
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    busy.value = true
    await onCall({
      protocol: protocol.value,
      tool: tool.name,
      args: args.value,
      tenant: chosenTenant.value,
    })
    busy.value = false
  }
  const simulate = async (form: HTMLFormElement): Promise<void> => {
    const consumer = String(new FormData(form).get('as') ?? '').trim()
    const body = {
      tool: tool.name,
      arguments: args.value,
      consumer: consumer === '' ? user.value!.consumer : consumer,
      ...(tenant.value === undefined ? {} : { tenant: tenant.value }),
      ...(consumer === '' ? { roles: user.value!.roles, scopes: user.value!.scopes } : {}),
    }
    onResult(
      await gateway<Simulation>('admin/simulate', { method: 'POST', body }).catch(
        (error: unknown) => error as Error,
      ),
    )
  }
  return (
    <form class="form" onSubmit={event => void send(event)}>
      <p class="muted">{tool.description}</p>
      <SchemaForm
        key={form.value}
        schema={tool.inputSchema}
        value={args.value}
        onChange={next => {
          args.value = next
        }}
        onFault={(name, text) => {
          faults.value = { ...faults.value, [name]: text }
        }}
      />
      {fault !== undefined && (
        <p class="notice bad" role="alert">
          {fault[0]} {fault[1]}
        </p>
      )}
      <TextField
        label="Simulate as"
        name="as"
        hint="Id of a consumer that has made a call. Empty: yourself."
      />
      <div class="form-end">
        <button
          type="button"
          class="button"
          disabled={fault !== undefined}
          onClick={event => void simulate(event.currentTarget.form!)}
        >
          Simulate
        </button>
        <select
          aria-label="Protocol"
          class="narrow"
          value={protocol.value}
          onChange={event => {
            protocol.value = event.currentTarget.value as Protocol
          }}
        >
          <option value="rest">REST</option>
          <option value="mcp">MCP</option>
        </select>
        <button type="submit" class="button primary" disabled={busy.value || fault !== undefined}>
          {busy.value ? 'Calling…' : 'Call'}
        </button>
      </div>
    </form>
  )
}

function Result({ of: result }: { readonly of: Outcome | undefined }) {
  if (result === undefined) return <Empty title="No tool was called yet">The response appears here.</Empty>
  if (result instanceof Error)
    return (
      <p class="notice bad" role="alert">
        {result.message}
      </p>
    )
  if ('stages' in result) return <SimulationCard of={result} />
  const { status, ms, headers, events, body, requestId } = result
  const isError =
    status >= 400 || (body as { isError?: boolean; error?: unknown } | null)?.error !== undefined
  return (
    <div class="card" role="status">
      <Facts
        rows={[
          ['Status', <Status tone={isError ? 'bad' : 'good'}>{`${status} in ${duration(ms)}`}</Status>],
          ...headers.map(([name, value]) => [name, <code>{value}</code>] as const),
        ]}
      />
      {requestId !== null && (
        <p>
          <a href={href('calls', { tool: '', consumer: '' })}>Show the call in the list of calls</a>
        </p>
      )}
      {events.length > 0 && <Json value={events} label="Events" />}
      <Json value={body} label="Body" />
    </div>
  )
}
