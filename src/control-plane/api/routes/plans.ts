/** Routes of plans: global ones, and those of a tenant. The rules are in `service/plans.ts`. */
import type { PlanRecord } from '../../../model/plan.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpoint, type Subject, type SubjectQuestion } from '../http/endpoint.ts'
import { invalid, notFound } from '../http/problem.ts'
import { envelope, listOf, pageQuery, q } from '../schemas/fields.ts'
import { newPlan, planFields, planPatch, READ_ONLY, shownPlan, showPlan } from '../schemas/plan.ts'
import { z } from '../schemas/zod.ts'
import {
  createPlan,
  deletePlan,
  globalPlanRefused,
  lookUpPlan,
  type PlanFields,
  patchPlan,
} from '../services/plans.ts'
import { requireWritable } from '../services/tenants.ts'

const TAG = 'plan'

/** The tenant that a new plan is for: the one the body names, by id or name. */
async function owner(tx: Transaction, reference: unknown): Promise<Tenant | undefined> {
  if (typeof reference !== 'string' || reference.includes('\0')) return undefined
  return tx.tenants.resolve(reference)
}

/** A global plan belongs to nobody; a plan that is not there is treated as the caller's, who then learns that it is missing. */
async function ownerOfPlan({ tx, params }: SubjectQuestion): Promise<Subject> {
  const plan = await lookUpPlan(tx, params.plan!)
  if (plan === undefined) return {}
  if (plan.tenantId === null) return { tenant: null }
  return { tenant: (await tx.tenants.find(plan.tenantId))?.name ?? plan.tenantId }
}

function shown(status: 200 | 201, plan: PlanRecord) {
  return { status, body: showPlan(plan), revision: plan.revision }
}

export const planEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'post',
    path: '/plans',
    tag: TAG,
    id: 'createPlan',
    summary: 'Create a plan: global, or of a tenant',
    action: 'control.plans.create',
    reach: 'caller',
    body: newPlan,
    readOnly: READ_ONLY,
    success: { status: 201, description: 'The plan', schema: shownPlan },
    async subject({ tx, rawBody }) {
      const reference = (rawBody as { tenant_id?: unknown } | null | undefined)?.tenant_id
      if (reference === undefined || reference === null) return { tenant: null }
      return { tenant: (await owner(tx, reference))?.name ?? String(reference) }
    },
    async run({ tx, body, tenant: actingFor }) {
      if (body.tenant_id === null && actingFor !== undefined) throw globalPlanRefused()
      const tenant = body.tenant_id === null ? undefined : await owner(tx, body.tenant_id)
      if (body.tenant_id !== null && tenant === undefined) {
        throw invalid([{ field: 'tenant_id', message: 'names no tenant.' }])
      }
      if (tenant !== undefined) requireWritable(tenant)
      const fields = planFields(body) as PlanFields
      const plan = await createPlan(tx, tenant?.id ?? null, body.slug, fields)
      return { ...shown(201, plan), location: `/plans/${plan.id}` }
    },
  }),
  endpoint({
    method: 'get',
    path: '/plans',
    tag: TAG,
    id: 'listPlans',
    summary: 'List the global plans and those of the tenants the caller acts for',
    action: 'control.plans.list',
    reach: 'caller',
    query: z.object({ ...pageQuery, q }),
    success: { status: 200, description: 'A page of plans', schema: listOf(shownPlan, 'PlanList') },
    async run({ tx, query }) {
      const { items, total } = await tx.plans.list({ q: query.q }, query)
      return { status: 200, body: envelope({ items: items.map(showPlan), total }, query) }
    },
  }),
  endpoint({
    method: 'get',
    path: '/plans/{plan}',
    tag: TAG,
    id: 'readPlan',
    summary: 'Read a plan by id or slug',
    action: 'control.plans.read',
    reach: 'caller',
    success: { status: 200, description: 'The plan', schema: shownPlan },
    async run({ tx, params }) {
      const plan = await lookUpPlan(tx, params.plan!)
      if (plan === undefined) throw notFound('plan')
      return shown(200, plan)
    },
  }),
  endpoint({
    method: 'patch',
    path: '/plans/{plan}',
    tag: TAG,
    id: 'updatePlan',
    summary: 'Change a plan',
    action: 'control.plans.update',
    reach: 'caller',
    body: planPatch,
    readOnly: [...READ_ONLY, 'slug', 'tenant_id'],
    preconditions: true,
    success: { status: 200, description: 'The plan as it now is', schema: shownPlan },
    subject: ownerOfPlan,
    async run({ tx, params, body, ifMatch }) {
      return shown(200, await patchPlan(tx, params.plan!, planFields(body), ifMatch))
    },
  }),
  endpoint({
    method: 'delete',
    path: '/plans/{plan}',
    tag: TAG,
    id: 'deletePlan',
    summary: 'Delete a plan that nobody uses',
    action: 'control.plans.delete',
    reach: 'caller',
    success: { status: 204, description: 'The plan is gone' },
    subject: ownerOfPlan,
    async run({ tx, params }) {
      await deletePlan(tx, params.plan!)
      return { status: 204 }
    },
  }),
]
