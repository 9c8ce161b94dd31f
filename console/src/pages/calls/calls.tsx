/** Calls: a live table, or the last calls of all gateways; fast with 100,000 rows, because only those near the view are drawn. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { control, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { FleetCalls } from '../../api/types.ts'
import { ChoiceFilter, TextFilter } from '../../components/filters.tsx'
import { FleetGateways, GatewaysFilter, ofTenant, showsFleet } from '../../components/fleet.tsx'
import { Empty, Failure, Loaded, Page } from '../../components/layout.tsx'
import { duration, number } from '../../components/numbers.ts'
import { Status, type Tone } from '../../components/text.tsx'
import { query, setQuery } from '../../state/router.ts'
import { chosenTenant } from '../../state/session.ts'
import { CallDialog, FleetCallDialog } from './call-dialog.tsx'
import { KIND_TONES, type LiveCalls, type Row, useLiveCalls } from './live-calls.ts'

const ROW_HEIGHT = 36
/** Rows drawn beyond the visible ones. */
const OVERSCAN = 12
const FLEET_EVERY_MS = 2_000

const KINDS = [
  ['', 'Any'],
  ['success', 'Successful'],
  ['refused', 'Refused'],
  ['failed', 'Failed'],
] as const

const SLOW = [
  ['', 'Any'],
  ['10', '10 ms or more'],
  ['100', '100 ms or more'],
  ['1000', '1 s or more'],
] as const

export function Calls() {
  return showsFleet() ? <FleetCallsPage /> : <LiveCallsPage />
}

/** The filters of both pages. */
function Filters({ outcomes }: { readonly outcomes: readonly (readonly [string, string])[] }) {
  return (
    <div class="filters">
      <GatewaysFilter />
      <TextFilter name="consumer" label="Consumer" />
      <TextFilter name="tool" label="Tool" />
      <ChoiceFilter name="outcome" label="Outcome" options={outcomes} />
      <ChoiceFilter name="min_ms" label="Duration" options={SLOW} />
    </div>
  )
}

function outcomesWith(outcome: string): readonly (readonly [string, string])[] {
  return KINDS.some(([value]) => value === outcome)
    ? KINDS
    : [...KINDS, [outcome, outcome.replaceAll('_', ' ')] as const]
}

function FleetCallsPage() {
  const given = (name: string): string | undefined => query.value.get(name) || undefined
  const names = ['consumer', 'tool', 'outcome', 'min_ms'] as const
  const search = queryOf({ ...Object.fromEntries(names.map(name => [name, given(name)])), limit: 200 })
  const found = useResource(
    signal => control<FleetCalls>(`fleet/calls${search}`, { signal, ...ofTenant() }),
    [search, chosenTenant.value],
    FLEET_EVERY_MS,
  )
  const opened = found.value.value?.calls.find(({ id }) => id === query.value.get('call'))
  return (
    <Page title="Calls" lead="The last calls that the gateways recorded, newest first.">
      <Filters outcomes={outcomesWith(given('outcome') ?? '')} />
      <Loaded of={found}>
        {({ calls, gateways, complete }) => (
          <>
            {!complete && <FleetGateways gateways={gateways} />}
            {calls.length === 0 ? <Empty title="No call found" /> : <CallTable rows={calls} />}
          </>
        )}
      </Loaded>
      {opened !== undefined && <FleetCallDialog call={opened} onClose={() => setQuery({ call: '' })} />}
    </Page>
  )
}

