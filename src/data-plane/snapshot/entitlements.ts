/** Indexes the limits and plans of callers, the faults of their subscriptions, and the blocked consumers. */

import { visitSteps } from '../../base/async/slices.ts'
import { oncePer } from '../../base/once-per.ts'
import { apisOfSubscription } from '../../link/control-share.ts'
import type { SnapshotDocument } from '../../link/document.ts'
import type { SubscriptionShare, TenantShare } from '../../link/share-schema.ts'
import { DEFAULT_LIMITS, type Plan, type PlanRule } from '../../model/plan.ts'
import { isOfUser, type Principal } from '../../model/principal.ts'
import { limitsOf, type SubscriptionFault } from '../../model/subscription.ts'
import type { Entitlement, PlanChoice, Snapshot } from './snapshot.ts'

type Entitlements = Pick<
  Snapshot,
  'countedEntitlement' | 'entitlementOf' | 'isBlocked' | 'plansOf' | 'subscriptionFault'
>

interface Subscribed {
  readonly entitlement: Entitlement & { readonly endsAtMs: number }
  readonly apiIds: readonly string[]
}

interface TenantEntitlements {
  readonly byId: ReadonlyMap<string, Subscribed>
  /** Key: API id and application. */
  readonly byApplication: ReadonlyMap<string, Subscribed>
  /** Key: counter and application. */
  readonly byCounter: ReadonlyMap<string, Subscribed>
  /** For subscriptions that are not served, by id, and by API id and application. */
  readonly faults: ReadonlyMap<string, SubscriptionFault>
  readonly consumers: ReadonlyMap<string, Entitlement>
  readonly blocked: ReadonlySet<string>
}

const applicationKey = (apiId: string, application: string): string => `${apiId}\n${application}`

/** An application of another tenant may have the name of one of this tenant. */
function counterOf({ apiId, productId, subscriber }: SubscriptionShare): string {
  const target = productId ?? apiId
  return subscriber === undefined ? target : `${target}@${subscriber}`
}

/** Caches what follows from each tenant while the plans stay the same. */
export class EntitlementIndexer {
  #filePlans: readonly Plan[] | undefined
  #controlPlans: readonly Plan[] | undefined
  #plans: ReadonlyMap<string, Plan> = new Map()
  #ofTenant = new WeakMap<TenantShare, TenantEntitlements>();

