/** The fields of a consumer that the administrators of its tenant declare. */
import type { Authorities } from './authority.ts'
import { textField } from './fields.ts'
import type { ModelOf } from './names.ts'
import { planSlug } from './plan.ts'
import type { z } from './zod.ts'

export const consumerFields = {
  name: textField(100).openapi({ description: 'Name in the console.' }),
  plan: planSlug
    .nullable()
    .openapi({ description: 'Plan for calls without a subscription; null: the default limits apply.' }),
  notes: textField(2000, 0).openapi({ description: 'Text for administrators.' }),
}

export const consumerAuthorities: Authorities<typeof consumerFields & { readonly status: unknown }> = {
  name: 'tenant-admin',
  plan: 'tenant-admin',
  notes: 'tenant-admin',
  status: 'tenant-admin',
}

export type DeclaredConsumer = ModelOf<z.ZodObject<typeof consumerFields>>
