/** Schemas of plans in requests and responses, and the names of their limits in the model. */
import type { PlanLimits, PlanRecord } from '../../../model/plan.ts'
import { changedBy } from '../../../model/schema/authority.ts'
import { textField } from '../../../model/schema/fields.ts'
import { toModel, toWire } from '../../../model/schema/names.ts'
import { limits, newPlanFields, planAuthorities, planFields, planSlug } from '../../../model/schema/plan.ts'
import { z } from '../../../model/schema/zod.ts'
import { shownId, shownMoment } from './fields.ts'

export const newPlan = z
  .strictObject({
    slug: planSlug,
    ...newPlanFields,
    tenant_id: textField(100)
      .nullable()
      .default(null)
      .openapi({ description: 'Id or name of the tenant that owns the plan; null: a global plan.' }),
  })
  .openapi('NewPlan', changedBy(planAuthorities))

export const planPatch = z.strictObject(planFields).partial().openapi('PlanPatch', changedBy(planAuthorities))

const shownIdentity = z.object({
  id: shownId('plan'),
  tenant_id: z.string().nullable(),
  slug: z.string(),
  name: planFields.name,
  requires_approval: planFields.requires_approval,
  created_at: shownMoment,
  updated_at: shownMoment,
})

export const shownPlan = shownIdentity.extend(limits).openapi('Plan')

/** The limits under their names in requests and responses. */
export function showLimits(plan: Required<PlanLimits>) {
  return {
    rate_limit_per_second: plan.perSecond,
    rate_limit_per_minute: plan.perMinute,
    daily_request_limit: plan.perDay,
    monthly_request_limit: plan.perMonth,
    burst_limit: plan.burst,
  }
}

export function showPlan(plan: PlanRecord) {
  return { ...toWire(shownIdentity, plan), ...showLimits(plan) }
}

/** Fields of a body as they are stored; absent fields are undefined. */
export function storedPlanFields(body: z.output<typeof planPatch>) {
  const { name, requiresApproval, ...given } = toModel(planPatch, body)
  return {
    name,
    requiresApproval,
    perSecond: given.rateLimitPerSecond,
    perMinute: given.rateLimitPerMinute,
    perDay: given.dailyRequestLimit,
    perMonth: given.monthlyRequestLimit,
    burst: given.burstLimit,
  }
}
