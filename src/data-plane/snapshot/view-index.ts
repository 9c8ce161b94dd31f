/** Indexes ToolViews by tenant and name, and finds those that are bound to a caller. */
import { oncePer } from '../../base/once-per.ts'
import type { Principal } from '../../model/principal.ts'
import type { ToolView, ViewBinding } from '../../model/tool-view.ts'
import { type ViewRules, viewRules } from '../../model/view-rules.ts'

export interface ViewIndex {
  readonly all: readonly ViewRules[]
  /** The tenant's own view of this name, else that of all tenants. */
  named(name: string, tenant: string | undefined): ViewRules | undefined
  /** The view that the caller gets without naming one is the first: a binding to a consumer comes before one to a role, and that before one to a tenant. */
  boundTo(principal: Principal, tenant: string | undefined): readonly ViewRules[]
}

const NONE: readonly ViewRules[] = Object.freeze([])
export const NO_VIEWS: ViewIndex = Object.freeze({ all: NONE, named: () => undefined, boundTo: () => NONE })

export function viewIndex(views: readonly ToolView[]): ViewIndex {
  if (views.length === 0) return NO_VIEWS
  const all = views.map(viewRules)
  const byName = new Map(all.map(rules => [keyOf(rules.view.tenant, rules.view.name), rules]))
  // a caller mostly acts in one tenant
  const known = oncePer((_: Principal) => new Map<string | undefined, readonly ViewRules[]>())
  return {
    all,
    named: (name, tenant) =>
      (tenant === undefined ? undefined : byName.get(keyOf(tenant, name))) ?? byName.get(keyOf(null, name)),
    boundTo(principal, tenant) {
      const ofCaller = known(principal)
      let bound = ofCaller.get(tenant)
      if (bound === undefined) {
        bound = boundViews(all, principal, tenant)
        ofCaller.set(tenant, bound)
      }
      return bound
    },
  }
}

function keyOf(tenant: string | null, name: string): string {
  return `${tenant ?? ''}\n${name}`
}

function boundViews(
  all: readonly ViewRules[],
  principal: Principal,
  tenant: string | undefined,
): readonly ViewRules[] {
  const bound = all
    .filter(({ view }) => view.tenant === null || view.tenant === tenant)
    .map(rules => ({ rules, weight: weightOf(rules.view, principal, tenant) }))
    .filter(({ weight }) => weight > 0)
  bound.sort((a, b) => b.weight - a.weight || (nameOf(a.rules) < nameOf(b.rules) ? -1 : 1))
  return bound.map(({ rules }) => rules)
}

/** The tenant's own views come first. */
function nameOf({ view }: ViewRules): string {
  return `${view.tenant === null ? 1 : 0} ${view.name}`
}

function weightOf({ bindings }: ToolView, principal: Principal, tenant: string | undefined): number {
  const weights = bindings.filter(binding => applies(binding, principal, tenant)).map(weightOfBinding)
  return Math.max(0, ...weights)
}

function applies(
  { consumer, role, tenant: ofTenant }: ViewBinding,
  principal: Principal,
  tenant: string | undefined,
): boolean {
  return (
    (consumer === undefined || principal.consumer === consumer) &&
    (role === undefined || principal.roles.includes(role)) &&
    (ofTenant === undefined || tenant === ofTenant)
  )
}

function weightOfBinding({ consumer, role, tenant }: ViewBinding): number {
  return (consumer === undefined ? 0 : 4) + (role === undefined ? 0 : 2) + (tenant === undefined ? 0 : 1)
}
