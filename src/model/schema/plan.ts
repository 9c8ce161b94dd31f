/** The fields of a plan that its owner declares. */
import type { Authorities } from './authority.ts'
import { count, textField, withDefaults } from './fields.ts'
import { z } from './zod.ts'

function limit(description: string) {
  return count(0).openapi({ description: `${description}; 0: no limit.` })
}

export const limits = {
  rate_limit_per_second: limit('Maximum number of requests of a consumer per second'),
  rate_limit_per_minute: limit('Maximum number of requests of a consumer per minute'),
  daily_request_limit: limit('Maximum number of requests of a consumer per day'),
  monthly_request_limit: limit('Maximum number of requests of a consumer per month'),
  burst_limit: limit('Maximum number of requests of a consumer in flight at once'),
}

export const planSlug = z
  .string()
  .regex(/^[a-z0-9-]{1,100}$/, 'must consist of 1 to 100 characters a-z, 0-9 and "-".')
  .openapi({ example: 'silver' })

export const planFields = {
  name: textField(100),
  ...limits,
  requires_approval: z.boolean('must be true or false.').openapi({
    description: 'false: a subscription to the plan is approved as soon as it is requested.',
  }),
}

/** A global plan is the operator's as a whole. */
export const planAuthorities: Authorities<
  typeof planFields & { readonly slug: unknown; readonly tenant_id: unknown }
> = {
  slug: 'tenant-admin',
  tenant_id: 'tenant-admin',
  name: 'tenant-admin',
  rate_limit_per_second: 'tenant-admin',
  rate_limit_per_minute: 'tenant-admin',
  daily_request_limit: 'tenant-admin',
  monthly_request_limit: 'tenant-admin',
  burst_limit: 'tenant-admin',
  requires_approval: 'tenant-admin',
}

/** The same in a new plan. */
export const newPlanFields = withDefaults(planFields, {
  rate_limit_per_second: 0,
  rate_limit_per_minute: 0,
  daily_request_limit: 0,
  monthly_request_limit: 0,
  burst_limit: 0,
  requires_approval: true,
})
