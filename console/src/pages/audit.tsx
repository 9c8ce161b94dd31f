/** Audit: who changed what, with the values before and after. The control plane records and chains the entries; this page changes none. */
import { useSignal } from '@preact/signals'
import { control, queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { AuditEntry } from '../api/types.ts'
import { Dialog } from '../components/dialog.tsx'
import { ChoiceFilter, TextFilter } from '../components/filters.tsx'
import { Empty, Loaded, Page } from '../components/layout.tsx'
import { Table } from '../components/table.tsx'
import { Ago, Copyable, Facts } from '../components/text.tsx'
import { query, setQuery } from '../state/router.ts'
import { chosenTenant } from '../state/session.ts'

/** A page of the list. */
interface AuditList {
  readonly items: readonly AuditEntry[]
  readonly next_cursor: string | null
}

const LIMIT = 50

/** For changed resources (AUDITED in src/control-plane/store/audited.ts), and of actions that change none of them, such as a cleared cache. */
const TYPES = [
  ['', 'Any'],
  ['api', 'API'],
  ['api_key', 'API key'],
  ['audit record', 'Audit record'],
  ['cache', 'Cache'],
  ['configuration', 'Configuration'],
  ['consumer', 'Consumer'],
  ['deployment', 'Deployment'],
  ['gateway', 'Gateway'],
  ['plan', 'Plan'],
  ['policy', 'Policy'],
  ['product', 'Product'],
  ['quota', 'Quota'],
  ['subscription', 'Subscription'],
  ['tenant', 'Tenant'],
  ['webhook', 'Webhook'],
] as const

const verb = (action: string): string => action.replace(/^control\./, '')

export function Audit() {
  const shown = useSignal<AuditEntry | undefined>(undefined)
  const filters = {
    tenant_id: chosenTenant.value,
    actor: query.value.get('actor'),
    action: query.value.get('action'),
    resource_type: query.value.get('type'),
    resource_id: query.value.get('resource'),
    since: query.value.get('since'),
  }
  const search = queryOf({ ...filters, limit: LIMIT, cursor: query.value.get('cursor') })
  const list = useResource(signal => control<AuditList>(`audit${search}`, { signal }), [search])
  const columns = [
    { title: 'When', cell: (entry: AuditEntry) => <Ago at={entry.at} /> },
    {
      title: 'Who',
      cell: ({ actor }: AuditEntry) => (
        <>
          <b>{actor.consumer || actor.subject || actor.kind}</b>
          <span class="sub">{actor.tenant ?? actor.kind}</span>
        </>
      ),
    },
    {
      title: 'Action',
      cell: (entry: AuditEntry) => (
        <button
          type="button"
          class="link"
          onClick={() => {
            shown.value = entry
          }}
        >
          {verb(entry.action)}
        </button>
      ),
    },
    {
      title: 'Resource',
      cell: ({ resource }: AuditEntry) => (
        <>
          {resource.type.replaceAll('_', ' ')}
          <span class="sub">{resource.id}</span>
        </>
      ),
    },
    {
      title: 'Changed',
      wide: true,
      cell: (entry: AuditEntry) => {
        const names = changesOf(entry).map(({ name }) => name)
        return <span class="muted">{names.slice(0, 4).join(', ') + (names.length > 4 ? ' …' : '')}</span>
      },
    },
  ]
  return (
    <Page
      title="Audit"
      lead={
        <>
          Every change, with its author. The entries form a hash chain: the command{' '}
          <code>toolgate audit verify</code> detects altered entries.
        </>
      }
      actions={
        <a
          class="button"
          href={new URL(`api/control/v1/audit/export${queryOf(filters)}`, document.baseURI).href}
          download="audit.ndjson"
          data-reload
        >
          Export
        </a>
      }
    >
      <div class="filters">
        <TextFilter name="actor" label="Actor" />
        <TextFilter name="action" label="Action" placeholder="control.apis.update" />
        <ChoiceFilter name="type" label="Resource" options={TYPES} />
        <TextFilter name="resource" label="Resource id" />
      </div>
      <Loaded of={list}>
        {({ items, next_cursor }) =>
          items.length === 0 ? (
            <Empty title="No change found" />
          ) : (
            <>
              <Table caption="Changes" columns={columns} rows={items} keyOf={({ id }) => id} />
              <nav class="pages" aria-label="Pages of the list">
                <button
                  type="button"
                  class="button small"
                  disabled={query.value.get('cursor') === null}
                  onClick={() => setQuery({ cursor: '' })}
                >
                  Newest
                </button>
                <button
                  type="button"
                  class="button small"
                  disabled={next_cursor === null}
                  onClick={() => setQuery({ cursor: next_cursor ?? '' })}
                >
                  Older
                </button>
              </nav>
            </>
          )
        }
      </Loaded>
      {shown.value !== undefined && (
        <EntryDialog
          entry={shown.value}
          onClose={() => {
            shown.value = undefined
          }}
        />
      )}
    </Page>
  )
}

interface Change {
  readonly name: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The fields that differ, in the order of their names. */
function changesOf({ before, after }: AuditEntry): readonly Change[] {
  const [old, next] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(next)])]
    .sort()
    .map(name => ({ name, before: text(old[name]), after: text(next[name]) }))
    .filter(({ before, after }) => before !== after)
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function text(value: unknown): string | undefined {
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value)
}

const CHANGE_COLUMNS = [
  { title: 'Field', cell: ({ name }: Change) => <code>{name}</code> },
  { title: 'Before', cell: ({ before }: Change) => <span class="value">{before ?? '–'}</span> },
  { title: 'After', cell: ({ after }: Change) => <span class="value">{after ?? '–'}</span> },
]

function EntryDialog({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }) {
  const changes = changesOf(entry)
  const { actor, resource } = entry
  return (
    <Dialog title={verb(entry.action)} onClose={onClose} wide>
      <Facts
        rows={[
          ['When', new Date(entry.at).toLocaleString()],
          [
            'Who',
            [actor.consumer || actor.subject || actor.kind, actor.tenant]
              .filter(part => part !== null)
              .join(' of '),
          ],
          ['Resource', `${resource.type.replaceAll('_', ' ')} ${resource.id}`],
          ['Gateway', entry.gateway ?? '–'],
          ['Sequence number', String(entry.seq)],
        ]}
      />
      <Table
        caption="Changed fields"
        columns={CHANGE_COLUMNS}
        rows={changes}
        keyOf={({ name }) => name}
        empty={<Empty title="No field changed" />}
      />
      <Facts
        rows={[
          ['Request id', <Copyable text={entry.request_id} label="the request id" />],
          ['Hash', <code>{entry.hash}</code>],
        ]}
      />
    </Dialog>
  )
}
