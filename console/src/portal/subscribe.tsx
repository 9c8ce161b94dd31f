/** The subscriptions of applications to an API or product: their state, the choice of a plan, and the request. The policy decides which are listed. */
import { useSignal } from '@preact/signals'
import { control, controlAll, queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { List, Plan, Subscription } from '../api/types.ts'
import { Dialog, Form, TextField } from '../components/dialog.tsx'
import { Loaded } from '../components/layout.tsx'
import { number } from '../components/numbers.ts'
import { State } from '../components/text.tsx'
import { KeyNotice, type ShownKey } from '../pages/catalogue/keys.tsx'
import { href } from '../state/router.ts'
import { may, user } from '../state/session.ts'
import { type CatalogApi, isOffered, isOwnApplication, isOwnTenant } from './catalog-api.ts'
import { signInHref } from './sign-in.ts'

const ENDED = new Set(['rejected', 'revoked', 'expired'])

export function Subscribe({ api }: { readonly api: CatalogApi }) {
  if (!api.auth_required)
    return <p class="card">The API is open: it needs neither a subscription nor a key.</p>
  if (user.value === undefined)
    return <SignInToSubscribe text="An application needs a subscription to call the API." />
  if (!isOffered(api))
    return (
      <p class="card">
        The API belongs to the tenant {api.tenant}. Users of that tenant, and of tenants with which the API is
        shared, can subscribe their applications.
      </p>
    )
  return (
    <ApplicationsOf
      target={{ name: api.name, api_id: api.id, owner: isOwnTenant(api) ? undefined : api.tenant_id }}
    />
  )
}

/** For visitors. */
export function SignInToSubscribe({ text }: { readonly text: string }) {
  return (
    <div class="card">
      <p>{text}</p>
      <div>
        <a class="button primary" href={signInHref()}>
          Sign in to subscribe
        </a>
      </div>
    </div>
  )
}

/** What is subscribed to: an API, with the choice of a plan, or a product, which has its plan. */
export interface Target {
  readonly name: string
  readonly api_id?: string
  readonly product_id?: string
  /** Id of the tenant that shares the API with the user's; undefined: it is the user's own. */
  readonly owner?: string | undefined
}

export function ApplicationsOf({ target }: { readonly target: Target }) {
  const { consumer, tenant } = user.value!
  const { api_id, product_id, owner } = target
  const base = `tenants/${encodeURIComponent(owner ?? tenant!)}/subscriptions`
  // the list of another tenant is closed; that over all tenants has what belongs to the user's
  const listed = owner === undefined ? base : 'subscriptions'
  const list = useResource(
    () =>
      control<List<Subscription>>(listed + queryOf({ api_id, product_id, sort: '-created_at', limit: 20 })),
    [api_id, product_id, consumer],
  )
  const requesting = useSignal(false)
  const shown = useSignal<ShownKey | undefined>(undefined)
  const requested = async ({ status, api_key, application_name }: Subscription): Promise<void> => {
    requesting.value = false
    if (api_key !== null && status === 'approved')
      shown.value = { application: application_name, key: api_key }
    await list.reload()
  }
  return (
    <div class="card">
      {shown.value !== undefined && (
        <KeyNotice
          shown={shown.value}
          onDismiss={() => {
            shown.value = undefined
          }}
        />
      )}
      <Loaded of={list}>
        {({ items }) => {
          const open = items.filter(({ status }) => !ENDED.has(status))
          // the last one says why there is none
          const shownItems = open.length > 0 ? open : items.slice(0, 1)
          return (
            <>
              {items.length === 0 && <p>You have no subscription.</p>}
              {shownItems.map(each => (
                <SubscriptionState key={each.id} of={each} />
              ))}
              <div class="actions">
                {!open.some(isOwnApplication) && may('subscriptions.create', true) && (
                  <button
                    type="button"
                    class="button primary"
                    onClick={() => {
                      requesting.value = true
                    }}
                  >
                    Subscribe
                  </button>
                )}
                {open.length > 0 && (
                  <a class="button" href={href('subscriptions')}>
                    Keys and usage
                  </a>
                )}
              </div>
            </>
          )
        }}
      </Loaded>
      {requesting.value && (
        <RequestDialog
          target={target}
          base={base}
          onClose={() => {
            requesting.value = false
          }}
          onRequested={requested}
        />
      )}
    </div>
  )
}

const EXPLAINED: Readonly<Record<string, string>> = {
  pending_approval: 'The owner has to approve the subscription.',
  approved: 'The subscription is in force.',
  suspended: 'Calls are refused until the owner resumes the subscription.',
  rejected: 'The owner has rejected the request.',
  revoked: 'The subscription has ended.',
  expired: 'The subscription has expired.',
}

export function SubscriptionState({ of }: { readonly of: Subscription }) {
  const { application_name, status, plan, requested_plan, reason } = of
  return (
    <div class="stack">
      <p>
        <b>{application_name}</b>: <State of={status} /> with the plan {plan}. {EXPLAINED[status]}
      </p>
      {reason !== null && <p class="notice">Reason: {reason}</p>}
      {requested_plan !== null && (
        <p class="notice">The plan {requested_plan} is requested and has to be approved.</p>
      )}
    </div>
  )
}

/** Limits of a plan in words; 0 means without limit. */
export function limitsOf(plan: Plan): string {
  const limits = [
    [plan.rate_limit_per_second, 'a second'],
    [plan.rate_limit_per_minute, 'a minute'],
    [plan.daily_request_limit, 'a day'],
    [plan.monthly_request_limit, 'a month'],
  ] as const
  const words = limits.filter(([limit]) => limit > 0).map(([limit, per]) => `${number(limit)} ${per}`)
  return words.length === 0 ? 'without limits' : `calls: ${words.join(', ')}`
}

export function PlanChoice({ current }: { readonly current?: string }) {
  const plans = useResource(() => controlAll<Plan>('plans'), [])
  return (
    <Loaded of={plans}>
      {({ items }) => (
        <fieldset>
          <legend class="legend">Plan</legend>
          {items.map((plan, index) => (
            <label key={plan.id} class="choice">
              <input
                type="radio"
                name="plan"
                value={plan.slug}
                defaultChecked={current === undefined ? index === 0 : plan.slug === current}
                required
              />
              <span>
                <b>{plan.name}</b>
                <span class="sub">
                  {limitsOf(plan)}
                  {plan.requires_approval && '; needs approval'}
                </span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
    </Loaded>
  )
}

function RequestDialog({
  target: { name, api_id, product_id },
  base,
  onClose,
  onRequested,
}: {
  readonly target: Target
  readonly base: string
  readonly onClose: () => void
  readonly onRequested: (subscription: Subscription) => Promise<void>
}) {
  const { consumer } = user.value!
  const submit = async (fields: FormData): Promise<void> => {
    const body = { application: consumer, ...Object.fromEntries(fields.entries()), api_id, product_id }
    await onRequested(await control<Subscription>(base, { method: 'POST', body }))
  }
  return (
    <Dialog title={`Subscribe to ${name}`} onClose={onClose}>
      <Form submit="Request" onSubmit={submit}>
        {may('subscriptions.create') ? (
          <TextField
            label="Application"
            name="application"
            value={consumer}
            hint="Client id of the application, as in its access tokens. The preset value is your application."
            required
          />
        ) : (
          <p>The subscription and its keys are yours. Other subscribers do not see them.</p>
        )}
        {product_id === undefined && <PlanChoice />}
      </Form>
    </Dialog>
  )
}

/** The name of an application, with its identifier where that is another. */
export function ApplicationName({
  of: { application, application_name },
}: {
  readonly of: Pick<Subscription, 'application' | 'application_name'>
}) {
  return (
    <>
      <b>{application_name}</b>
      {application_name !== application && <span class="sub">{application}</span>}
    </>
  )
}
