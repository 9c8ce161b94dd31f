/** Webhooks of a tenant, and their deliveries with a retry. It signs and delivers no event: the control plane does. */
import { useSignal } from '@preact/signals'
import { control, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { List, NewWebhook, Webhook, WebhookDelivery } from '../../api/types.ts'
import { ActionFailure, useActions } from '../../components/action.tsx'
import { ConfirmButton, Dialog, Form, TextField } from '../../components/dialog.tsx'
import { ChoiceFilter } from '../../components/filters.tsx'
import { Empty } from '../../components/layout.tsx'
import { duration } from '../../components/numbers.ts'
import { PagedTable } from '../../components/paged-table.tsx'
import { pageOf } from '../../components/pager.tsx'
import { Ago, State, Status } from '../../components/text.tsx'
import { href, query } from '../../state/router.ts'
import { isOwn, may, tenant } from '../../state/session.ts'

/** A record, so that the types of the API require every kind. */
const EVENT_KINDS: Readonly<Record<WebhookDelivery['event'], true>> = {
  'subscription.created': true,
  'subscription.approved': true,
  'subscription.rejected': true,
  'subscription.updated': true,
  'subscription.suspended': true,
  'subscription.resumed': true,
  'subscription.migrated': true,
  'subscription.revoked': true,
  'subscription.expiring': true,
  'subscription.expired': true,
  'subscription.key_rotated': true,
  'subscription.key_expiring': true,
  'subscription.quota_warning': true,
  'subscription.quota_exhausted': true,
  'api.definitions_changed': true,
  'webhook.failing': true,
}
const EVENTS = Object.keys(EVENT_KINDS) as readonly WebhookDelivery['event'][]

export function Webhooks() {
  const base = `tenants/${encodeURIComponent(tenant.value ?? '')}/webhooks`
  const search = queryOf({ page: pageOf() })
  const list = useResource(signal => control<List<Webhook>>(base + search, { signal }), [base, search])
  const adding = useSignal(false)
  const notice = useSignal<string | undefined>(undefined)
  const actions = useActions(list.reload)
  if (tenant.value === undefined)
    return (
      <Empty title="Choose a tenant">
        A webhook belongs to one tenant. Select the tenant at the top of the page.
      </Empty>
    )
  const test = async (hook: Webhook): Promise<void> => {
    notice.value = undefined
    const body = { event_type: 'subscription.created' }
    await control(`${base}/${hook.id}/test`, { method: 'POST', body })
    notice.value = `A test event was queued for ${hook.url}.`
  }
  const turn = (hook: Webhook): Promise<unknown> =>
    control(`${base}/${hook.id}`, { method: 'PATCH', body: { enabled: !hook.enabled } })
  const remove = async (hook: Webhook): Promise<void> => {
    await control(`${base}/${hook.id}`, { method: 'DELETE' })
    await list.reload()
  }
  const columns = [
    {
      title: 'Receiver',
      cell: (hook: Webhook) => (
        <>
          <b>{hook.url}</b>
          <span class="sub">{hook.events.join(', ')}</span>
        </>
      ),
    },
    {
      title: 'Status',
      cell: (hook: Webhook) => (
        <Status tone={hook.enabled ? 'good' : 'plain'}>{hook.enabled ? 'enabled' : 'off'}</Status>
      ),
    },
    { title: 'Signed', cell: (hook: Webhook) => (hook.has_secret ? 'yes' : 'no') },
    { title: 'Changed', wide: true, cell: (hook: Webhook) => <Ago at={hook.updated_at} /> },
    {
      title: '',
      cell: (hook: Webhook) => (
        <span class="actions">
          <a class="button small" href={href(`catalogue/webhooks/${hook.id}`)}>
            Deliveries
          </a>
          {may('webhooks.test', isOwn(hook)) && (
            <button type="button" class="button small" onClick={() => actions.act(() => test(hook))}>
              Send test
            </button>
          )}
          {may('webhooks.update', isOwn(hook)) && (
            <button type="button" class="button small" onClick={() => actions.act(() => turn(hook))}>
              {hook.enabled ? 'Turn off' : 'Turn on'}
            </button>
          )}
          {may('webhooks.delete', isOwn(hook)) && (
            <ConfirmButton
              label="Delete"
              question={`Delete the webhook to ${hook.url}? Events that are not delivered yet are dropped.`}
              onConfirm={() => remove(hook)}
            />
          )}
        </span>
      ),
    },
  ]
  return (
    <>
      <div class="section-head">
        <p class="muted">Webhooks of {tenant.value}</p>
        {may('webhooks.create') && (
          <button
            type="button"
            class="button primary"
            onClick={() => {
              adding.value = true
            }}
          >
            Add webhook
          </button>
        )}
      </div>
      {notice.value !== undefined && (
        <p class="notice" role="status">
          {notice.value}
        </p>
      )}
      <ActionFailure of={actions} />
      <PagedTable
        of={list}
        caption="Webhooks"
        columns={columns}
        keyOf={hook => hook.id}
        empty={
          <Empty title="No webhook">Add a webhook to receive events about subscriptions and keys.</Empty>
        }
      />
      {adding.value && (
        <NewWebhookDialog
          base={base}
          onClose={() => {
            adding.value = false
          }}
          onAdded={() => void list.reload()}
        />
      )}
    </>
  )
}

function NewWebhookDialog({
  base,
  onClose,
  onAdded,
}: {
  readonly base: string
  readonly onClose: () => void
  readonly onAdded: () => void
}) {
  const submit = async (fields: FormData): Promise<void> => {
    const secret = String(fields.get('secret') ?? '')
    const body: NewWebhook = {
      url: String(fields.get('url')),
      events: EVENTS.filter(event => fields.get(event) === 'on'),
      enabled: true,
      ...(secret === '' ? {} : { secret }),
    }
    await control(base, { method: 'POST', body })
    onAdded()
    onClose()
  }
  return (
    <Dialog title="Add a webhook" onClose={onClose}>
      <Form submit="Add" onSubmit={submit}>
        <TextField
          label="Receiver"
          name="url"
          type="url"
          hint="URL that accepts POST requests with JSON."
          required
        />
        <TextField
          label="Secret"
          name="secret"
          type="password"
          hint="Optional secret that signs the deliveries, 32 to 256 characters. The secret is not shown again."
        />
        <fieldset>
          <legend class="legend">Events</legend>
          {EVENTS.map(event => (
            <div class="field inline" key={event}>
              <input type="checkbox" id={event} name={event} checked />
              <label for={event}>{event}</label>
            </div>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}

const DELIVERY_STATUSES = [
  ['', 'Any'],
  ['pending', 'Pending'],
  ['success', 'Success'],
  ['failed', 'Failed'],
] as const

export function WebhookDeliveries({ id }: { readonly id: string }) {
  const base = `tenants/${encodeURIComponent(tenant.value ?? '')}/webhooks/${encodeURIComponent(id)}/deliveries`
  const search = queryOf({ page: pageOf(), status: query.value.get('status') })
  const list = useResource(
    signal => control<List<WebhookDelivery>>(base + search, { signal }),
    [base, search],
    5_000,
  )
  const actions = useActions(list.reload)
  const retry = (delivery: WebhookDelivery): Promise<unknown> =>
    control(`${base}/${delivery.id}/retry`, { method: 'POST' })
  const columns = [
    {
      title: 'Event',
      cell: (each: WebhookDelivery) => (
        <>
          <b>{each.event}</b>
          <span class="sub">{each.id}</span>
        </>
      ),
    },
    { title: 'Status', cell: (each: WebhookDelivery) => <State of={each.status} /> },
    {
      title: 'Response',
      cell: (each: WebhookDelivery) => (
        <>
          {each.status_code ?? each.error ?? '–'}
          {each.error !== null && each.status_code !== null && <span class="sub">{each.error}</span>}
        </>
      ),
    },
    { title: 'Attempts', numeric: true, cell: (each: WebhookDelivery) => each.attempt },
    {
      title: 'Duration',
      numeric: true,
      wide: true,
      cell: (each: WebhookDelivery) => duration(each.duration_ms),
    },
    { title: 'Created', cell: (each: WebhookDelivery) => <Ago at={each.created_at} /> },
    {
      title: 'Next attempt',
      wide: true,
      cell: (each: WebhookDelivery) =>
        each.next_attempt_at === null ? '–' : <Ago at={each.next_attempt_at} />,
    },
    {
      title: '',
      cell: (each: WebhookDelivery) =>
        each.status === 'failed' && may('deliveries.retry', true) ? (
          <span class="actions">
            <button type="button" class="button small" onClick={() => actions.act(() => retry(each))}>
              Retry
            </button>
          </span>
        ) : null,
    },
  ]
  return (
    <>
      <div class="section-head">
        <div class="filters">
          <ChoiceFilter name="status" label="Status" options={DELIVERY_STATUSES} />
        </div>
        <a class="button" href={href('catalogue/webhooks')}>
          All webhooks
        </a>
      </div>
      <ActionFailure of={actions} />
      <PagedTable
        of={list}
        caption="Deliveries"
        columns={columns}
        keyOf={each => each.id}
        empty={
          <Empty title="No delivery found">
            To create a delivery, send a test event or change a subscription.
          </Empty>
        }
      />
    </>
  )
}
