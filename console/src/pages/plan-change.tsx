/** The subscriptions of a consumer with their plans, and the change of a plan; the keys stay. The control plane decides whether it needs approval. */
import { useSignal } from '@preact/signals'
import { control, controlAll, queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { Plan, Subscription } from '../api/types.ts'
import { Form, SelectField } from '../components/dialog.tsx'
import { ofTenant } from '../components/fleet.tsx'
import { Empty, Loaded, Section } from '../components/layout.tsx'
import { isOwn, may } from '../state/session.ts'

const OPEN: ReadonlySet<Subscription['status']> = new Set(['pending_approval', 'approved', 'suspended'])

export function SubscriptionPlans({
  consumer,
  onChanged,
}: {
  readonly consumer: string
  readonly onChanged: () => void
}) {
  const notice = useSignal<string | undefined>(undefined)
  const found = useResource(async () => {
    const search = queryOf({ application: consumer })
    const [subscriptions, plans] = await Promise.all([
      controlAll<Subscription>(`subscriptions${search}`, ofTenant()),
      controlAll<Plan>('plans', ofTenant()),
    ])
    return { subscriptions: subscriptions.items, plans: plans.items }
  }, [consumer])
  const change = async ({ tenant_id, id, plan: before }: Subscription, plan: string): Promise<void> => {
    const path = `tenants/${tenant_id}/subscriptions/${id}`
    const changed = await control<Subscription>(path, { method: 'PATCH', body: { plan } })
    notice.value =
      changed.plan === plan
        ? `The plan changed from ${before} to ${plan}. Gateways apply the change within a second.`
        : `The plan ${plan} is requested and needs approval. Until approval, the plan ${before} applies.`
    await found.reload()
    onChanged()
  }
  return (
    <Section title="Subscriptions">
      {notice.value !== undefined && (
        <p class="notice" role="status">
          {notice.value}
        </p>
      )}
      <Loaded of={found}>
        {({ subscriptions, plans }) => {
          const open = subscriptions.filter(({ status }) => OPEN.has(status))
          if (open.length === 0)
            return (
              <Empty title="No subscription">
                The consumer has no active or requested subscription. Open APIs need no subscription.
              </Empty>
            )
          return open.map(each => (
            <div class="card" key={`${each.id} ${each.plan}`}>
              <p>
                <b>{each.plan}</b> for <code>{each.api_id}</code>
                {each.requested_plan !== null && (
                  <span class="sub">{each.requested_plan} is requested and needs approval</span>
                )}
              </p>
              {may('subscriptions.update', isOwn(each)) && (
                <Form submit="Change plan" onSubmit={fields => change(each, String(fields.get('plan')))}>
                  <SelectField
                    label={`New plan for the subscription ${each.id}`}
                    name="plan"
                    options={plans
                      .filter(({ slug }) => slug !== each.plan)
                      .map(({ slug, name, requires_approval }) => [
                        slug,
                        requires_approval ? `${name} (needs approval)` : name,
                      ])}
                  />
                </Form>
              )}
            </div>
          ))
        }}
      </Loaded>
    </Section>
  )
}
