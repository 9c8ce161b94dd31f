/** APIs: their list with filters, registration, rules and removal; also the path of a list below a tenant. The control plane checks each request. */
import { useSignal } from '@preact/signals'
import { control, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { Api, List, NewApi } from '../../api/types.ts'
import { ConfirmButton, Dialog, Field, Form, TextField } from '../../components/dialog.tsx'
import { ChoiceFilter, TextFilter } from '../../components/filters.tsx'
import { Empty } from '../../components/layout.tsx'
import { PagedTable } from '../../components/paged-table.tsx'
import { pageOf } from '../../components/pager.tsx'
import { Ago, State } from '../../components/text.tsx'
import { href, query } from '../../state/router.ts'
import { chosenTenant, crossesTenants, may, tenant } from '../../state/session.ts'
import { DefinitionsDialog } from './definitions.tsx'
import { RulesDialog } from './rules.tsx'

const STATUSES = [
  ['', 'Any'],
  ['active', 'Active'],
  ['deprecated', 'Deprecated'],
  ['retired', 'Retired'],
] as const

/** Below the tenant of the filter or of the user; over all tenants for a user who may see them. */
export function listPath(kind: string): string {
  const one = chosenTenant.value ?? (crossesTenants.value ? undefined : tenant.value)
  return one === undefined ? kind : `tenants/${encodeURIComponent(one)}/${kind}`
}

export function Apis() {
  const search = queryOf({ page: pageOf(), status: query.value.get('status'), q: query.value.get('q') })
  const list = useResource(
    signal => control<List<Api>>(listPath('apis') + search, { signal }),
    [listPath('apis'), search],
  )
  const adding = useSignal(false)
  const ruled = useSignal<Api | undefined>(undefined)
  const changed = useSignal<Api | undefined>(undefined)
  const remove = async (api: Api): Promise<void> => {
    await control(`tenants/${api.tenant_id}/apis/${api.id}`, { method: 'DELETE' })
    await list.reload()
  }
  const columns = [
    {
      title: 'API',
      cell: (api: Api) => (
        <>
          <b>{api.name}</b> <span class="muted">{api.version}</span>
          <span class="sub">{api.public_url}</span>
        </>
      ),
    },
    { title: 'Backend', wide: true, cell: (api: Api) => <code>{api.upstream_url}</code> },
    { title: 'Access', cell: (api: Api) => (api.auth_required ? 'by subscription' : 'open') },
    { title: 'Status', cell: (api: Api) => <State of={api.status} /> },
    { title: 'Changed', wide: true, cell: (api: Api) => <Ago at={api.updated_at} /> },
    {
      title: '',
      cell: (api: Api) => (
        <span class="actions">
          <a class="button small" href={href('catalogue/subscriptions', { api: api.id })}>
            Subscriptions
          </a>
          {api.pending_definitions !== undefined && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                changed.value = api
              }}
            >
              Changed tools
            </button>
          )}
          {may('apis.govern') && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                ruled.value = api
              }}
            >
              Rules
            </button>
          )}
          {may('apis.delete') && (
            <ConfirmButton
              label="Delete"
              question={`Delete ${api.name}? Its subscriptions are revoked, and its keys stop working at once.`}
              onConfirm={() => remove(api)}
            />
          )}
        </span>
      ),
    },
  ]
  return (
    <>
      <div class="section-head">
        <div class="filters">
          <TextFilter name="q" label="Name or path" />
          <ChoiceFilter name="status" label="Status" options={STATUSES} />
        </div>
        {may('apis.create') && tenant.value !== undefined && (
          <button
            type="button"
            class="button primary"
            onClick={() => {
              adding.value = true
            }}
          >
            Register API
          </button>
        )}
      </div>
      <PagedTable
        of={list}
        caption="APIs"
        columns={columns}
        keyOf={api => api.id}
        empty={
          <Empty title="No API found">
            Register an API with its OpenAPI document. The operations in the document become tools.
          </Empty>
        }
      />
      {ruled.value !== undefined && (
        <RulesDialog
          api={ruled.value}
          onClose={() => {
            ruled.value = undefined
          }}
          onSaved={() => void list.reload()}
        />
      )}
      {changed.value?.pending_definitions !== undefined && (
        <DefinitionsDialog
          api={changed.value}
          pending={changed.value.pending_definitions}
          onClose={() => {
            changed.value = undefined
          }}
          onAccepted={() => void list.reload()}
        />
      )}
      {adding.value && (
        <NewApiDialog
          onClose={() => {
            adding.value = false
          }}
          onAdded={() => void list.reload()}
        />
      )}
    </>
  )
}

function NewApiDialog({ onClose, onAdded }: { readonly onClose: () => void; readonly onAdded: () => void }) {
  const submit = async (fields: FormData): Promise<void> => {
    const text = (name: string): string => String(fields.get(name) ?? '').trim()
    const body: Partial<NewApi> = {
      name: text('name'),
      version: text('version'),
      path: text('path'),
      upstream_url: text('upstream_url'),
      auth_required: fields.get('auth_required') === 'on',
      ...(text('spec') === '' ? {} : { spec: text('spec') }),
    }
    await control(`tenants/${encodeURIComponent(tenant.value!)}/apis`, { method: 'POST', body })
    onAdded()
    onClose()
  }
  return (
    <Dialog title={`Register an API for ${tenant.value}`} onClose={onClose}>
      <Form submit="Register" onSubmit={submit}>
        <TextField label="Name" name="name" required />
        <TextField label="Version" name="version" value="1.0.0" required />
        <TextField
          label="Path"
          name="path"
          value="/"
          hint="Path below the address of the tenant (/t/{tenant}), such as /orders."
          required
        />
        <TextField
          label="Backend"
          name="upstream_url"
          type="url"
          hint="Absolute http or https URL, or http+unix:// with the percent-encoded path of a Unix socket."
          required
        />
        <Field
          label="OpenAPI document"
          hint="JSON or YAML. Without a document, the gateway proxies the API but has no tools for it."
        >
          {(id, hintId) => <textarea id={id} name="spec" aria-describedby={hintId} spellcheck={false} />}
        </Field>
        <div class="field inline">
          <input type="checkbox" id="auth_required" name="auth_required" checked />
          <label for="auth_required">Callers need an approved subscription</label>
        </div>
      </Form>
    </Dialog>
  )
}
