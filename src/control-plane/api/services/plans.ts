/** Finds, creates, changes and deletes plans, and defines the refusal for a global plan. */
import { isId } from '../../../model/id.ts'
import type { PlanRecord } from '../../../model/plan.ts'
import { StoreConflict, type Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { conflict, notFound, Problem, requireFound } from '../http/problem.ts'
import { applyPatch, newRecord, type Patch } from './records.ts'

export type PlanFields = Pick<
  PlanRecord,
  'name' | 'perSecond' | 'perMinute' | 'perDay' | 'perMonth' | 'burst' | 'requiresApproval'
>

/** @throws StoreConflict when the slug is taken; a tenant's plan may not hide a global one either */
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
    ...newRecord(tx, 'plan'),
    tenantId,
    slug,
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
  patch: Patch<PlanFields>,
  ifMatch: string,
): Promise<PlanRecord> {
  const plan = await lockPlan(tx, reference)
  checkIfMatch(ifMatch, plan.revision)
  const updated = await tx.plans.update(applyPatch(plan, patch))
  announce(tx, 'plan.updated', updated)
  return updated
}

/** @throws Problem not_found, forbidden, precondition_failed, conflict while a subscription, a consumer or a product uses it */
export async function deletePlan(tx: Transaction, reference: string, ifMatch = ''): Promise<void> {
  const plan = await lockPlan(tx, reference)
  checkIfMatch(ifMatch, plan.revision)
  if (await tx.plans.inUse(plan))
    throw conflict(
      'The plan is in use. Assign another plan to each subscription, consumer and product that uses the plan, then repeat the request.',
    )
  await tx.plans.remove(plan.id)
  announce(tx, 'plan.deleted', plan)
}

/** @throws Problem not_found, forbidden for a global plan when the caller acts for one tenant */
async function lockPlan(tx: Transaction, reference: string): Promise<PlanRecord> {
  const visible = requireFound(await lookUpPlan(tx, reference), 'plan')
  const plan = await tx.plans.find(visible.id, 'lock')
  if (plan !== undefined) return plan
  // Row-level security lets every tenant read a global plan and none lock it.
  throw visible.tenantId === null ? globalPlanRefused() : notFound('plan')
}

/** A caller acting for one tenant may not change what all tenants share. */
export function globalPlanRefused(): Problem {
  return new Problem(
    'forbidden',
    'A request that acts for one tenant cannot create, change or delete a global plan. Send the request without X-Tenant-ID. To create a plan for a tenant instead, set tenant_id.',
    [{ field: 'tenant_id', message: 'is null, which makes the plan global.' }],
  )
}

function announce(
  tx: Transaction,
  kind: 'plan.created' | 'plan.updated' | 'plan.deleted',
  { id, tenantId, slug }: PlanRecord,
): void {
  tx.events.append({ kind, tenantId, resourceId: id, data: { plan_id: id, slug } })
}
