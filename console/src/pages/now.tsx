/** Now: calls, refusals, failures and latency of one gateway or all over the last minutes, its threads and its health. */

import type { Overview, Workers } from '../api/admin-types.ts'
import { control, gateway, queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { FleetOverview } from '../api/types.ts'
import { Figure } from '../components/chart.tsx'
import { ChoiceFilter } from '../components/filters.tsx'
import { FleetGateways, GatewaysFilter, ofTenant, showsFleet } from '../components/fleet.tsx'
import { Empty, Loaded, Page, Section } from '../components/layout.tsx'
import { duration, number } from '../components/numbers.ts'
import { Table } from '../components/table.tsx'
import { State, Status } from '../components/text.tsx'
import { TimeChart } from '../components/time-chart.tsx'
import { href, query } from '../state/router.ts'
import { chosenTenant } from '../state/session.ts'

const EVERY_MS = 2_000
/** Threads change seldom, and their calls are in the overview as well. */
const THREADS_EVERY_MS = 5_000
const WINDOWS = [
  ['', '1 minute'],
  ['300', '5 minutes'],
  ['900', '15 minutes'],
  ['3600', '1 hour'],
] as const

const rate = (perSecond: number): string =>
  perSecond >= 10 ? number(Math.round(perSecond)) : perSecond.toPrecision(2)

export function Now() {
  const isFleet = showsFleet()
  return (
    <Page
      title="Now"
      lead={
        isFleet
          ? 'Call rates, refusals, failures and latency of all gateways, computed from recorded calls.'
          : 'Call rates, refusals, failures and latency of the gateway, computed from recorded calls.'
      }
      actions={
        <>
          <GatewaysFilter />
          <ChoiceFilter name="window" label="Window" options={WINDOWS} />
        </>
      }
    >
      {isFleet ? <OfFleet /> : <OfGateway />}
    </Page>
  )
}

function OfFleet() {
  const search = queryOf({ window_s: query.value.get('window') || 60 })
  const overview = useResource(
    signal => control<FleetOverview>(`fleet/overview${search}`, { signal, ...ofTenant() }),
    [search, chosenTenant.value],
    EVERY_MS,
  )
  return (
    <Loaded of={overview}>
      {found => (
        <>
          <Board of={{ ...found, status: '', health: null, tools: 0 }} />
          <FleetGateways gateways={found.gateways} />
        </>
      )}
    </Loaded>
  )
}

function OfGateway() {
  const search = queryOf({ window_s: query.value.get('window') || 60, tenant: chosenTenant.value })
  const overview = useResource(
    signal => gateway<Overview>(`admin/overview${search}`, { signal }),
    [search],
    EVERY_MS,
  )
  return <Loaded of={overview}>{found => <Board of={found} />}</Loaded>
}

function OverTime({ of: { series, success, refused, failed, latency } }: { readonly of: Overview }) {
  const times = series.map(({ at }) => Date.parse(at) / 1000)
  return (
    <div class="columns">
      <TimeChart
        kind="columns"
        label={`Calls over time: ${success} successful, ${refused} refused, ${failed} failed`}
        times={times}
        format={number}
        series={[
          {
            name: 'successful',
            tone: 'good',
            values: series.map(({ calls, refused, errors }) => calls - refused - errors),
          },
          { name: 'refused', tone: 'warn', values: series.map(each => each.refused) },
          { name: 'failed', tone: 'bad', values: series.map(({ errors }) => errors) },
        ]}
      />
      <TimeChart
        kind="lines"
        label={`Latency over time: median ${duration(latency.p50_ms)}, 99th percentile ${duration(latency.p99_ms)}`}
        times={times}
        format={duration}
        series={[
          { name: 'median', tone: 'info', values: series.map(({ p50_ms }) => p50_ms) },
          { name: '99 %', tone: 'warn', values: series.map(({ p99_ms }) => p99_ms) },
        ]}
      />
    </div>
  )
}

function Board({ of: found }: { readonly of: Overview }) {
  const { rates, latency, backend } = found
  const share = (part: number): string =>
    found.calls === 0 ? '–' : `${((part / found.calls) * 100).toFixed(1)} %`
  return (
    <>
      <div class="cards">
        <Figure name="Calls per second" value={rate(rates.calls)} more={`${number(found.calls)} in all`} />
        <Figure name="Successful" value={share(found.success)} more={`${rate(rates.success)} per second`} />
        <Figure name="Refused" value={share(found.refused)} more={`${rate(rates.refused)} per second`} />
        <Figure name="Failed" value={share(found.failed)} more={`${rate(rates.failed)} per second`} />
        <Figure
          name="Latency, median"
          value={duration(latency.p50_ms)}
          more={`99 %: ${duration(latency.p99_ms)} · backend ${duration(backend.p50_ms)}`}
        />
      </div>
      {found.health !== null && found.health.length > 0 && (
        <div class="notice warn" role="status">
          <b>The gateway is {found.status}</b>
          <ul>
            {found.health.map(({ part, reason }) => (
              <li key={part}>
                {part}: {reason}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div class="card">
        <OverTime of={found} />
      </div>
      <div class="columns">
        <Refusals of={found} />
        <Slowest of={found} />
        <Consumers of={found} />
        <Failures of={found} />
      </div>
      {found.health !== null && <WorkerTable />}
    </>
  )
}

function Refusals({ of: { refusals } }: { readonly of: Overview }) {
  const columns = [
    {
      title: 'Reason',
      cell: ({ reason }: Overview['refusals'][number]) => (
        <a href={href('calls', { outcome: reason })}>{reason.replaceAll('_', ' ')}</a>
      ),
    },
    {
      title: 'Who',
      cell: ({ consumers }: Overview['refusals'][number]) =>
        consumers.slice(0, 3).map(({ tenant, consumer, calls }) => (
          <span class="sub" key={`${tenant}/${consumer}`} title={tenant ?? 'no tenant'}>
            {consumer ?? 'unknown'} · {number(calls)}
          </span>
        )),
    },
    { title: 'Calls', numeric: true, cell: ({ calls }: Overview['refusals'][number]) => number(calls) },
  ]
  return (
    <Section title="Who is refused, and why">
      <Table
        caption="Refusals by reason"
        columns={columns}
        rows={refusals}
        keyOf={({ reason }) => reason}
        empty={<Empty title="No call was refused" />}
      />
    </Section>
  )
}

type Slow = Overview['slowest'][number]

const SLOWEST = [
  { title: 'Tool', cell: ({ tool }: Slow) => <a href={href('calls', { tool })}>{tool}</a> },
  { title: 'Median', numeric: true, cell: ({ p50_ms }: Slow) => duration(p50_ms) },
  { title: '99 %', numeric: true, cell: ({ p99_ms }: Slow) => duration(p99_ms) },
  { title: 'Calls', numeric: true, cell: ({ calls }: Slow) => number(calls) },
]

function Slowest({ of: { slowest } }: { readonly of: Overview }) {
  return (
    <Section title="Slowest tools">
      <Table
        caption="Slowest tools"
        columns={SLOWEST}
        rows={slowest}
        keyOf={({ tool }) => tool}
        empty={
          <Empty title="No tool was called">
            <a href={href('playground')}>Call a tool in the playground</a>
          </Empty>
        }
      />
    </Section>
  )
}

type Caller = Overview['consumers'][number]

const CALLERS = [
  {
    title: 'Consumer',
    cell: ({ consumer, tenant }: Caller) => (
      <>
        <a href={href('calls', { consumer: consumer ?? '' })}>{consumer ?? 'unknown'}</a>
        <span class="sub">{tenant ?? 'no tenant'}</span>
      </>
    ),
  },
  { title: 'Calls', numeric: true, cell: ({ calls }: Caller) => number(calls) },
  { title: 'Refused', numeric: true, cell: ({ refused }: Caller) => number(refused) },
  { title: 'Failed', numeric: true, cell: ({ errors }: Caller) => number(errors) },
]

function Consumers({ of: { consumers } }: { readonly of: Overview }) {
  return (
    <Section title="Consumers">
      <Table
        caption="Consumers"
        columns={CALLERS}
        rows={consumers}
        keyOf={({ tenant, consumer }) => `${tenant}/${consumer}`}
        empty={<Empty title="No consumer made a call" />}
      />
    </Section>
  )
}

type Failed = Overview['failures'][number]

const FAILED = [
  {
    title: 'Reason',
    cell: ({ reason }: Failed) => (
      <a href={href('calls', { outcome: reason })}>{reason.replaceAll('_', ' ')}</a>
    ),
  },
  {
    title: 'Tools',
    cell: ({ tools }: Failed) =>
      tools.slice(0, 3).map(({ tool, calls }) => (
        <span class="sub" key={tool}>
          {tool ?? 'unknown'} · {number(calls)}
        </span>
      )),
  },
  { title: 'Calls', numeric: true, cell: ({ calls }: Failed) => number(calls) },
]

function Failures({ of: { failures } }: { readonly of: Overview }) {
  return (
    <Section title="Failures">
      <Table
        caption="Failures by reason"
        columns={FAILED}
        rows={failures}
        keyOf={({ reason }) => reason}
        empty={<Empty title="No call failed" />}
      />
    </Section>
  )
}

type Worker = Workers['workers'][number]

const short = (version: string | null): string => version?.slice(0, 12) ?? '–'

/** Only for users who may see every tenant. */
function WorkerTable() {
  const workers = useResource(signal => gateway<Workers>('admin/workers', { signal }), [], THREADS_EVERY_MS)
  return (
    <Section title="Threads">
      <Loaded of={workers}>
        {({ process, workers: rows, consistent }) => (
          <>
            <p class={consistent ? 'muted' : 'notice bad'} role={consistent ? undefined : 'alert'}>
              {process.name} {process.version}, {process.http_server}, {process.memory_mib} MiB.{' '}
              {consistent
                ? 'All threads serve the same configuration and policy.'
                : 'The threads serve different configurations or policies.'}
            </p>
            <Table
              caption="Threads of the gateway"
              rows={rows}
              keyOf={({ worker }) => String(worker)}
              columns={workerColumns(rows[0])}
            />
          </>
        )}
      </Loaded>
    </Section>
  )
}

/** What differs from the first thread is shown as an error. */
function workerColumns(first: Worker | undefined) {
  const compared = (value: string | null, expected: string | null | undefined) =>
    value === expected ? <code>{short(value)}</code> : <Status tone="bad">{short(value)} differs</Status>
  return [
    { title: 'Thread', cell: ({ worker }: Worker) => worker },
    {
      title: 'Status',
      cell: ({ status, reason }: Worker) => (
        <>
          <State of={status} />
          {reason !== null && <span class="sub">{reason}</span>}
        </>
      ),
    },
    { title: 'Configuration', cell: ({ snapshot }: Worker) => compared(snapshot, first?.snapshot) },
    {
      title: 'Policy',
      cell: ({ policy_revision }: Worker) => compared(policy_revision, first?.policy_revision),
    },
    { title: 'Tools', numeric: true, cell: ({ tools }: Worker) => number(tools) },
    { title: 'In flight', numeric: true, cell: ({ in_flight }: Worker) => number(in_flight) },
    { title: 'Streams', numeric: true, cell: ({ streams }: Worker) => number(streams) },
  ]
}
