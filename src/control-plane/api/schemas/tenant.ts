/** Schemas of the fields of tenants, the default region, and the conversion of settings. */
import { type TenantSettings, TIERS } from '../../../model/tenant.ts'
import { shaped, word } from './fields.ts'
import { camelCased } from './present.ts'
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
export const tier = word(TIERS)

/** Only the settings in the body: absent ones stay as they are. */
export function settingsOf(given: z.output<typeof tenantSettings>): TenantSettings {
  return camelCased(given) as TenantSettings
}

export function showSettings({ rateLimitMultiplier, apiRequestsPerHour }: TenantSettings) {
  return { rate_limit_multiplier: rateLimitMultiplier, api_requests_per_hour: apiRequestsPerHour }
}
