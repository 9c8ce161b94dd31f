/** Schemas of products in requests and responses. */
import { changedBy } from '../../../model/schema/authority.ts'
import { textField } from '../../../model/schema/fields.ts'
import { planSlug } from '../../../model/schema/plan.ts'
import {
  apisOfProduct,
  newProductFields,
  productAuthorities,
  productFields,
} from '../../../model/schema/product.ts'
import { z } from '../../../model/schema/zod.ts'
import { shownId, shownMoment } from './fields.ts'

const api_ids = apisOfProduct(
  textField(100),
  'must be a list of API ids.',
  'Ids of APIs of the same tenant.',
).min(1, 'must name at least one API.')

export const newProduct = z
  .strictObject({
    slug: planSlug.openapi({ example: 'commerce', description: 'Unique in the tenant.' }),
    ...newProductFields,
    api_ids,
  })
  .openapi('NewProduct', changedBy(productAuthorities))

export const productPatch = z
  .strictObject({ ...productFields, api_ids })
  .partial()
  .openapi('ProductPatch', changedBy(productAuthorities))

export const shownProduct = z
  .object({
    id: shownId('prd'),
    tenant_id: shownId('ten'),
    slug: z.string(),
    ...productFields,
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
