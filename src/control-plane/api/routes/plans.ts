/** Routes of plans, global ones and those of a tenant. `services/plans.ts` writes the changes, and `schemas/plan.ts` has the schemas of plans. */
import type { PlanRecord } from '../../../model/plan.ts'
import { z } from '../../../model/schema/zod.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpointsTagged, type Subject, type SubjectQuestion } from '../http/endpoint.ts'
import { invalidField, requireFound } from '../http/problem.ts'
import { envelope, fieldNames, listOf, pageQuery, q, sortQuery } from '../schemas/fields.ts'
import { newPlan, planPatch, shownPlan, showPlan, storedPlanFields } from '../schemas/plan.ts'
import {
  createPlan,
  deletePlan,
  globalPlanRefused,
  lookUpPlan,
  type PlanFields,
  patchPlan,
} from '../services/plans.ts'
import { requireWritable } from '../services/tenants.ts'

const endpoint = endpointsTagged('plan')

/** The tenant that the body of a new plan names, by id or name. */
async function owner(tx: Transaction, reference: unknown): Promise<Tenant | undefined> {
  if (typeof reference !== 'string' || reference.includes('\0')) return undefined
  return tx.tenants.resolve(reference)
}

/** A global plan belongs to no tenant; an unknown one counts as the caller's, so that the response is 404. */
async function ownerOfPlan({ tx, params }: SubjectQuestion): Promise<Subject> {
  const plan = await lookUpPlan(tx, params.plan!)
  if (plan === undefined) return {}
  if (plan.tenantId === null) return { tenant: null }
  return { tenant: (await tx.tenants.find(plan.tenantId))?.name ?? plan.tenantId }
}

function respond(plan: PlanRecord) {
  return { body: showPlan(plan), revision: plan.revision }
}

export const planEndpoints: readonly Endpoint[] = [
  endpoint('createPlan', 'post', '/plans', {
    summary: 'Create a global plan, or a plan of a tenant',
    action: 'control.plans.create',
    reach: 'caller',
    body: newPlan,
    readOnly: fieldNames(shownPlan),
    success: { description: 'The plan', schema: shownPlan },
    async subject({ tx, rawBody }) {
      const reference = (rawBody as { tenant_id?: unknown } | null | undefined)?.tenant_id
      if (reference === undefined || reference === null) return { tenant: null }
      return { tenant: (await owner(tx, reference))?.name ?? String(reference) }
    },
    async run({ tx, body, tenant: actingFor }) {
      if (body.tenant_id === null && actingFor !== undefined) throw globalPlanRefused()
      const tenant = body.tenant_id === null ? undefined : await owner(tx, body.tenant_id)
      if (body.tenant_id !== null && tenant === undefined) {
        throw invalidField('tenant_id', 'must be the id or name of a tenant that exists.')
      }
      if (tenant !== undefined) requireWritable(tenant)
      const fields = storedPlanFields(body) as PlanFields
      const plan = await createPlan(tx, tenant?.id ?? null, body.slug, fields)
      return { ...respond(plan), location: `/plans/${plan.id}` }
    },
  }),
  endpoint('listPlans', 'get', '/plans', {
    summary: 'List the global plans and the plans of all tenants the caller acts for',
    action: 'control.plans.list',
    reach: 'caller',
    query: z.object({ ...pageQuery, sort: sortQuery('slug', 'name', 'updated_at'), q }),
    success: { description: 'A page of plans', schema: listOf(shownPlan, 'PlanList') },
    async run({ tx, query }) {
      return { body: envelope(await tx.plans.list({ q: query.q }, query), query, showPlan) }
    },
  }),
  endpoint('readPlan', 'get', '/plans/{plan}', {
    summary: 'Read a plan by id or slug',
    action: 'control.plans.read',
    reach: 'caller',
    success: { description: 'The plan', schema: shownPlan },
    async run({ tx, params }) {
      return respond(requireFound(await lookUpPlan(tx, params.plan!), 'plan'))
    },
  }),
  endpoint('updatePlan', 'patch', '/plans/{plan}', {
    summary: 'Change a plan',
    action: 'control.plans.update',
    reach: 'caller',
    body: planPatch,
    readOnly: fieldNames(shownPlan),
    preconditions: true,
    success: { description: 'The changed plan', schema: shownPlan },
    subject: ownerOfPlan,
    async run({ tx, params, body, ifMatch }) {
      return respond(await patchPlan(tx, params.plan!, storedPlanFields(body), ifMatch))
    },
  }),
  endpoint('deletePlan', 'delete', '/plans/{plan}', {
    summary: 'Delete a plan that is not in use',
    action: 'control.plans.delete',
    reach: 'caller',
    success: { description: 'The plan is deleted' },
    subject: ownerOfPlan,
    preconditions: true,
    run: ({ tx, params, ifMatch }) => deletePlan(tx, params.plan!, ifMatch),
  }),
]
