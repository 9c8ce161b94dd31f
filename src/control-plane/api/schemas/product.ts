/** Schemas of products in requests and responses. */
import { MAX_PRODUCT_APIS } from '../../../model/product.ts'
import { changeText } from '../http/requirements.ts'
import { shownId, shownMoment, textField } from './fields.ts'
import { planSlug } from './plan.ts'
import { z } from './zod.ts'

const GOVERNED = changeText('control.products.govern')

const fields = {
  name: textField(100).openapi({ example: 'Commerce' }),
  description: textField(2000, 0),
  plan: planSlug.openapi({
    description: `Plan for new subscriptions. The quota of a subscription counts the calls to all APIs of the product. ${GOVERNED}`,
  }),
  api_ids: z
    .array(textField(100), 'must be a list of API ids.')
    .min(1, 'must name at least one API.')
    .max(MAX_PRODUCT_APIS, `must name at most ${MAX_PRODUCT_APIS} APIs.`)
    .refine(ids => new Set(ids).size === ids.length, 'must not name an API more than once.')
    .openapi({ description: `Ids of APIs of the same tenant. ${GOVERNED}` }),
  portal_visibility: z.boolean('must be true or false.'),
}

export const newProduct = z
  .strictObject({
    slug: planSlug.openapi({ example: 'commerce', description: 'Unique in the tenant.' }),
    ...fields,
    description: fields.description.default(''),
    portal_visibility: fields.portal_visibility.default(false),
  })
  .openapi('NewProduct')

export const productPatch = z.strictObject(fields).partial().openapi('ProductPatch')

export const shownProduct = z
  .object({
    id: shownId('prd'),
    tenant_id: shownId('ten'),
    slug: z.string(),
    ...fields,
    api_ids: z.array(shownId('api')),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Product')

/** As the catalog shows it. */
export const shownPortalProduct = z
  .object({
    id: shownId('prd'),
    tenant_id: shownId('ten'),
    tenant: z.string(),
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    plan: z.string(),
    apis: z
      .array(z.object({ id: shownId('api'), name: z.string(), version: z.string() }))
      .openapi({ description: 'The APIs of the product that are visible in the catalog.' }),
  })
  .openapi('PortalProduct')

/** The same as visitors see it. */
export const shownPublicProduct = shownPortalProduct
  .omit({ tenant_id: true })
  .extend({
    apis: shownPortalProduct.shape.apis.openapi({ description: 'The public APIs of the product.' }),
  })
  .openapi('PublicProduct')
