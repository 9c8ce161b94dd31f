/** Limits: how much of its quota each consumer has used, with a forecast, its plans, and a reset. The gateway counts. */
import { useSignal } from '@preact/signals'
import type { CountedWindow, QuotaCounter, QuotaDetail, QuotaRow } from '../api/admin-types.ts'
import { gateway } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Meter } from '../components/chart.tsx'
import { ConfirmButton, Dialog } from '../components/dialog.tsx'
import { TextFilter } from '../components/filters.tsx'
import { Empty, Loaded, Page } from '../components/layout.tsx'
import { number } from '../components/numbers.ts'
import { Table } from '../components/table.tsx'
import { Facts, Status } from '../components/text.tsx'
import { href, query } from '../state/router.ts'
import { hasControlPlane, may } from '../state/session.ts'
import { SubscriptionPlans } from './plan-change.tsx'

const EVERY_MS = 5_000
/** For the open dialog, which shows seconds. */
const DETAIL_EVERY_MS = 1_000
const DAY_MS = 86_400_000
/** Less of a window says too little about the rest. */
const MIN_ELAPSED = 0.05

/** Part of the day, and of the month, that has passed; windows are those of UTC. */
function elapsed(nowMs: number): { readonly day: number; readonly month: number } {
  const now = new Date(nowMs)
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  return { day: (nowMs % DAY_MS) / DAY_MS, month: (nowMs - month) / (next - month) }
}

function Window({
  label,
  count,
  limit,
  part,
}: {
  readonly label: string
  readonly count: number
  readonly limit: number | null
  /** For the window that has passed. */
  readonly part: number
}) {
  if (limit === null)
    return (
      <>
        {number(count)} <span class="muted">without limit</span>
      </>
    )
  const forecast = part < MIN_ELAPSED ? undefined : Math.round(count / part)
  return (
    <div class="window">
      <Meter value={count} limit={limit} label={label} />
      <span class="num">
        {number(count)} of {number(limit)}
      </span>
      {forecast !== undefined && forecast > limit && count < limit && (
        <Status tone="warn">{`at this rate, about ${number(forecast)} calls by the end of the period`}</Status>
      )}
      {count >= limit && <Status tone="bad">used up</Status>}
    </div>
  )
}

export function Limits() {
  const list = useResource(signal => gateway<readonly QuotaRow[]>('admin/quotas', { signal }), [], EVERY_MS)
  const shown = useSignal<string | undefined>(undefined)
  const part = query.value.get('consumer')?.toLowerCase() ?? ''
  const { day, month } = elapsed(Date.now())
  const reset = async (consumer: string): Promise<void> => {
    await gateway(`admin/quotas/${encodeURIComponent(consumer)}/reset`, { method: 'POST' })
    await list.reload()
  }
  const columns = [
    { title: 'Consumer', cell: (row: QuotaRow) => <b>{row.consumer_id}</b> },
    {
      title: 'Today',
      cell: (row: QuotaRow) => (
        <Window
          label={`Today, ${row.consumer_id}`}
          count={row.daily_count}
          limit={row.daily_limit}
          part={day}
        />
      ),
    },
    {
      title: 'This month',
      cell: (row: QuotaRow) => (
        <Window
          label={`This month, ${row.consumer_id}`}
          count={row.monthly_count}
          limit={row.monthly_limit}
          part={month}
        />
      ),
    },
    {
      title: '',
      cell: (row: QuotaRow) => (
        <span class="actions">
          <button
            type="button"
            class="button small"
            onClick={() => {
              shown.value = row.consumer_id
            }}
          >
            Details
          </button>
          <ConfirmButton
            label="Reset"
            question={`All counters of ${row.consumer_id} are set to zero, in every window and in every tenant that you may administer.`}
            onConfirm={() => reset(row.consumer_id)}
          />
        </span>
      ),
    },
  ]
  return (
    <Page
      title="Limits"
      lead="Calls counted against daily and monthly quotas. Days and months are in UTC. The details of a consumer also show the limits per second and per minute, and the calls in flight."
    >
      <div class="filters">
        <TextFilter name="consumer" label="Consumer" />
      </div>
      <Loaded of={list}>
        {rows => {
          const found = rows.filter(({ consumer_id }) => consumer_id.toLowerCase().includes(part))
          return (
            <Table
              caption="Quotas"
              columns={columns}
              rows={[...found].sort(byUse)}
              keyOf={row => row.consumer_id}
              empty={
                <Empty title="No consumer found">A consumer appears here after its first counted call.</Empty>
              }
            />
          )
        }}
      </Loaded>
      {shown.value !== undefined && (
        <LimitsDialog
          consumer={shown.value}
          onClose={() => {
            shown.value = undefined
          }}
        />
      )}
    </Page>
  )
}

