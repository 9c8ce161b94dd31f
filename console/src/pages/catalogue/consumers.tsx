/** Consumers: the applications that called or subscribed. */
import { control, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { Consumer, List } from '../../api/types.ts'
import { ChoiceFilter, TextFilter } from '../../components/filters.tsx'
import { Empty } from '../../components/layout.tsx'
import { PagedTable } from '../../components/paged-table.tsx'
import { pageOf } from '../../components/pager.tsx'
import { Ago, State } from '../../components/text.tsx'
import { href, query } from '../../state/router.ts'
import { chosenTenant } from '../../state/session.ts'

const STATUSES = [
  ['', 'Any'],
  ['active', 'Active'],
  ['blocked', 'Blocked'],
] as const

const COLUMNS = [
  {
    title: 'Consumer',
    cell: (each: Consumer) => (
      <>
        <b>{each.name}</b>
        <span class="sub">{each.subject}</span>
      </>
    ),
  },
  { title: 'Status', cell: (each: Consumer) => <State of={each.status} /> },
  { title: 'Plan', cell: (each: Consumer) => each.plan ?? <span class="muted">none</span> },
  { title: 'Last call', cell: (each: Consumer) => <Ago at={each.last_seen_at} /> },
  { title: 'Since', wide: true, cell: (each: Consumer) => <Ago at={each.created_at} /> },
  {
    title: '',
    cell: (each: Consumer) => (
      <span class="actions">
        <a class="button small" href={href('catalogue/subscriptions', { consumer: each.subject })}>
          Subscriptions
        </a>
        <a class="button small" href={href('limits', { consumer: each.subject })}>
          Limits
        </a>
      </span>
    ),
  },
]

export function Consumers() {
  const search = queryOf({
    page: pageOf(),
    status: query.value.get('status'),
    q: query.value.get('consumer'),
  })
  const headers = chosenTenant.value === undefined ? {} : { 'x-tenant-id': chosenTenant.value }
  const list = useResource(
    signal => control<List<Consumer>>(`consumers${search}`, { signal, headers }),
    [search, chosenTenant.value],
  )
  return (
    <>
      <div class="filters">
        <TextFilter name="consumer" label="Name" />
        <ChoiceFilter name="status" label="Status" options={STATUSES} />
      </div>
      <PagedTable
        of={list}
        caption="Consumers"
        columns={COLUMNS}
        keyOf={each => each.id}
        empty={
          <Empty title="No consumer found">
            A consumer appears here after its first subscription or call.
          </Empty>
        }
      />
    </>
  )
}