  /**
   * It may be interrupted often; the next document is begun after it has ended.
   * @throws Error when a consumer or a plan rule has a plan that does not exist.
   */
  *indexSteps({ plans, consumers, planRules, control }: SnapshotDocument): Generator<void, Entitlements> {
    if (plans !== this.#filePlans || control.plans !== this.#controlPlans) {
      this.#filePlans = plans
      this.#controlPlans = control.plans
      // the control plane's plans win over those of the settings file
      this.#plans = new Map([...plans, ...control.plans].map(plan => [plan.slug, plan]))
      this.#ofTenant = new WeakMap()
    }
    const tenants = new Map<string, TenantEntitlements>()
    for (const tenant of control.tenants.values()) {
      const known = this.#ofTenant.get(tenant)
      const made = known ?? (yield* ofTenant(tenant, this.#plans))
      if (known === undefined) this.#ofTenant.set(tenant, made)
      tenants.set(tenant.name, made)
    }
    return entitlements(tenants, this.#plans, consumers, planRules ?? [])
  }
}

function entitlements(
  tenants: ReadonlyMap<string, TenantEntitlements>,
  plans: ReadonlyMap<string, Plan>,
  consumers: SnapshotDocument['consumers'],
  planRules: readonly PlanRule[],
): Entitlements {
  const own = new Map<string, Entitlement>()
  for (const [consumer, slug] of Object.entries(consumers)) {
    const plan = plans.get(slug)
    if (plan === undefined) throw new Error(`consumer "${consumer}" has plan "${slug}", which does not exist`)
    own.set(consumer, entitlementOfPlan(plan))
  }
  const ruled = planRules.map(rule => ({ rule, entitlement: entitlementOfRule(rule, plans) }))
  const withoutPlan: Entitlement = Object.freeze({
    plan: undefined,
    limits: DEFAULT_LIMITS,
    subscriptionId: undefined,
  })
  // a client without a plan may have registered itself, and each user may have many such clients
  const ofUser: Entitlement = Object.freeze({ ...withoutPlan, per: 'user' })

  const byRule = oncePer(
    (caller: Principal) =>
      ruled.find(({ rule }) => applies(rule, caller))?.entitlement ??
      (isOfUser(caller) ? ofUser : withoutPlan),
  )

  return {
    isBlocked: (tenant, consumer) =>
      tenant !== undefined && tenants.get(tenant)?.blocked.has(consumer) === true,
    subscriptionFault(principal, apiId, nowMs) {
      const tenant = principal.tenant === undefined ? undefined : tenants.get(principal.tenant)
      if (tenant === undefined) return undefined
      const { subscriptionId } = principal
      const application = applicationKey(apiId, principal.consumer)
      const found =
        subscriptionId === undefined ? tenant.byApplication.get(application) : tenant.byId.get(subscriptionId)
      if (found !== undefined) return found.entitlement.endsAtMs > nowMs ? undefined : 'expired'
      return tenant.faults.get(subscriptionId ?? application)
    },
    plansOf(tenant, consumer, nowMs) {
      const known = tenants.get(tenant)
      const choices: PlanChoice[] = []
      for (const [key, { entitlement }] of known?.byApplication ?? []) {
        const apiId = key.slice(0, key.indexOf('\n'))
        if (key === applicationKey(apiId, consumer) && entitlement.endsAtMs > nowMs)
          choices.push({ source: 'subscription', api_id: apiId, plan: slugOf(entitlement) })
      }
      const assigned = known?.consumers.get(consumer)
      if (assigned !== undefined) choices.push({ source: 'control_plane', plan: slugOf(assigned) })
      const named = own.get(consumer)
      if (named !== undefined) choices.push({ source: 'plans_file', plan: slugOf(named) })
      return [...choices, { source: 'default', plan: null }]
    },
    countedEntitlement(tenant, consumer, counter) {
      const known = tenants.get(tenant)
      if (counter !== undefined) return known?.byCounter.get(applicationKey(counter, consumer))?.entitlement
      return (
        known?.consumers.get(consumer) ?? own.get(consumer) ?? (ruled.length === 0 ? withoutPlan : undefined)
      )
    },
    entitlementOf(principal: Principal, apiId: string | undefined, nowMs: number): Entitlement {
      const tenant = principal.tenant === undefined ? undefined : tenants.get(principal.tenant)
      if (tenant !== undefined && apiId !== undefined) {
        const named =
          principal.subscriptionId === undefined ? undefined : tenant.byId.get(principal.subscriptionId)
        const subscribed =
          named?.apiIds.includes(apiId) === true
            ? named
            : tenant.byApplication.get(applicationKey(apiId, principal.consumer))
        if (subscribed !== undefined && subscribed.entitlement.endsAtMs > nowMs) return subscribed.entitlement
      }
      // the application of a key is a name that its subscriber chose; the consumer of a token comes from the identity provider
      const assigned = tenant?.consumers.get(principal.consumer)
      if (assigned !== undefined || principal.kind !== 'token') return assigned ?? withoutPlan
      return own.get(principal.consumer) ?? byRule(principal)
    },
  }
}

function applies({ tenant, role, user }: PlanRule, caller: Principal): boolean {
  return (
    (tenant === undefined || caller.tenant === tenant) &&
    (role === undefined || caller.roles.includes(role)) &&
    (user === undefined || caller.subject === user)
  )
}

function entitlementOfRule({ plan: slug, per }: PlanRule, plans: ReadonlyMap<string, Plan>): Entitlement {
  const plan = plans.get(slug)
  if (plan === undefined) throw new Error(`a plan rule refers to plan "${slug}", which does not exist`)
  return Object.freeze({ plan, limits: plan, subscriptionId: undefined, per })
}

function* ofTenant(
  tenant: TenantShare,
  plans: ReadonlyMap<string, Plan>,
): Generator<void, TenantEntitlements> {
  const own = new Map([...plans, ...tenant.plans.map(plan => [plan.slug, plan] as const)])
  const byId = new Map<string, Subscribed>()
  const byApplication = new Map<string, Subscribed>()
  const byCounter = new Map<string, Subscribed>()
  const direct: SubscriptionShare[] = []
  const add = ({ application }: SubscriptionShare, entry: Subscribed) => {
    for (const apiId of entry.apiIds) byApplication.set(applicationKey(apiId, application), entry)
  }
  yield* visitSteps(tenant.subscriptions, subscription => {
    const entry = subscribedTo(subscription, own)
    byId.set(subscription.id, entry)
    byCounter.set(applicationKey(entry.entitlement.counter!, subscription.application), entry)
    // applications of other tenants call with keys: a token of this tenant with the same name is not one of them
    if (subscription.subscriber !== undefined) return
    if (subscription.apiIds === undefined) direct.push(subscription)
    else add(subscription, entry)
  })
  // a subscription to an API itself comes before one to a product with that API
  yield* visitSteps(direct, subscription => add(subscription, byId.get(subscription.id)!))
  const faults = new Map<string, SubscriptionFault>()
  yield* visitSteps(tenant.inactive ?? [], ({ id, application, subscriber, state, ...of }) => {
    faults.set(id, state)
    if (subscriber !== undefined) return
    for (const apiId of apisOfSubscription(of)) faults.set(applicationKey(apiId, application), state)
  })
  const consumers = new Map<string, Entitlement>()
  const blocked = new Set<string>()
  yield* visitSteps(tenant.consumers, ({ subject, plan, blocked: isBlocked }) => {
    const found = plan === null ? undefined : own.get(plan)
    if (found !== undefined) consumers.set(subject, entitlementOfPlan(found))
    if (isBlocked) blocked.add(subject)
  })
  return { byId, byApplication, byCounter, faults, consumers, blocked }
}

function subscribedTo(subscription: SubscriptionShare, plans: ReadonlyMap<string, Plan>): Subscribed {
  const plan = plans.get(subscription.plan)
  const limits = limitsOf(subscription, plan ?? DEFAULT_LIMITS)
  return {
    apiIds: apisOfSubscription(subscription),
    entitlement: Object.freeze({
      plan,
      limits,
      subscriptionId: subscription.id,
      counter: counterOf(subscription),
      endsAtMs: subscription.expiresAtMs ?? Number.POSITIVE_INFINITY,
    }),
  }
}

function slugOf({ plan }: Entitlement): string | null {
  return plan?.slug ?? null
}

function entitlementOfPlan(plan: Plan): Entitlement {
  return Object.freeze({ plan, limits: plan, subscriptionId: undefined })
}
