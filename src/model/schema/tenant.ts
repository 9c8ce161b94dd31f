/** The fields of a tenant that its administrators declare. */
import type { Authorities } from './authority.ts'
import { shaped, word } from './fields.ts'
import type { ModelOf } from './names.ts'
import { z } from './zod.ts'

export const tenantSettings = z.strictObject({
  rate_limit_multiplier: z
    .number('must be a number.')
    .gt(0, 'must be greater than 0.')
    .max(1000, 'must be at most 1000.')
    .optional()
    .openapi({
      description:
        'Factor by which the hourly limit for requests to the control plane is multiplied; absent: 1.',
    }),
  api_requests_per_hour: z
    .int('must be an integer.')
    .min(1, 'must be at least 1.')
    .max(1_000_000_000, 'must be at most 1000000000.')
    .optional()
    .openapi({
      description:
        'Maximum number of requests to the control plane per hour, for the tier `enterprise`; absent: unlimited.',
    }),
})

export type TenantSettings = ModelOf<typeof tenantSettings>

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

export const tenantName = shaped(
  DNS_LABEL,
  63,
  'must be a DNS label: a-z, 0-9 and "-", without "-" at either end.',
).openapi({
  example: 'acme',
})
export const adminEmail = z.email('must be an e-mail address.').max(254, 'must have at most 254 characters.')
export const region = shaped(/^[a-z0-9-]+$/, 63, 'must consist of a-z, 0-9 and "-".')
export const DEFAULT_REGION = 'default'
export const TIERS = ['free', 'starter', 'business', 'enterprise'] as const
export type Tier = (typeof TIERS)[number]
export const tier = word(TIERS)

export const tenantAuthorities: Authorities<{
  readonly [field in 'name' | 'tier' | 'settings' | 'admin_email' | 'region' | 'status']: unknown
}> = {
  name: 'operator',
  tier: 'operator',
  settings: 'operator',
  admin_email: 'operator',
  region: 'operator',
  status: 'operator',
}
