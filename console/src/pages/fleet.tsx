/** Fleet: gateways, deployments, and sessions and caches of the gateway beside this console. The planes synchronize and clear; it sends the requests. */
import { useSignal } from '@preact/signals'
import type { SessionStatistics } from '../api/admin-types.ts'
import { control, controlAll, gateway, queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { Deployment, Gateway, GatewayDifference, List } from '../api/types.ts'
import { ActionFailure, useActions } from '../components/action.tsx'
import { Figure } from '../components/chart.tsx'
import { ConfirmButton, Dialog } from '../components/dialog.tsx'
import { ofTenant } from '../components/fleet.tsx'
import { Empty, Loaded, Page, Section } from '../components/layout.tsx'
import { number } from '../components/numbers.ts'
import { PagedTable } from '../components/paged-table.tsx'
import { pageOf } from '../components/pager.tsx'
import { Table } from '../components/table.tsx'
import { Ago, Facts, State, Status } from '../components/text.tsx'
import { href } from '../state/router.ts'
import { hasControlPlane, may } from '../state/session.ts'

const EVERY_MS = 5_000
/** Deployments change less often than gateways report. */
const DEPLOYMENTS_EVERY_MS = 10_000

const short = (version: string | null) => <code title={version ?? ''}>{version?.slice(0, 12) ?? '–'}</code>

export function Fleet() {
  return (
    <Page
      title="Fleet"
      lead="Gateways of this control plane, and the configuration that each gateway serves."
    >
      {hasControlPlane.value && <Gateways />}
      {hasControlPlane.value && <Deployments />}
      <Sessions />
    </Page>
  )
}

function Gateways() {
  const compared = useSignal<Gateway | undefined>(undefined)
  const list = useResource(signal => controlAll<Gateway>('gateways', { signal }), [], EVERY_MS)
  const columns = (versions: ReadonlySet<string | null>) => [
    {
      title: 'Gateway',
      cell: (each: Gateway) => (
        <>
          <b>{each.name}</b>
          <span class="sub">{each.url}</span>
        </>
      ),
    },
    {
      title: 'Status',
      cell: (each: Gateway) => (
        <>
          <State of={each.status} />
          {each.error !== null && <span class="sub">{each.error}</span>}
        </>
      ),
    },
    {
      title: 'Serves',
      cell: (each: Gateway) =>
        versions.size > 1 ? (
          <Status tone="bad">{short(each.snapshot_version)}</Status>
        ) : (
          short(each.snapshot_version)
        ),
    },
    { title: 'Version', wide: true, cell: (each: Gateway) => each.version },
    { title: 'Threads', numeric: true, wide: true, cell: (each: Gateway) => number(each.workers) },
    { title: 'Last report', cell: (each: Gateway) => <Ago at={each.last_seen_at} /> },
    {
      title: '',
      cell: (each: Gateway) => (
        <span class="actions">
          <button
            type="button"
            class="button small"
            onClick={() => {
              compared.value = each
            }}
          >
            Difference
          </button>
        </span>
      ),
    },
  ]
  return (
    <Section title="Gateways">
      <Loaded of={list}>
        {({ items }) => {
          const versions = new Set(
            items
              .filter(({ status }) => status !== 'offline')
              .map(({ snapshot_version }) => snapshot_version),
          )
          return items.length === 0 ? (
            <Empty title="No gateway has connected">
              Start a gateway with ROLE=gateway, and with CONTROL_PLANE_URL set to the address of this control
              plane.
            </Empty>
          ) : (
            <>
              {versions.size > 1 && (
                <p class="notice bad" role="alert">
                  The gateways serve {versions.size} different configurations.
                </p>
              )}
              <Table caption="Gateways" columns={columns(versions)} rows={items} keyOf={each => each.id} />
              {compared.value !== undefined && (
                <DifferenceDialog
                  of={compared.value}
                  onClose={() => {
                    compared.value = undefined
                  }}
                />
              )}
            </>
          )
        }}
      </Loaded>
    </Section>
  )
}

type ResourceChange = NonNullable<GatewayDifference['resources']>[number]

const CHANGE_TONES = { added: 'good', changed: 'warn', removed: 'bad' } as const

const differenceColumns = (names: ReadonlyMap<string, string | null>) => [
  {
    title: 'Resource',
    cell: ({ kind, id, name }: ResourceChange) => (
      <>
        {`${kind} ${name}`}
        <span class="sub">
          <code>{id}</code>
        </span>
      </>
    ),
  },
  {
    title: 'Change',
    cell: ({ change }: ResourceChange) => <Status tone={CHANGE_TONES[change]}>{change}</Status>,
  },
  { title: 'Tenant', cell: ({ tenant_id }: ResourceChange) => names.get(tenant_id) ?? tenant_id },
]

/** What a gateway that is behind does not serve yet. */
function DifferenceDialog({ of: each, onClose }: { readonly of: Gateway; readonly onClose: () => void }) {
  const difference = useResource(
    signal => control<GatewayDifference>(`gateways/${each.id}/difference`, { signal, ...ofTenant() }),
    [each.id, each.snapshot_version ?? ''],
  )
  return (
    <Dialog title={`Configuration of ${each.name} compared with the newest version`} onClose={onClose} wide>
      <Loaded of={difference}>
        {({ from, to, since, versions, plans, tenants, resources }) => (
          <>
            <Facts
              rows={[
                ['Served version', short(from)],
                ['Newest version', short(to)],
                ['Versions between', versions === null ? 'not known' : number(versions)],
                ['Last acknowledged', since === null ? 'never' : <Ago at={since} />],
                [
                  'Global plans',
                  plans === null ? 'not known' : plans ? <Status tone="warn">differ</Status> : 'the same',
                ],
                [
                  'Tenants with differences',
                  tenants === null
                    ? 'not known'
                    : tenants.map(({ id, name }) => name ?? `${id} (removed)`).join(', ') || 'none',
                ],
              ]}
            />
            {from !== to &&
              (resources === null ? (
                <p class="muted">
                  The list of differing resources is unavailable: too many resources differ, or the served
                  version is too old.
                </p>
              ) : (
                <Table
                  caption="Resources that differ"
                  columns={differenceColumns(new Map((tenants ?? []).map(({ id, name }) => [id, name])))}
                  rows={resources}
                  keyOf={({ tenant_id, kind, id }) => `${tenant_id} ${kind} ${id}`}
                  empty={<p class="muted">No resource differs.</p>}
                />
              ))}
            {since !== null && from !== to && (
              <a class="button" href={href('audit', { since })}>
                Show the changes since the last acknowledgment from this gateway
              </a>
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

function Deployments() {
  const search = queryOf({ page: pageOf() })
  const list = useResource(
    signal => control<List<Deployment>>(`deployments${search}`, { signal }),
    [search],
    DEPLOYMENTS_EVERY_MS,
  )
  const actions = useActions(list.reload)
  const sync = (deployment: Deployment): Promise<unknown> =>
    control(`deployments/${deployment.id}/sync`, { method: 'POST' })
  const columns = [
    {
      title: 'API',
      cell: (each: Deployment) => (
        <>
          <code>{each.api_id}</code>
          <span class="sub">on {each.gateway_id}</span>
        </>
      ),
    },
    {
      title: 'State',
      cell: (each: Deployment) => (
        <>
          <State of={each.sync_status} />
          {each.error !== null && <span class="sub">{each.error}</span>}
        </>
      ),
    },
    { title: 'Desired', wide: true, cell: (each: Deployment) => short(each.desired_version) },
    { title: 'Served', wide: true, cell: (each: Deployment) => short(each.actual_version) },
    { title: 'Synchronized', cell: (each: Deployment) => <Ago at={each.last_synced_at} /> },
    {
      title: '',
      cell: (each: Deployment) =>
        may('deployments.sync') ? (
          <span class="actions">
            <button type="button" class="button small" onClick={() => actions.act(() => sync(each))}>
              Synchronize
            </button>
          </span>
        ) : null,
    },
  ]
  return (
    <Section title="Deployments">
      <ActionFailure of={actions} />
      <PagedTable
        of={list}
        caption="Deployments"
        columns={columns}
        keyOf={each => each.id}
        empty={<Empty title="No API is deployed" />}
      />
    </Section>
  )
}

function Sessions() {
  const statistics = useResource(
    signal => gateway<SessionStatistics>('admin/sessions/stats', { signal }),
    [],
    EVERY_MS,
  )
  const notice = useSignal<string | undefined>(undefined)
  const clear = async (): Promise<void> => {
    const { cleared } = await gateway<{ cleared: Record<string, number> }>('admin/cache/clear', {
      method: 'POST',
    })
    notice.value = `Cleared: ${Object.entries(cleared)
      .map(([name, entries]) => `${number(entries)} ${name.replaceAll('_', ' ')}`)
      .join(', ')}.`
  }
  return (
    <Section
      title="Sessions and caches of this gateway"
      actions={
        statistics.value.value !== undefined && (
          <ConfirmButton
            label="Clear caches"
            question="The gateway removes its cached tokens, API keys, decisions, results and responses. The next calls are slower until the caches are filled again."
            onConfirm={clear}
          />
        )
      }
    >
      {notice.value !== undefined && (
        <p class="notice" role="status">
          {notice.value}
        </p>
      )}
      <Loaded of={statistics}>
        {({ active_sessions, zombie_sessions, total_created }) => (
          <div class="cards">
            <Figure name="Active sessions" value={number(active_sessions)} />
            <Figure name="Idle sessions without a stream" value={number(zombie_sessions)} />
            <Figure name="Sessions created in total" value={number(total_created)} />
          </div>
        )}
      </Loaded>
    </Section>
  )
}
