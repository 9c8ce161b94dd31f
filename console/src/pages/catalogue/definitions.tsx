/** The changed definitions that the MCP server of an API announces: what is served, what the server sends, and their acceptance. */
import { control } from '../../api/client.ts'
import type { Api } from '../../api/types.ts'
import { Dialog, Form } from '../../components/dialog.tsx'
import { Table } from '../../components/table.tsx'
import { Ago } from '../../components/text.tsx'
import { may } from '../../state/session.ts'

type Pending = NonNullable<Api['pending_definitions']>

interface DefinitionsProps {
  readonly api: Api
  readonly pending: Pending
  readonly onClose: () => void
  readonly onAccepted: () => void
}

const COLUMNS = [
  {
    title: 'Tool',
    cell: ({ tool, field }: Pending['changes'][number]) => (
      <>
        <b>{tool}</b>
        <span class="sub">{field}</span>
      </>
    ),
  },
  { title: 'Served', cell: ({ before }: Pending['changes'][number]) => <Value of={before} /> },
  { title: 'Sent by the server', cell: ({ after }: Pending['changes'][number]) => <Value of={after} /> },
]

export function DefinitionsDialog({ api, pending, onClose, onAccepted }: DefinitionsProps) {
  const accept = async (): Promise<void> => {
    const body = { spec_hash: pending.spec_hash }
    await control(`tenants/${api.tenant_id}/apis/${api.id}/definitions/accept`, { method: 'POST', body })
    onAccepted()
    onClose()
  }
  return (
    <Dialog title={`Changed tools of ${api.name}`} onClose={onClose} wide>
      <p>
        The MCP server announced these changes <Ago at={pending.at} /> to the gateway {pending.gateway}. Until
        they are accepted, the gateways serve the definitions that were accepted before. Descriptions are
        instructions to models: read them as such.
      </p>
      <Table
        caption="Changes"
        columns={COLUMNS}
        rows={pending.changes}
        keyOf={({ tool, field }) => `${tool} ${field}`}
      />
      {pending.findings.length > 0 && (
        <div class="notice bad">
          <p>Texts that may instruct models:</p>
          <ul>
            {pending.findings.map(finding => (
              <li key={finding}>{finding}</li>
            ))}
          </ul>
        </div>
      )}
      {pending.more > 0 && <p class="notice">{pending.more} further changes are not listed.</p>}
      {may('apis.govern') && (
        <Form submit="Accept these changes" onSubmit={accept}>
          <code>{pending.spec_hash}</code>
        </Form>
      )}
    </Dialog>
  )
}

function Value({ of }: { readonly of: string | null }) {
  return of === null ? <span class="muted">absent</span> : <code>{of}</code>
}