/** The nearest to a limit first. */
function byUse(a: QuotaRow, b: QuotaRow): number {
  const use = (row: QuotaRow): number =>
    Math.max(
      row.daily_count / (row.daily_limit ?? Number.POSITIVE_INFINITY),
      row.monthly_count / (row.monthly_limit ?? Number.POSITIVE_INFINITY),
    )
  return use(b) - use(a)
}

const SOURCES: Readonly<Record<string, string>> = {
  subscription: 'the subscription',
  control_plane: 'the control plane',
  plans_file: 'the plans file',
  default: 'the default',
}

/** Name and elapsed part of each window. A rolling window has no rest, so nothing is forecast for it. */
function windowsOf(counter: QuotaCounter): readonly [string, CountedWindow | null, number][] {
  const { day, month } = elapsed(Date.now())
  return [
    ['Second', counter.second, 0],
    ['Minute', counter.minute, 0],
    ['Day', counter.day, day],
    ['Month', counter.month, month],
    ['In flight', counter.in_flight, 0],
  ]
}

function Windows({ of: counter }: { readonly of: QuotaCounter }) {
  const name =
    counter.subscription_id === null
      ? counter.tenant || 'no tenant'
      : `${counter.tenant}, subscription ${counter.subscription_id}`
  return (
    <section aria-label={`Counters of ${name}`}>
      <h3>{name}</h3>
      {!counter.limits_known && (
        <p class="muted">
          The limits are not shown, because rules in the plans file may choose a different plan for each
          caller.
        </p>
      )}
      <Facts
        rows={windowsOf(counter).map(([label, window, part]) => [
          label,
          window === null ? (
            <span class="muted">without limit, not counted</span>
          ) : counter.limits_known ? (
            <Window key={label} label={`${label}, ${name}`} {...window} part={part} />
          ) : (
            number(window.count)
          ),
        ])}
      />
    </section>
  )
}

function LimitsDialog({ consumer, onClose }: { readonly consumer: string; readonly onClose: () => void }) {
  const detail = useResource(
    signal => gateway<QuotaDetail>(`admin/quotas/${encodeURIComponent(consumer)}`, { signal }),
    [consumer],
    DETAIL_EVERY_MS,
  )
  return (
    <Dialog title={`Limits of ${consumer}`} onClose={onClose}>
      <Loaded of={detail}>
        {({ plans, counters = [] }) => (
          <>
            {counters.map(counter => (
              <Windows key={`${counter.tenant}/${counter.subscription_id}`} of={counter} />
            ))}
            <h3>Plans</h3>
            <p class="muted">The first entry that names a plan applies.</p>
            <Facts
              rows={plans.map(({ tenant, source, plan }) => [
                `${tenant}, from ${SOURCES[source] ?? source}`,
                plan ?? <span class="muted">none</span>,
              ])}
            />
          </>
        )}
      </Loaded>
      {hasControlPlane.value && may('subscriptions.list') && (
        <SubscriptionPlans consumer={consumer} onChanged={() => void detail.reload()} />
      )}
      <div class="actions">
        <a class="button" href={href('catalogue/subscriptions', { consumer })}>
          Subscriptions
        </a>
        <a class="button" href={href('calls', { consumer, outcome: 'refused' })}>
          Refused calls
        </a>
      </div>
    </Dialog>
  )
}
