/** The list of tools that a client with the rights of the user receives: the policy has removed the others. */
import type { ListedTool } from '../../api/admin-types.ts'
import { gateway } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import { Empty, Loaded } from '../../components/layout.tsx'
import { number } from '../../components/numbers.ts'
import { Table } from '../../components/table.tsx'
import { href, query } from '../../state/router.ts'
import { chosenTenant, user } from '../../state/session.ts'

/** About four characters of JSON to a token. */
const CHARS_PER_TOKEN = 4

export function listTools(
  tenant: string | undefined,
  signal?: AbortSignal,
): Promise<{ readonly tools: readonly ListedTool[] }> {
  return gateway('mcp/v1/tools', {
    method: 'POST',
    body: {},
    ...(tenant === undefined ? {} : { headers: { 'x-tenant-id': tenant } }),
    ...(signal === undefined ? {} : { signal }),
  })
}

const COLUMNS = [
  {
    title: 'Tool',
    cell: (tool: ListedTool) => (
      <>
        <b>{tool.name}</b>
        <span class="sub">{tool.description}</span>
      </>
    ),
  },
  {
    title: 'Effect',
    cell: ({ annotations }: ListedTool) =>
      annotations?.readOnlyHint === true
        ? 'reads'
        : annotations?.destructiveHint === true
          ? 'destructive'
          : 'writes',
  },
  {
    title: '',
    cell: (tool: ListedTool) => (
      <span class="actions">
        <a class="button small" href={href('playground', { tool: tool.name })}>
          Try
        </a>
      </span>
    ),
  },
]

export function SeenTools() {
  const list = useResource(signal => listTools(chosenTenant.value, signal), [chosenTenant.value])
  const part = query.value.get('tool')?.toLowerCase() ?? ''
  return (
    <Loaded of={list}>
      {({ tools }) => {
        const found = tools.filter(({ name }) => name.toLowerCase().includes(part))
        return found.length === 0 ? (
          <Empty title="No tool is visible">The policy shows a caller only the tools that it may call.</Empty>
        ) : (
          <>
            <p class="muted">
              Tools that {user.value!.consumer} sees: {number(tools.length)}, about{' '}
              {number(Math.round(JSON.stringify(tools).length / CHARS_PER_TOKEN))} tokens.
            </p>
            <Table caption="Visible tools" columns={COLUMNS} rows={found} keyOf={tool => tool.name} />
          </>
        )
      }}
    </Loaded>
  )
}
