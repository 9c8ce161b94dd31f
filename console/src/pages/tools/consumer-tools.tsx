/** The tools that a consumer's model sees, and why not the others, as the gateway simulates them. Without a consumer it shows the user's list. */
import type { Simulation } from '../../api/admin-types.ts'
import { gateway } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import { TextFilter } from '../../components/filters.tsx'
import { Empty, Loaded, Section } from '../../components/layout.tsx'
import { number } from '../../components/numbers.ts'
import { Table } from '../../components/table.tsx'
import { href, query } from '../../state/router.ts'
import { tenant } from '../../state/session.ts'
import { SeenTools } from './seen-tools.tsx'

type Seen = NonNullable<Simulation['tools']>[number]
type Hidden = NonNullable<Simulation['hidden']>[number]

const SEEN = [
  { title: 'Tool', cell: ({ name }: Seen) => <a href={href(`tools/${encodeURIComponent(name)}`)}>{name}</a> },
  { title: 'Tokens', numeric: true, cell: ({ tokens }: Seen) => number(tokens) },
]
const HIDDEN = [
  {
    title: 'Tool',
    cell: ({ name }: Hidden) => <a href={href(`tools/${encodeURIComponent(name)}`)}>{name}</a>,
  },
  { title: 'Reason', cell: ({ reasons }: Hidden) => reasons.map(({ message }) => message).join(' ') },
]

export function ConsumerTools() {
  const consumer = query.value.get('consumer') ?? ''
  return (
    <>
      <div class="filters">
        <TextFilter name="consumer" label="Consumer" placeholder="you" />
      </div>
      {consumer === '' ? <SeenTools /> : <SimulatedList consumer={consumer} />}
    </>
  )
}

function SimulatedList({ consumer }: { readonly consumer: string }) {
  const list = useResource(
    signal =>
      gateway<Simulation>('admin/simulate', {
        method: 'POST',
        signal,
        body: {
          action: 'tools.list',
          consumer,
          ...(tenant.value === undefined ? {} : { tenant: tenant.value }),
        },
      }),
    [consumer, tenant.value],
  )
  return (
    <Loaded of={list}>
      {({ caller, tools = [], hidden = [], tokens = 0 }) => (
        <>
          <p class="muted">
            Tools that {caller.consumer} sees: {number(tools.length)}, about {number(tokens)} tokens. Scopes
            in the last call from this consumer: {caller.scopes.join(', ') || 'none'}.
          </p>
          <div class="columns">
            <Section title="Visible">
              <Table
                caption="Visible tools"
                columns={SEEN}
                rows={tools}
                keyOf={({ name }) => name}
                empty={<Empty title="The consumer sees no tool" />}
              />
            </Section>
            <Section title="Hidden">
              <Table
                caption="Hidden tools"
                columns={HIDDEN}
                rows={hidden}
                keyOf={({ name }) => name}
                empty={<Empty title="No tool is hidden" />}
              />
            </Section>
          </div>
        </>
      )}
    </Loaded>
  )
}
