/** Views of one gateway or of all: the choice, the tenant of fleet requests, and which gateways replied and what they serve. */
import type { FleetGateway } from '../api/types.ts'
import { query } from '../state/router.ts'
import { chosenTenant, hasControlPlane, may } from '../state/session.ts'
import { ChoiceFilter } from './filters.tsx'
import { Section } from './layout.tsx'
import { number } from './numbers.ts'
import { Table } from './table.tsx'
import { Status } from './text.tsx'

const OPTIONS = [
  ['', 'This one'],
  ['all', 'All gateways'],
] as const

/** Whether the page shows the calls of all gateways. */
export function showsFleet(): boolean {
  return query.value.get('gateways') === 'all' && hasControlPlane.value
}

/** For requests about the fleet: the tenant of the filter. */
export function ofTenant(): { readonly headers?: Readonly<Record<string, string>> } {
  return chosenTenant.value === undefined ? {} : { headers: { 'x-tenant-id': chosenTenant.value } }
}

export function GatewaysFilter() {
  if (!hasControlPlane.value || !may('calls.read')) return null
  return <ChoiceFilter name="gateways" label="Gateways" options={OPTIONS} />
}

const short = (version: string | null): string => version?.slice(0, 12) ?? '–'

function servedBy({ workers }: FleetGateway): ReadonlySet<string> {
  return new Set(
    (workers ?? []).map(each => `${short(each.snapshot)} · policy ${short(each.policy_revision)}`),
  )
}

/** Names what is missing: a sum over some of the gateways is not the sum over all. */
export function FleetGateways({ gateways }: { readonly gateways: readonly FleetGateway[] }) {
  const silent = gateways.filter(({ status }) => status === 'no_reply').map(({ name }) => name)
  const served = new Set(gateways.flatMap(each => [...servedBy(each)]))
  const columns = [
    { title: 'Gateway', cell: (each: FleetGateway) => <b>{each.name}</b> },
    {
      title: 'Reply',
      cell: (each: FleetGateway) =>
        each.status === 'replied' ? <Status tone="good">in time</Status> : <Status tone="bad">none</Status>,
    },
    {
      title: 'Serves',
      cell: (each: FleetGateway) =>
        [...servedBy(each)].map(version => (
          <span class="sub" key={version}>
            {served.size > 1 ? <Status tone="bad">{version}</Status> : version}
          </span>
        )),
    },
    {
      title: 'Recorded calls',
      numeric: true,
      cell: (each: FleetGateway) => (each.calls === null ? '–' : number(each.calls)),
    },
  ]
  return (
    <Section title="Gateways">
      {silent.length > 0 && (
        <p class="notice bad" role="alert">
          No reply from {silent.join(', ')}. This page does not include the calls that these gateways
          recorded.
        </p>
      )}
      {served.size > 1 && (
        <p class="notice bad" role="alert">
          The threads of the gateways serve {served.size} different configurations or policies.
        </p>
      )}
      <Table caption="Queried gateways" columns={columns} rows={gateways} keyOf={each => each.id} />
    </Section>
  )
}
