/** Subscriptions of the user's application, and of others where the policy allows it: state, usage against limits, keys, change of the plan, end. */
import { useSignal } from '@preact/signals'
import { control, queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { List, Subscription, Usage } from '../api/types.ts'
import { Meter } from '../components/chart.tsx'
import { ConfirmButton, Dialog, Form } from '../components/dialog.tsx'
import { Empty, Loaded, Page } from '../components/layout.tsx'
import { number } from '../components/numbers.ts'
import { Pager, pageOf } from '../components/pager.tsx'
import { Ago } from '../components/text.tsx'
import { KeysDialog } from '../pages/catalogue/keys.tsx'
import { href } from '../state/router.ts'
import { may } from '../state/session.ts'
import { isOwnApplication } from './catalog-api.ts'
import { PlanChoice, SubscriptionState } from './subscribe.tsx'

const USAGE_EVERY_MS = 15_000

const pathOf = ({ tenant_id, id }: Subscription): string => `tenants/${tenant_id}/subscriptions/${id}`

export function Subscriptions() {
  const search = queryOf({ page: pageOf(), sort: '-updated_at' })
  const list = useResource(() => control<List<Subscription>>(`subscriptions${search}`), [search])
  return (
    <Page title="Subscriptions" lead="The subscriptions of applications to APIs and products.">
      <Loaded of={list}>
        {found =>
          found.items.length === 0 ? (
            <Empty title="No subscription">
              <a href={href('')}>Choose an API in the catalog</a>
            </Empty>
          ) : (
            <>
              {found.items.map(each => (
                <Card
                  key={each.id}
                  of={each}
                  name={each.api_name ?? each.product_name ?? ''}
                  reload={list.reload}
                />
              ))}
              <Pager of={found} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function Card({
  of,
  name,
  reload,
}: {
  readonly of: Subscription
  readonly name: string
  readonly reload: () => Promise<void>
}) {
  const open = useSignal<'keys' | 'plan' | undefined>(undefined)
  const close = (): void => {
    open.value = undefined
  }
  const own = isOwnApplication(of)
  const isLive = of.status === 'approved' || of.status === 'suspended'
  const changePlan = async (fields: FormData): Promise<void> => {
    await control(pathOf(of), { method: 'PATCH', body: { plan: fields.get('plan') } })
    close()
    await reload()
  }
  const revoke = async (): Promise<void> => {
    await control(pathOf(of), { method: 'DELETE' })
    await reload()
  }
  return (
    <section class="card" aria-label={`Subscription to ${name}`}>
      <div class="section-head">
        <h2>
          <a href={href(of.api_id === null ? `products/${of.product_id}` : `apis/${of.api_id}`)}>{name}</a>
        </h2>
        <span class="muted">
          requested <Ago at={of.created_at} />
          {of.expires_at !== null && (
            <>
              , ends <Ago at={of.expires_at} />
            </>
          )}
        </span>
      </div>
      <SubscriptionState of={of} />
      {isLive && <UsageView of={of} />}
      <div class="actions">
        {isLive && may('apikeys.list', own) && (
          <button
            type="button"
            class="button small"
            onClick={() => {
              open.value = 'keys'
            }}
          >
            Keys
          </button>
        )}
        {isLive && may('subscriptions.update', own) && (
          <button
            type="button"
            class="button small"
            onClick={() => {
              open.value = 'plan'
            }}
          >
            Change plan
          </button>
        )}
        {(isLive || of.status === 'pending_approval') && may('subscriptions.revoke', own) && (
          <ConfirmButton
            label={isLive ? 'Revoke' : 'Withdraw'}
            question="The subscription ends and cannot be restored. Its keys stop working at once."
            onConfirm={revoke}
          />
        )}
      </div>
      {open.value === 'keys' && <KeysDialog subscription={of} onClose={close} />}
      {open.value === 'plan' && (
        <Dialog title="Change plan" onClose={close}>
          <Form submit="Change" onSubmit={changePlan}>
            <PlanChoice current={of.plan} />
          </Form>
        </Dialog>
      )}
    </section>
  )
}

function UsageView({ of }: { readonly of: Subscription }) {
  const usage = useResource(() => control<Usage>(`${pathOf(of)}/usage`), [of.id, of.plan], USAGE_EVERY_MS)
  return (
    <Loaded of={usage}>
      {({ daily, monthly, errors }) => (
        <div class="usage">
          <Window label="Today" {...daily} />
          <Window label="This month" {...monthly} />
          <p class="muted">Failed calls this month: {number(errors)}</p>
        </div>
      )}
    </Loaded>
  )
}

function Window({ label, count, limit, resets_at }: Usage['daily'] & { readonly label: string }) {
  return (
    <div class="window">
      <span>
        {label}: {number(count)} {limit === null ? 'calls, without limit' : `of ${number(limit)} calls`}
        {limit !== null && (
          <span class="muted">
            , resets <Ago at={resets_at} />
          </span>
        )}
      </span>
      {limit !== null && <Meter value={count} limit={limit} label={label} />}
    </div>
  )
}
