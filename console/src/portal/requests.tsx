/** Pending subscriptions to APIs and products of the user's tenant, or of all tenants: approve, or reject with a reason. The console has all other states. */
import { useSignal } from '@preact/signals'
import { control, queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { List, Subscription } from '../api/types.ts'
import { ActionFailure, useActions } from '../components/action.tsx'
import { Dialog, Form, TextField } from '../components/dialog.tsx'
import { Empty, Page } from '../components/layout.tsx'
import { PagedTable } from '../components/paged-table.tsx'
import { pageOf } from '../components/pager.tsx'
import { Ago } from '../components/text.tsx'
import { KeyNotice, type ShownKey } from '../pages/catalogue/keys.tsx'
import { crossesTenants, may, user } from '../state/session.ts'
import { ApplicationName } from './subscribe.tsx'

const pathOf = ({ tenant_id, id }: Subscription): string => `tenants/${tenant_id}/subscriptions/${id}`

export function Requests() {
  const search = queryOf({ status: 'pending_approval', page: pageOf() })
  const own = user.value?.tenant
  // a list over all tenants also has the requests of the own tenant to others
  const base = own && !crossesTenants.value ? `tenants/${encodeURIComponent(own)}/` : ''
  const list = useResource(() => control<List<Subscription>>(`${base}subscriptions${search}`), [base, search])
  const shown = useSignal<ShownKey | undefined>(undefined)
  const rejecting = useSignal<Subscription | undefined>(undefined)
  const actions = useActions(list.reload)
  const approve = async (request: Subscription): Promise<void> => {
    const { application_name, api_key } = await control<Subscription>(`${pathOf(request)}/approve`, {
      method: 'POST',
    })
    if (api_key !== null) shown.value = { application: application_name, key: api_key }
  }
  const reject = async (fields: FormData): Promise<void> => {
    const body = { reason: String(fields.get('reason')) }
    await control(`${pathOf(rejecting.value!)}/reject`, { method: 'POST', body })
    rejecting.value = undefined
    await list.reload()
  }
  const columns = [
    { title: 'Application', cell: (each: Subscription) => <ApplicationName of={each} /> },
    {
      title: 'API or product',
      cell: (each: Subscription) => each.api_name ?? each.product_name,
    },
    { title: 'Plan', cell: (each: Subscription) => each.plan },
    { title: 'Requested', cell: (each: Subscription) => <Ago at={each.created_at} /> },
    {
      title: '',
      cell: (each: Subscription) => (
        <span class="actions">
          {may('subscriptions.approve') && (
            <button
              type="button"
              class="button small primary"
              onClick={() => actions.act(() => approve(each))}
            >
              Approve
            </button>
          )}
          {may('subscriptions.reject') && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                rejecting.value = each
              }}
            >
              Reject
            </button>
          )}
        </span>
      ),
    },
  ]
  return (
    <Page
      title="Requests"
      lead="Subscriptions that are pending approval."
      actions={
        <a class="button" href="../console/catalogue/subscriptions" data-reload>
          All subscriptions in the console
        </a>
      }
    >
      {shown.value !== undefined && (
        <KeyNotice
          shown={shown.value}
          onDismiss={() => {
            shown.value = undefined
          }}
        />
      )}
      <ActionFailure of={actions} />
      <PagedTable
        of={list}
        caption="Requests"
        columns={columns}
        keyOf={each => each.id}
        empty={<Empty title="No request is pending" />}
      />
      {rejecting.value !== undefined && (
        <Dialog
          title={`Reject the request from ${rejecting.value.application_name}`}
          onClose={() => {
            rejecting.value = undefined
          }}
        >
          <Form submit="Reject" danger onSubmit={reject}>
            <TextField label="Reason (shown to the subscriber)" name="reason" required />
          </Form>
        </Dialog>
      )}
    </Page>
  )
}
