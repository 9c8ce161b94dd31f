/** The keys of a subscription: issue, rotate with an overlap, revoke. A key is shown once, in the response that creates it. */
import { useSignal } from '@preact/signals'
import { control, controlAll, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import type { ApiKey, IssuedApiKey, Subscription } from '../../api/types.ts'
import { ConfirmButton, Dialog, Form, TextField } from '../../components/dialog.tsx'
import { Empty, Loaded } from '../../components/layout.tsx'
import { Table } from '../../components/table.tsx'
import { Ago, Copyable, State } from '../../components/text.tsx'
import { isOwn, may } from '../../state/session.ts'

/** How long the previous key stays valid after a rotation. */
const DEFAULT_OVERLAP_HOURS = 24

/** A key that was just created, until it is dismissed. */
export interface ShownKey {
  readonly application: string
  readonly key: string
}

export function KeyNotice({
  shown,
  onDismiss,
}: {
  readonly shown: ShownKey
  readonly onDismiss: () => void
}) {
  return (
    <div class="secret" role="status">
      <b>Key for {shown.application}</b>
      <p>Copy the key now: it is shown only once, and the control plane stores only its digest.</p>
      <Copyable text={shown.key} label="the key" />
      <div>
        <button type="button" class="button small" onClick={onDismiss}>
          I have copied the key
        </button>
      </div>
    </div>
  )
}

export function KeysDialog({
  subscription,
  onClose,
}: {
  readonly subscription: Subscription
  readonly onClose: () => void
}) {
  const { tenant_id, id, application } = subscription
  const base = `tenants/${tenant_id}/apikeys`
  const list = useResource(() => controlAll<ApiKey>(`${base}${queryOf({ subscription_id: id })}`), [id])
  const shown = useSignal<ShownKey | undefined>(undefined)
  const rotating = useSignal<ApiKey | undefined>(undefined)
  const own = isOwn(subscription)
  const issue = async (path: string, body: object): Promise<void> => {
    const { key } = await control<IssuedApiKey>(path, { method: 'POST', body })
    shown.value = { application, key }
    rotating.value = undefined
    await list.reload()
  }
  const revoke = async (key: ApiKey): Promise<void> => {
    await control(`${base}/${key.id}`, { method: 'DELETE' })
    await list.reload()
  }
  const columns = [
    {
      title: 'Key',
      cell: (key: ApiKey) => (
        <>
          <code>{key.prefix}…</code>
          <span class="sub">{key.name}</span>
        </>
      ),
    },
    {
      title: 'Status',
      cell: (key: ApiKey) => (
        <>
          <State of={key.status} />
          {key.previous_key_expires_at !== null && (
            <span class="sub">
              previous key expires <Ago at={key.previous_key_expires_at} />
            </span>
          )}
        </>
      ),
    },
    { title: 'Last used', cell: (key: ApiKey) => <Ago at={key.last_used_at} /> },
    {
      title: '',
      cell: (key: ApiKey) =>
        key.status === 'revoked' || key.status === 'expired' ? null : (
          <span class="actions">
            {may('apikeys.rotate', own) && (
              <button
                type="button"
                class="button small"
                onClick={() => {
                  rotating.value = key
                }}
              >
                Rotate
              </button>
            )}
            {may('apikeys.revoke', own) && (
              <ConfirmButton
                label="Revoke"
                question={`If you revoke the key ${key.prefix}…, calls with this key are refused at once.`}
                onConfirm={() => revoke(key)}
              />
            )}
          </span>
        ),
    },
  ]
  return (
    <Dialog title={`Keys of ${application}`} onClose={onClose}>
      {shown.value !== undefined && (
        <KeyNotice
          shown={shown.value}
          onDismiss={() => {
            shown.value = undefined
          }}
        />
      )}
      <Loaded of={list}>
        {found => (
          <Table
            caption="Keys"
            columns={columns}
            rows={found.items}
            keyOf={key => key.id}
            empty={<Empty title="No key" />}
          />
        )}
      </Loaded>
      {rotating.value !== undefined && (
        <Form
          submit="Create the new key"
          onSubmit={fields =>
            issue(`${base}/${rotating.value!.id}/rotate`, { grace_period_hours: Number(fields.get('hours')) })
          }
        >
          <TextField
            label={`Hours for which the old key ${rotating.value.prefix}… stays valid`}
            name="hours"
            type="number"
            min={0}
            value={String(DEFAULT_OVERLAP_HOURS)}
            required
          />
        </Form>
      )}
      {rotating.value === undefined && may('apikeys.create', own) && (
        <Form
          submit="Issue a key"
          onSubmit={fields => issue(base, { subscription_id: id, name: String(fields.get('name')) })}
        >
          <TextField label="Name of the new key" name="name" required />
        </Form>
      )}
    </Dialog>
  )
}
