/** Schemas of plans and their limits in requests and responses, and their conversion. */
import type { PlanLimits, PlanRecord } from '../../../model/plan.ts'
import { count, shownId, shownMoment, textField } from './fields.ts'
import { present } from './present.ts'
import { z } from './zod.ts'

const limit = count(0)

/** 0 or absent = unlimited. */
export const limits = {
  rate_limit_per_second: limit,
  rate_limit_per_minute: limit,
  daily_request_limit: limit,
  monthly_request_limit: limit,
  burst_limit: limit,
}

const fields = { name: textField(100), ...limits, requires_approval: z.boolean('must be true or false.') }

export const planSlug = z
  .string()
  .regex(/^[a-z0-9-]{1,100}$/, 'must consist of 1 to 100 characters a-z, 0-9 and "-".')
  .openapi({ example: 'silver' })

/** The fields of a new plan without slug and tenant, with their defaults. */
export const planShape = {
  name: fields.name,
  rate_limit_per_second: limit.default(0),
  rate_limit_per_minute: limit.default(0),
  daily_request_limit: limit.default(0),
  monthly_request_limit: limit.default(0),
  burst_limit: limit.default(0),
  requires_approval: fields.requires_approval.default(true),
}

export const newPlan = z
  .strictObject({
    slug: planSlug,
    ...planShape,
    tenant_id: textField(100)
      .nullable()
      .default(null)
      .openapi({ description: 'Id or name of the tenant that owns the plan; null: a global plan.' }),
  })
  .openapi('NewPlan')

export const planPatch = z.strictObject(fields).partial().openapi('PlanPatch')

const shownIdentity = {
  id: shownId('plan'),
  tenant_id: z.string().nullable(),
  slug: z.string(),
  name: fields.name,
  requires_approval: fields.requires_approval,
  created_at: shownMoment,
  updated_at: shownMoment,
}

export const shownPlan = z.object({ ...shownIdentity, ...limits }).openapi('Plan')

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
  return { ...present(z.object(shownIdentity), plan), ...showLimits(plan) }
}

/** Fields of a body as in the model; absent fields are undefined. */
export function planFields(body: z.output<typeof planPatch>) {
  return {
    name: body.name,
    perSecond: body.rate_limit_per_second,
    perMinute: body.rate_limit_per_minute,
    perDay: body.daily_request_limit,
    perMonth: body.monthly_request_limit,
    burst: body.burst_limit,
    requiresApproval: body.requires_approval,
  }
}