function LiveCallsPage() {
  const paused = useSignal(false)
  const given = (name: string): string | undefined => query.value.get(name) || undefined
  const filters = {
    tenant: chosenTenant.value,
    consumer: given('consumer'),
    tool: given('tool'),
    outcome: given('outcome'),
    min_ms: given('min_ms'),
  }
  const live = useLiveCalls(filters, paused.value)
  const opened = query.value.get('call')
  return (
    <Page
      title="Calls"
      lead="The calls that the gateway records, newest first. New calls appear within a second."
      actions={
        <>
          <Liveness of={live} />
          <button
            type="button"
            class="button"
            aria-pressed={paused.value}
            onClick={() => {
              paused.value = !paused.value
            }}
          >
            {paused.value ? 'Resume' : 'Pause'}
          </button>
        </>
      }
    >
      <Filters outcomes={outcomesWith(filters.outcome ?? '')} />
      {live.error !== undefined ? (
        <Failure error={live.error} />
      ) : live.rows.length === 0 ? (
        <Empty title={live.state === 'connecting' ? 'Loading…' : 'No call found'}>
          New calls appear here within a second.
        </Empty>
      ) : (
        <CallTable rows={live.rows} />
      )}
      {opened !== null && <CallDialog id={opened} onClose={() => setQuery({ call: '' })} />}
    </Page>
  )
}

function Liveness({ of: { state, rows } }: { readonly of: LiveCalls }) {
  const tones: Readonly<Record<LiveCalls['state'], Tone>> = {
    live: 'good',
    connecting: 'info',
    paused: 'plain',
    interrupted: 'warn',
  }
  return (
    <span class="muted">
      <Status tone={tones[state]}>{state}</Status> · {number(rows.length)} rows
    </span>
  )
}

function CallTable({ rows }: { readonly rows: readonly Row[] }) {
  const frame = useRef<HTMLElement>(null)
  const top = useSignal(0)
  const height = useSignal(600)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      height.value = entry!.contentRect.height
    })
    observer.observe(frame.current!)
    return () => observer.disconnect()
  }, [])
  const first = Math.max(0, Math.floor(top.value / ROW_HEIGHT) - OVERSCAN)
  const last = Math.min(rows.length, Math.ceil((top.value + height.value) / ROW_HEIGHT) + OVERSCAN)
  // beside the table and not rows of it: a row of three million pixels makes each frame slow
  const space = (count: number) => <div aria-hidden="true" style={{ height: `${count * ROW_HEIGHT}px` }} />
  return (
    <section
      class="table-frame live"
      aria-label="Calls"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
      tabIndex={0}
      ref={frame}
      onScroll={event => {
        top.value = event.currentTarget.scrollTop
      }}
    >
      {space(first)}
      <table aria-rowcount={rows.length + 1}>
        <caption class="hidden">Calls</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Tool</th>
            <th scope="col" class="wide">
              Consumer
            </th>
            <th scope="col">Outcome</th>
            <th scope="col" class="num wide">
              Status
            </th>
            <th scope="col" class="num">
              Duration
            </th>
            <th scope="col" class="num wide">
              Backend
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(first, last).map((row, at) => (
            <LiveRow key={row.id} row={row} index={first + at + 2} />
          ))}
        </tbody>
      </table>
      {space(rows.length - last)}
    </section>
  )
}

function timeOf(at: string): string {
  const date = new Date(at)
  return `${date.toLocaleTimeString('en-GB')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

function LiveRow({ row, index }: { readonly row: Row; readonly index: number }) {
  if ('missed' in row)
    return (
      <tr aria-rowindex={index} class="gap">
        <td colSpan={4}>
          {number(row.missed)} {row.missed === 1 ? 'call is' : 'calls are'} not shown: too many calls arrived
          at once
        </td>
      </tr>
    )
  const open = (): void => setQuery({ call: row.id })
  return (
    <tr aria-rowindex={index} onClick={open}>
      <td>
        <button type="button" class="link" onClick={open} title={row.at}>
          <time dateTime={row.at}>{timeOf(row.at)}</time>
        </button>
      </td>
      <td class="cut">{row.tool ?? row.requested_tool ?? row.api ?? row.action}</td>
      <td class="cut wide">
        {row.consumer ?? <span class="muted">unknown</span>}
        {row.tenant !== null && <span class="muted"> · {row.tenant}</span>}
      </td>
      <td class="cut">
        <Status tone={KIND_TONES[row.kind]}>{row.outcome.replaceAll('_', ' ')}</Status>
      </td>
      <td class="num wide">{row.status}</td>
      <td class="num">{duration(row.duration_ms)}</td>
      <td class="num wide">{row.cache_hit ? 'cached' : duration(row.backend_ms)}</td>
    </tr>
  )
}
