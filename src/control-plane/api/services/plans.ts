/** Plans: global ones and those of a tenant. Knows no HTTP but the refusals it raises, and enforces no limit. */
import { isId, newId } from '../../../model/id.ts'
import type { PlanRecord } from '../../../model/plan.ts'
import { StoreConflict, type Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { conflict, notFound, Problem } from '../http/problem.ts'

export type PlanFields = Pick<
  PlanRecord,
  'name' | 'perSecond' | 'perMinute' | 'perDay' | 'perMonth' | 'burst' | 'requiresApproval'
>

/** @throws StoreConflict when the slug is taken; for a tenant's plan also by a global one, which it would hide */
export async function createPlan(
  tx: Transaction,
  tenantId: string | null,
  slug: string,
  fields: PlanFields,
): Promise<PlanRecord> {
  if (tenantId !== null && (await tx.plans.bySlug(slug)) !== undefined)
    throw new StoreConflict('plans_slug_key')
  const plan: PlanRecord = {
    ...fields,
    id: newId('plan', tx.now.getTime()),
    tenantId,
    slug,
    revision: 1,
    createdAt: tx.now,
    updatedAt: tx.now,
  }
  await tx.plans.insert(plan)
  announce(tx, 'plan.created', plan)
  return plan
}

/** By id or by slug: a slug has no `_`, an id always has. */
export async function lookUpPlan(tx: Transaction, reference: string): Promise<PlanRecord | undefined> {
  return isId('plan', reference) ? tx.plans.find(reference) : tx.plans.bySlug(reference)
}

/** @throws Problem not_found, forbidden, precondition_failed */
export async function patchPlan(
  tx: Transaction,
  reference: string,
  patch: { readonly [K in keyof PlanFields]?: PlanFields[K] | undefined },
  ifMatch: string,
): Promise<PlanRecord> {
  const plan = await locked(tx, reference)
  checkIfMatch(ifMatch, plan.revision)
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))
  const updated = await tx.plans.update({ ...plan, ...(given as Partial<PlanFields>) })
  announce(tx, 'plan.updated', updated)
  return updated
}

/** @throws Problem not_found, forbidden, conflict while a subscription or a consumer uses it */
export async function deletePlan(tx: Transaction, reference: string): Promise<void> {
  const plan = await locked(tx, reference)
  if (await tx.plans.inUse(plan)) throw conflict('The plan is in use by a subscription or a consumer.')
  await tx.plans.remove(plan.id)
  announce(tx, 'plan.deleted', plan)
}

/** @throws Problem not_found, forbidden for a global plan when the caller acts for one tenant */
async function locked(tx: Transaction, reference: string): Promise<PlanRecord> {
  const found = await lookUpPlan(tx, reference)
  if (found === undefined) throw notFound('plan')
  const plan = await tx.plans.find(found.id, 'lock')
  if (plan !== undefined) return plan
  // The rows' own security shows a global plan to every tenant and gives it to none.
  throw found.tenantId === null ? globalPlanRefused() : notFound('plan')
}

/** Who acts for one tenant changes nothing that all of them have. */
export function globalPlanRefused(): Problem {
  return new Problem(
    'forbidden',
    'A global plan cannot be changed for one tenant. Send the request without X-Tenant-ID, or name a tenant in tenant_id.',
    [{ field: 'tenant_id', message: 'is null, which makes the plan a global one.' }],
  )
}

function announce(
  tx: Transaction,
  kind: 'plan.created' | 'plan.updated' | 'plan.deleted',
  { id, tenantId, slug }: PlanRecord,
): void {
  tx.events.append({ kind, tenantId, resourceId: id, data: { plan_id: id, slug } })
}
