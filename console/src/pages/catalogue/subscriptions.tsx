/** Subscriptions: request, approve, reject, revoke; also requests for another plan. A key is shown once, in the response that creates it. */
import { useSignal } from '@preact/signals'
import { control, controlAll, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { Api, List, Plan, Subscription } from '../../api/types.ts'
import { ActionFailure, useActions } from '../../components/action.tsx'
import { ConfirmButton, Dialog, Form, SelectField, TextField } from '../../components/dialog.tsx'
import { ChoiceFilter, TextFilter } from '../../components/filters.tsx'
import { Empty, Loaded } from '../../components/layout.tsx'
import { PagedTable } from '../../components/paged-table.tsx'
import { pageOf } from '../../components/pager.tsx'
import { Ago, State } from '../../components/text.tsx'
import { query } from '../../state/router.ts'
import { isOwn, may, tenant, user } from '../../state/session.ts'
import { listPath } from './apis.tsx'
import { KeyNotice, KeysDialog, type ShownKey } from './keys.tsx'

type Status = Subscription['status']

/** A record, so that the types of the API require every status. */
const STATUS_TITLES: Readonly<Record<Status, string>> = {
  pending_approval: 'Pending approval',
  approved: 'Approved',
  suspended: 'Suspended',
  rejected: 'Rejected',
  expired: 'Expired',
  revoked: 'Revoked',
}
const STATUSES = [['', 'Any'] as const, ...Object.entries(STATUS_TITLES)]
const LIVE: ReadonlySet<Status> = new Set(['approved', 'suspended'])

/** The plan that a subscription in use requests in place of its plan; null: none. A pending subscription is itself the request. */
const requestedPlanOf = ({ status, requested_plan }: Subscription): string | null =>
  LIVE.has(status) ? requested_plan : null

const isRequest = (each: Subscription): boolean =>
  each.status === 'pending_approval' || requestedPlanOf(each) !== null

const subjectOf = (each: Subscription): string => {
  const plan = requestedPlanOf(each)
  return plan === null ? each.application : `the plan ${plan} of ${each.application}`
}

const pathOf = ({ tenant_id, id }: Subscription): string => `tenants/${tenant_id}/subscriptions/${id}`

export function Subscriptions() {
  const search = queryOf({
    page: pageOf(),
    status: query.value.get('status'),
    api_id: query.value.get('api'),
    application: query.value.get('consumer'),
  })
  const list = useResource(
    signal => control<List<Subscription>>(listPath('subscriptions') + search, { signal }),
    [listPath('subscriptions'), search],
  )
  const shown = useSignal<ShownKey | undefined>(undefined)
  const requesting = useSignal(false)
  const rejecting = useSignal<Subscription | undefined>(undefined)
  const dismiss = (): void => {
    shown.value = undefined
  }
  const keysOf = useSignal<Subscription | undefined>(undefined)
  const actions = useActions(list.reload)

  const approve = async (subscription: Subscription): Promise<void> => {
    const approved = await control<Subscription>(`${pathOf(subscription)}/approve`, { method: 'POST' })
    if (approved.api_key !== null) shown.value = { application: approved.application, key: approved.api_key }
  }
  const revoke = async (subscription: Subscription): Promise<void> => {
    await control(pathOf(subscription), { method: 'DELETE' })
    await list.reload()
  }
  const reject = async (fields: FormData): Promise<void> => {
    const body = { reason: String(fields.get('reason')) }
    await control(`${pathOf(rejecting.value!)}/reject`, { method: 'POST', body })
    rejecting.value = undefined
    await list.reload()
  }
  /** A pending request is rejected by a user with that right, and withdrawn by another one. */
  const mayEnd = (each: Subscription): boolean =>
    (LIVE.has(each.status) || (each.status === 'pending_approval' && !may('subscriptions.reject'))) &&
    may('subscriptions.revoke', isOwn(each))
  const columns = [
    {
      title: 'Application',
      cell: (each: Subscription) => (
        <>
          <b>{each.application}</b>
          <span class="sub">{each.id}</span>
        </>
      ),
    },
    {
      title: 'API or product',
      cell: (each: Subscription) => each.api_name ?? each.product_name,
    },
    {
      title: 'Plan',
      cell: (each: Subscription) => (
        <>
          {each.plan}
          {requestedPlanOf(each) !== null && <span class="sub">{requestedPlanOf(each)} is requested</span>}
        </>
      ),
    },
    { title: 'Status', cell: (each: Subscription) => <State of={each.status} /> },
    { title: 'Requested', cell: (each: Subscription) => <Ago at={each.created_at} /> },
    {
      title: '',
      cell: (each: Subscription) => (
        <span class="actions">
          {isRequest(each) && may('subscriptions.approve') && (
            <button
              type="button"
              class="button small primary"
              onClick={() => actions.act(() => approve(each))}
            >
              {requestedPlanOf(each) === null ? 'Approve' : 'Approve plan'}
            </button>
          )}
          {isRequest(each) && may('subscriptions.reject') && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                rejecting.value = each
              }}
            >
              {requestedPlanOf(each) === null ? 'Reject' : 'Reject plan'}
            </button>
          )}
          {LIVE.has(each.status) && may('apikeys.list', isOwn(each)) && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                keysOf.value = each
              }}
            >
              Keys
            </button>
          )}
          {mayEnd(each) && (
            <ConfirmButton
              label={LIVE.has(each.status) ? 'Revoke' : 'Withdraw'}
              question={`The subscription of ${each.application} ends and cannot be restored. Its keys stop working at once.`}
              onConfirm={() => revoke(each)}
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
          <TextFilter name="consumer" label="Application" />
          <ChoiceFilter name="status" label="Status" options={STATUSES} />
        </div>
        {may('subscriptions.create', true) && tenant.value !== undefined && (
          <button
            type="button"
            class="button primary"
            onClick={() => {
              requesting.value = true
            }}
          >
            Request subscription
          </button>
        )}
      </div>
      {shown.value !== undefined && <KeyNotice shown={shown.value} onDismiss={dismiss} />}
      <ActionFailure of={actions} />
      <PagedTable
        of={list}
        caption="Subscriptions"
        columns={columns}
        keyOf={each => each.id}
        empty={
          <Empty title="No subscription found">
            An application needs a subscription for each API that requires one.
          </Empty>
        }
      />
      {requesting.value && (
        <RequestDialog
          onClose={() => {
            requesting.value = false
          }}
          onRequested={subscription => {
            if (subscription.api_key !== null && subscription.status === 'approved')
              shown.value = { application: subscription.application, key: subscription.api_key }
            void list.reload()
          }}
        />
      )}
      {rejecting.value !== undefined && (
        <Dialog
          title={`Reject ${subjectOf(rejecting.value)}`}
          onClose={() => {
            rejecting.value = undefined
          }}
        >
          <Form submit="Reject" danger onSubmit={reject}>
            <TextField label="Reason (shown to the subscriber)" name="reason" required />
          </Form>
        </Dialog>
      )}
      {keysOf.value !== undefined && (
        <KeysDialog
          subscription={keysOf.value}
          onClose={() => {
            keysOf.value = undefined
          }}
        />
      )}
    </>
  )
}

