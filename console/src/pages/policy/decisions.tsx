/** Search among the recorded decisions. The gateway logs all denials, and a share of the other decisions. */
import type { DecisionRow } from '../../api/admin-types.ts'
import { gateway, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import { ChoiceFilter, TextFilter } from '../../components/filters.tsx'
import { Empty, Loaded, Section } from '../../components/layout.tsx'
import { Table } from '../../components/table.tsx'
import { Ago, Status } from '../../components/text.tsx'
import { href, query, setQuery } from '../../state/router.ts'
import { chosenTenant } from '../../state/session.ts'

const LIMIT = 50

const ALLOWED = [
  ['', 'Any'],
  ['false', 'Denied'],
  ['true', 'Allowed'],
] as const

const COLUMNS = [
  { title: 'When', cell: ({ at }: DecisionRow) => <Ago at={at} /> },
  {
    title: 'Decision',
    cell: ({ allow, unavailable, reasons }: DecisionRow) => (
      <>
        <Status tone={allow ? 'good' : 'bad'}>
          {unavailable ? 'not made' : allow ? 'allowed' : 'denied'}
        </Status>
        <span class="sub">{reasons.map(({ code }) => code).join(', ')}</span>
      </>
    ),
  },
  {
    title: 'What',
    cell: ({ action, resource }: DecisionRow) => (
      <>
        {resource.id}
        <span class="sub">{action}</span>
      </>
    ),
  },
  {
    title: 'Who',
    cell: ({ consumer, tenant }: DecisionRow) => (
      <>
        {consumer}
        <span class="sub">{tenant ?? 'no tenant'}</span>
      </>
    ),
  },
  {
    title: '',
    cell: ({ id }: DecisionRow) => (
      <span class="actions">
        <a class="button small" href={href('policy', { decision: id })}>
          Explain
        </a>
      </span>
    ),
  },
]

export function Decisions() {
  const given = (name: string): string | undefined => query.value.get(name) || undefined
  const search = queryOf({
    tenant: chosenTenant.value,
    consumer: given('consumer'),
    tool: given('tool'),
    code: given('code'),
    allow: given('allow'),
    cursor: given('cursor'),
    limit: LIMIT,
  })
  const list = useResource(
    signal =>
      gateway<{ readonly decisions: readonly DecisionRow[]; readonly next_cursor: string | null }>(
        `admin/policy/decisions${search}`,
        { signal },
      ),
    [search],
  )
  return (
    <Section title="Recorded decisions">
      <div class="filters">
        <TextFilter name="consumer" label="Consumer" />
        <TextFilter name="tool" label="Tool" />
        <TextFilter name="code" label="Reason" placeholder="insufficient_scope" />
        <ChoiceFilter name="allow" label="Decision" options={ALLOWED} />
      </div>
      <Loaded of={list}>
        {({ decisions, next_cursor }) =>
          decisions.length === 0 ? (
            <Empty title="No decision found">
              The gateway logs all denials, and the percentage of the other decisions that is set in
              DECISION_LOG_PERCENT.
            </Empty>
          ) : (
            <>
              <Table caption="Recorded decisions" columns={COLUMNS} rows={decisions} keyOf={({ id }) => id} />
              {next_cursor !== null && (
                <nav class="pages" aria-label="Older decisions">
                  <button
                    type="button"
                    class="button small"
                    onClick={() => setQuery({ cursor: next_cursor })}
                  >
                    Older
                  </button>
                </nav>
              )}
            </>
          )
        }
      </Loaded>
    </Section>
  )
}
