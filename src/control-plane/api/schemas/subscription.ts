/** Schemas of subscriptions, their migration and their usage in requests and responses, and the conversion of the result of a migration. */

import { type Authorities, changedBy } from '../../../model/schema/authority.ts'
import { count, httpUrl, LIFE, life, moment, textField } from '../../../model/schema/fields.ts'
import { limits } from '../../../model/schema/plan.ts'
import { z } from '../../../model/schema/zod.ts'
import { SUBSCRIPTION_STATUSES, type Subscription } from '../../../model/subscription.ts'
import { shownId, shownMoment } from './fields.ts'

export const shownSubscription = z
  .object({
    id: shownId('sub'),
    tenant_id: shownId('ten'),
    api_id: shownId('api').nullable().openapi({ description: 'null for a subscription to a product.' }),
    product_id: shownId('prd').nullable().openapi({ description: 'null for a subscription to an API.' }),
    api_name: z.string().nullable(),
    product_name: z.string().nullable(),
    plan: z.string(),
    requested_plan: z.string().nullable().openapi({
      description:
        'Plan that the application has requested in place of `plan`, until the request is approved or rejected.',
    }),
    application: z.string(),
    application_name: z.string().openapi({
      description:
        'Name of the consumer, such as the name of a portal user; the value of `application` if the consumer has no name.',
    }),
    subscriber_tenant_id: shownId('ten').nullable().openapi({
      description:
        'Id of the tenant that owns the application, if another tenant owns the API. In this case, `application` begins with the name of the tenant that owns the application. null: the same tenant owns the application and the API.',
    }),
    callback_url: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    status: z.enum(SUBSCRIPTION_STATUSES),
    reason: z.string().nullable(),
    rate_limit: z.int().nullable().openapi({
      description: 'Maximum number of requests per minute; null: the limit of the plan.',
    }),
    quota: z.int().nullable().openapi({
      description: 'Maximum number of requests per month; null: the limit of the plan.',
    }),
    api_key: z.string().nullable().openapi({
      description:
        'null until the first key is created. The response that creates the key contains the whole key; later responses contain only the public prefix of the key.',
    }),
    expires_at: shownMoment.nullable(),
    approved_at: shownMoment.nullable(),
    suspended_at: shownMoment.nullable(),
    revoked_at: shownMoment.nullable(),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Subscription')

const MAX_METADATA = 20

const metadata = z
  .record(z.string(), textField(500, 0), 'must be an object whose values are strings.')
  .superRefine((values, context) => {
    const names = Object.keys(values)
    const fault = (message: string) => context.addIssue({ code: 'custom', message, path: [] })
    if (names.length > MAX_METADATA) fault(`must have at most ${MAX_METADATA} names.`)
    if (!names.every(name => /^[A-Za-z0-9._-]{1,64}$/.test(name)))
      fault('must contain only names of 1 to 64 characters: letters, digits, ".", "_" and "-".')
  })
  .openapi({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { contact: 'team-shop@example.com' },
    description: `Names and values that the application sets; at most ${MAX_METADATA} names.`,
  })

/** Limits beyond those of the plan are decided with the approval; so is a later end. */
const authorities: Authorities<{ readonly [field: string]: unknown }> = {
  api_id: 'owner',
  product_id: 'owner',
  plan: 'owner',
  application: 'owner',
  callback_url: 'owner',
  metadata: 'owner',
  ttl: 'owner',
  expires_at: 'owner',
  rate_limit: 'tenant-admin',
  quota: 'tenant-admin',
}

export const newSubscription = z
  .strictObject({
    api_id: textField(100).nullable().default(null),
    product_id: textField(100).nullable().default(null).openapi({
      example: null,
      description:
        'Id of a product; send either product_id or api_id. The subscription applies to all APIs of the product.',
    }),
    plan: textField(100).optional().openapi({
      example: 'silver',
      description: 'Required with api_id. Must be absent with product_id: the product sets the plan.',
    }),
    application: textField(255).openapi({ example: 'shop-frontend' }),
    callback_url: httpUrl().nullable().default(null),
    metadata: metadata.default({}),
    ttl: life()
      .nullable()
      .default(null)
      .openapi({
        ...LIFE,
        type: ['string', 'null'],
        description: 'Lifetime of the subscription, counted from the approval.',
      }),
    expires_at: moment().nullable().default(null),
  })
  .openapi('NewSubscription', changedBy(authorities))

export const approval = z
  .strictObject({
    rate_limit: count(1).optional().openapi({
      description: 'Maximum number of requests per minute; absent: the limit of the plan.',
    }),
    quota: count(1).optional().openapi({
      description: 'Maximum number of requests per month; absent: the limit of the plan.',
    }),
  })
  .openapi('Approval')

const override = count(1).nullable()

export const subscriptionPatch = z
  .strictObject({
    plan: textField(100).openapi({
      description:
        'A plan that requires approval becomes `requested_plan` when the caller may not approve subscriptions. Otherwise the plan changes at once.',
    }),
    rate_limit: override.openapi({
      description: 'Maximum number of requests per minute; null: the limit of the plan.',
    }),
    quota: override.openapi({
      description: 'Maximum number of requests per month; null: the limit of the plan.',
    }),
    expires_at: moment().nullable().openapi({ description: 'null: the subscription does not expire.' }),
    callback_url: httpUrl().nullable(),
    metadata,
  })
  .partial()
  .openapi('SubscriptionPatch', changedBy({ ...authorities, expires_at: 'tenant-admin' }))

const reason = textField(500)
const MAX_APPLICATIONS = 1000
export const rejection = z.strictObject({ reason }).openapi('Rejection')
export const suspension = z.strictObject({ reason: reason.optional() }).openapi('Suspension')
export const bulkApproval = z
  .strictObject({
    ids: z
      .array(textField(100), 'must be a list of subscription ids.')
      .min(1, 'must name at least one subscription.')
      .max(100, 'must name at most 100 subscriptions.')
      .refine(ids => new Set(ids).size === ids.length, 'must not name a subscription more than once.'),
  })
  .openapi('BulkApproval')

const selection = {
  applications: z
    .array(textField(255), 'must be a list of applications.')
    .min(1, 'must name at least one application.')
    .max(MAX_APPLICATIONS, `must name at most ${MAX_APPLICATIONS} applications.`)
    .optional()
    .openapi({
      description: 'Absent: every application whose subscription is pending approval, approved or suspended.',
    }),
  reason: reason.optional(),
}

export const migration = z
  .strictObject({
    to_api_id: textField(100).openapi({
      description:
        'Id of the API or API version to which the subscriptions move. The API must belong to the same tenant.',
    }),
    ...selection,
  })
  .openapi('Migration')

export const productMigration = z
  .strictObject({
    to_product_id: textField(100).openapi({
      description:
        'Id of the product to which the subscriptions move. The product must belong to the same tenant.',
    }),
    ...selection,
  })
  .openapi('ProductMigration')

export const shownMigration = z
  .object({
    migrated: z.int().openapi({
      description: 'Number of subscriptions that this request moved, with their keys.',
    }),
    remaining: z.int().openapi({
      description:
        'Number of subscriptions that still have to be moved. If this number is greater than 0, repeat the request.',
    }),
    skipped: z.array(z.object({ subscription_id: shownId('sub'), application: z.string() })).openapi({
      description:
        'Subscriptions that cannot be moved, because their application already has an open subscription to the target, or because the target is not shared with the tenant of the application.',
    }),
  })
  .openapi('MigrationResult')

interface Migration {
  readonly migrated: readonly Subscription[]
  readonly skipped: readonly Subscription[]
  readonly remaining: number
}

export function showMigration({ migrated, skipped, remaining }: Migration) {
  const left = skipped.map(({ id, application }) => ({ subscription_id: id, application }))
  return { migrated: migrated.length, remaining, skipped: left }
}

const usageWindow = z.object({
  count: z.int(),
  limit: z.int().nullable(),
  remaining: z.int().nullable(),
  resets_at: shownMoment,
})

export const usageWithoutLimits = z.object({
  subscription_id: shownId('sub'),
  plan: z.string(),
  period_start: shownMoment,
  period_end: shownMoment,
  requests: z.int(),
  errors: z.int(),
  daily: usageWindow,
  monthly: usageWindow,
  last_request_at: shownMoment.nullable(),
})

export const shownUsage = usageWithoutLimits.extend({ limits: z.object(limits) }).openapi('Usage')
