/** The fields of a product that its owner declares. */
import type { Authorities } from './authority.ts'
import { textField, withDefaults } from './fields.ts'
import type { ModelOf } from './names.ts'
import { planSlug } from './plan.ts'
import { z } from './zod.ts'

const MAX_APIS = 100

/** @param item names an API of the tenant */
export function apisOfProduct<Item extends z.ZodType>(item: Item, fault: string, what: string) {
  return z
    .array(item, fault)
    .max(MAX_APIS, `must name at most ${MAX_APIS} APIs.`)
    .refine(names => new Set(names).size === names.length, 'must not name an API more than once.')
    .openapi({ description: what })
}

export const productFields = {
  name: textField(100).openapi({ example: 'Commerce' }),
  description: textField(2000, 0).openapi({ description: 'Text for the portal.' }),
  plan: planSlug.openapi({
    description:
      'Plan for new subscriptions. The quota of a subscription counts the calls to all APIs of the product.',
  }),
  portal_visibility: z.boolean('must be true or false.').openapi({
    description: 'true: the catalog of the portal lists the product.',
  }),
}

export const productAuthorities: Authorities<
  typeof productFields & {
    readonly slug: unknown
    readonly api_ids: unknown
  }
> = {
  slug: 'tenant-admin',
  name: 'member',
  description: 'member',
  plan: 'tenant-admin',
  portal_visibility: 'tenant-admin',
  api_ids: 'tenant-admin',
}

/** The same in a new product. */
export const newProductFields = withDefaults(productFields, { description: '', portal_visibility: false })

export type DeclaredProduct = ModelOf<z.ZodObject<typeof productFields>>
