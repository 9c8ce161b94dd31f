/** Tools, tool sets and views: what each costs a model, how it performs, what lint says, and what a caller sees. */
import type { ToolRow, ToolRows, ToolSetRow, ViewRow } from '../../api/admin-types.ts'
import { ApiError, control, gateway, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { FleetTools } from '../../api/types.ts'
import { TextFilter } from '../../components/filters.tsx'
import { FleetGateways, GatewaysFilter, ofTenant, showsFleet } from '../../components/fleet.tsx'
import { Empty, Loaded, Page, Tabs } from '../../components/layout.tsx'
import { duration, number } from '../../components/numbers.ts'
import { Table } from '../../components/table.tsx'
import { State, Status } from '../../components/text.tsx'
import { href, query, segments } from '../../state/router.ts'
import { chosenTenant } from '../../state/session.ts'
import { ConsumerTools } from './consumer-tools.tsx'
import { SeenTools } from './seen-tools.tsx'
import { ToolDetail } from './tool-detail.tsx'

const TABS = [
  { to: 'tools', title: 'All tools' },
  { to: 'tools/by/set', title: 'Tool sets' },
  { to: 'tools/by/model', title: 'What a model sees' },
]

export function Tools() {
  const [, second, view] = segments.value
  if (second !== undefined && second !== 'by') return <ToolDetail name={second} />
  return (
    <Page title="Tools" lead="API operations that clients can call by name.">
      <Tabs label="Tools" tabs={TABS} current={second === 'by' ? `tools/by/${view}` : 'tools'} />
      {view === 'set' ? <ToolSets /> : view === 'model' ? <ConsumerTools /> : <ToolTable />}
    </Page>
  )
}

const COLUMNS = [
  {
    title: 'Tool',
    cell: (tool: ToolRow) => (
      <>
        <a href={href(`tools/${encodeURIComponent(tool.name)}`)}>{tool.name}</a>
        <span class="sub">{tool.title}</span>
      </>
    ),
  },
  { title: 'Tool set', wide: true, cell: (tool: ToolRow) => tool.toolset },
  { title: 'Calls', numeric: true, cell: (tool: ToolRow) => number(tool.calls) },
  {
    title: 'Failed',
    numeric: true,
    cell: (tool: ToolRow) => (tool.errors > 0 ? <Status tone="bad">{number(tool.errors)}</Status> : '0'),
  },
  { title: 'Refused', numeric: true, wide: true, cell: (tool: ToolRow) => number(tool.refused) },
  { title: 'Median', numeric: true, cell: (tool: ToolRow) => duration(tool.p50_ms) },
  { title: '99 %', numeric: true, wide: true, cell: (tool: ToolRow) => duration(tool.p99_ms) },
  { title: 'Tokens', numeric: true, cell: (tool: ToolRow) => number(tool.tokens) },
  {
    title: 'Findings',
    cell: (tool: ToolRow) => {
      const findings = tool.lint.length + tool.name_limits.length
      return findings === 0 ? <span class="muted">none</span> : <Status tone="warn">{findings}</Status>
    },
  },
  {
    title: '',
    cell: (tool: ToolRow) => (
      <span class="actions">
        <a class="button small" href={href('playground', { tool: tool.name })}>
          Try
        </a>
      </span>
    ),
  },
]

function ToolTable() {
  return showsFleet() ? <FleetToolTable /> : <GatewayToolTable />
}

type FleetTool = FleetTools['tools'][number]

const FLEET_COLUMNS = [
  {
    title: 'Tool',
    cell: ({ tool }: FleetTool) => <a href={href(`tools/${encodeURIComponent(tool)}`)}>{tool}</a>,
  },
  { title: 'Tool set', wide: true, cell: ({ toolset }: FleetTool) => toolset },
  { title: 'Calls', numeric: true, cell: ({ calls }: FleetTool) => number(calls) },
  {
    title: 'Failed',
    numeric: true,
    cell: ({ errors }: FleetTool) => (errors > 0 ? <Status tone="bad">{number(errors)}</Status> : '0'),
  },
  { title: 'Refused', numeric: true, wide: true, cell: ({ refused }: FleetTool) => number(refused) },
  { title: 'Median', numeric: true, cell: ({ p50_ms }: FleetTool) => duration(p50_ms) },
  { title: '99 %', numeric: true, cell: ({ p99_ms }: FleetTool) => duration(p99_ms) },
]

/** Tools that were called, over all gateways. */
function FleetToolTable() {
  const list = useResource(
    signal => control<FleetTools>('fleet/tools', { signal, ...ofTenant() }),
    [chosenTenant.value],
    10_000,
  )
  const part = query.value.get('tool')?.toLowerCase() ?? ''
  return (
    <>
      <div class="filters">
        <GatewaysFilter />
        <TextFilter name="tool" label="Name" />
      </div>
      <Loaded of={list}>
        {({ tools, gateways }) => (
          <>
            <Table
              caption="Tools"
              columns={FLEET_COLUMNS}
              rows={tools.filter(({ tool }) => tool.toLowerCase().includes(part))}
              keyOf={({ toolset, tool }) => `${toolset}/${tool}`}
              empty={<Empty title="No tool was called" />}
            />
            <FleetGateways gateways={gateways} />
          </>
        )}
      </Loaded>
    </>
  )
}

function GatewayToolTable() {
  const search = queryOf({
    tenant: chosenTenant.value,
    toolset: query.value.get('toolset'),
    q: query.value.get('tool'),
  })
  const list = useResource(signal => gateway<ToolRows>(`admin/tools${search}`, { signal }), [search], 10_000)
  // without the right to administer, a user still sees the tools that a client of theirs sees
  if (list.error.value instanceof ApiError && list.error.value.status === 403) return <SeenTools />
  return (
    <>
      <div class="filters">
        <GatewaysFilter />
        <TextFilter name="tool" label="Name" />
        <TextFilter name="toolset" label="Tool set" />
      </div>
      <Loaded of={list}>
        {({ tools, total, tokens }) =>
          tools.length === 0 ? (
            <Empty title="No tool found">Register an API with its OpenAPI document, or add a tool set.</Empty>
          ) : (
            <>
              <p class="muted">
                Tools: {number(total)}. The tool definitions take about {number(tokens)} tokens in the context
                of a model.
              </p>
              <Table
                caption="Tools"
                columns={COLUMNS}
                rows={tools}
                keyOf={tool => `${tool.tenant}/${tool.name}`}
              />
            </>
          )
        }
      </Loaded>
    </>
  )
}

const SET_COLUMNS = [
  {
    title: 'Tool set',
    cell: (set: ToolSetRow) => (
      <>
        <a href={href('tools', { toolset: set.name })}>{set.name}</a>
        <span class="sub">{set.tenant ?? 'every tenant'}</span>
      </>
    ),
  },
  {
    title: 'State',
    cell: (set: ToolSetRow) =>
      set.status === null ? (
        <span class="muted">not reported</span>
      ) : (
        <>
          <State of={set.status.phase.toLowerCase()} />
          {set.status.message !== null && <span class="sub">{set.status.message}</span>}
        </>
      ),
  },
  { title: 'Tools', numeric: true, cell: (set: ToolSetRow) => number(set.tools) },
  { title: 'Tokens', numeric: true, cell: (set: ToolSetRow) => number(set.tokens) },
  { title: 'Calls', numeric: true, cell: (set: ToolSetRow) => number(set.calls) },
  { title: 'Failed', numeric: true, cell: (set: ToolSetRow) => number(set.errors) },
  { title: 'Median', numeric: true, cell: (set: ToolSetRow) => duration(set.p50_ms) },
  { title: '99 %', numeric: true, wide: true, cell: (set: ToolSetRow) => duration(set.p99_ms) },
]

const VIEW_COLUMNS = [
  {
    title: 'View',
    cell: (view: ViewRow) => (
      <>
        <b>{view.title ?? view.name}</b>
        <span class="sub">{view.path ?? view.name}</span>
      </>
    ),
  },
  {
    title: 'State',
    cell: (view: ViewRow) => (
      <>
        {view.status !== null && <State of={view.status.phase.toLowerCase()} />}
        {[view.status?.message ?? null, ...view.warnings].map(
          text => text !== null && <span class="sub">{text}</span>,
        )}
      </>
    ),
  },
  { title: 'Tools', numeric: true, cell: (view: ViewRow) => number(view.tools) },
  { title: 'Listed', numeric: true, cell: (view: ViewRow) => number(view.listed) },
  { title: 'Tokens', numeric: true, cell: (view: ViewRow) => number(view.listed_tokens) },
  {
    title: 'Budget',
    numeric: true,
    cell: (view: ViewRow) => (view.token_budget === null ? 'none' : number(view.token_budget)),
  },
]

function ToolSets() {
  const list = useResource(
    signal =>
      gateway<{ readonly toolsets: readonly ToolSetRow[]; readonly views?: readonly ViewRow[] }>(
        'admin/toolsets',
        { signal },
      ),
    [],
    10_000,
  )
  return (
    <Loaded of={list}>
      {({ toolsets, views = [] }) => (
        <>
          <Table
            caption="Tool sets"
            columns={SET_COLUMNS}
            rows={toolsets}
            keyOf={set => `${set.tenant}/${set.name}`}
            empty={
              <Empty title="No tool set">
                Add a ToolSet resource and its OpenAPI document. See docs/guide.md.
              </Empty>
            }
          />
          {views.length > 0 && (
            <Table
              caption="Views"
              columns={VIEW_COLUMNS}
              rows={views}
              keyOf={view => `${view.namespace}/${view.name}`}
            />
          )}
        </>
      )}
    </Loaded>
  )
}
