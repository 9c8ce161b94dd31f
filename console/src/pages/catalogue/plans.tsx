/** Plans: the limits that subscriptions and consumers have by slug. */
import { control, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { List, Plan } from '../../api/types.ts'
import { Empty } from '../../components/layout.tsx'
import { number } from '../../components/numbers.ts'
import { PagedTable } from '../../components/paged-table.tsx'
import { pageOf } from '../../components/pager.tsx'
import { chosenTenant } from '../../state/session.ts'

const limit = (value: number) => (value === 0 ? <span class="muted">none</span> : number(value))

const COLUMNS = [
  {
    title: 'Plan',
    cell: (plan: Plan) => (
      <>
        <b>{plan.name}</b>
        <span class="sub">
          {plan.slug}
          {plan.tenant_id === null ? ', global' : ', for one tenant'}
        </span>
      </>
    ),
  },
  { title: 'Per second', numeric: true, cell: (plan: Plan) => limit(plan.rate_limit_per_second) },
  { title: 'Per minute', numeric: true, cell: (plan: Plan) => limit(plan.rate_limit_per_minute) },
  { title: 'Per day', numeric: true, cell: (plan: Plan) => limit(plan.daily_request_limit) },
  { title: 'Per month', numeric: true, cell: (plan: Plan) => limit(plan.monthly_request_limit) },
  { title: 'Burst', numeric: true, wide: true, cell: (plan: Plan) => limit(plan.burst_limit) },
  { title: 'Approval', cell: (plan: Plan) => (plan.requires_approval ? 'required' : 'not required') },
]

export function Plans() {
  const search = queryOf({ page: pageOf() })
  const headers = chosenTenant.value === undefined ? {} : { 'x-tenant-id': chosenTenant.value }
  const list = useResource(
    signal => control<List<Plan>>(`plans${search}`, { signal, headers }),
    [search, chosenTenant.value],
  )
  return (
    <PagedTable
      of={list}
      caption="Plans"
      columns={COLUMNS}
      keyOf={plan => plan.id}
      empty={<Empty title="No plan" />}
    />
  )
}