function RequestDialog({
  onClose,
  onRequested,
}: {
  readonly onClose: () => void
  readonly onRequested: (subscription: Subscription) => void
}) {
  const base = `tenants/${encodeURIComponent(tenant.value!)}`
  const choices = useResource(async () => {
    const [apis, plans] = await Promise.all([controlAll<Api>(`${base}/apis`), controlAll<Plan>('plans')])
    return { apis: apis.items, plans: plans.items }
  }, [base])
  const submit = async (fields: FormData): Promise<void> => {
    const body = Object.fromEntries(fields.entries())
    onRequested(await control<Subscription>(`${base}/subscriptions`, { method: 'POST', body }))
    onClose()
  }
  return (
    <Dialog title="Request a subscription" onClose={onClose}>
      <Loaded of={choices}>
        {({ apis, plans }) =>
          apis.length === 0 ? (
            <Empty title="The tenant has no API">Register an API first.</Empty>
          ) : (
            <Form submit="Request" onSubmit={submit}>
              <SelectField
                label="API"
                name="api_id"
                options={apis.map(({ id, name, version }) => [id, `${name} ${version}`])}
              />
              <TextField
                label="Application"
                name="application"
                value={user.value!.consumer}
                hint="Client id of the application, as in its access tokens."
                required
              />
              <SelectField
                label="Plan"
                name="plan"
                options={plans.map(({ slug, name, requires_approval }) => [
                  slug,
                  requires_approval ? `${name} (needs approval)` : name,
                ])}
              />
            </Form>
          )
        }
      </Loaded>
    </Dialog>
  )
}
