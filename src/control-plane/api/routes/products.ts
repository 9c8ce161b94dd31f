/** Routes of products, of their migration and of their part of the catalog. The rules of changes are in `services`. */
import type { Product } from '../../../model/product.ts'
import { textField } from '../../../model/schema/fields.ts'
import { camelCased, toWire } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import { VISITED_TENANTS } from '../../../model/tenant.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpointsTagged } from '../http/endpoint.ts'
import { notFound } from '../http/problem.ts'
import { booleanQuery, envelope, fieldNames, listOf, pageQuery, q, sortQuery } from '../schemas/fields.ts'
import {
  newProduct,
  productPatch,
  shownPortalProduct,
  shownProduct,
  shownPublicProduct,
} from '../schemas/product.ts'
import { productMigration, showMigration, shownMigration } from '../schemas/subscription.ts'
import { GOVERN } from '../services/authority.ts'
import { migrateToProduct } from '../services/migrate-subscriptions.ts'
import { createProduct, deleteProduct, findProduct, patchProduct } from '../services/products.ts'

const endpoint = endpointsTagged('product')
const ALL = '/tenants/{tenant_id}/products'
const ONE = `${ALL}/{product_id}`
const filters = { ...pageQuery, sort: sortQuery('slug', 'name', 'updated_at'), q }

function respond(product: Product) {
  return { body: toWire(shownProduct, product), revision: product.revision }
}

/** Products as the catalog shows them: without the APIs that it does not show, to visitors only with public ones. */
async function inCatalog(tx: Transaction, products: readonly Product[], to: 'users' | 'visitors' = 'users') {
  const named = await tx.apis.listByIds([...new Set(products.flatMap(({ apiIds }) => apiIds))])
  const shownApis = new Map(
    named
      .filter(({ portalVisibility, status }) => portalVisibility && status !== 'retired')
      .filter(({ visibility }) => to === 'users' || visibility === 'public')
      .map(({ id, name, version }) => [id, { id, name, version }]),
  )
  const tenants = new Map<string, string>()
  for (const { tenantId } of products)
    if (!tenants.has(tenantId)) tenants.set(tenantId, (await tx.tenants.find(tenantId))?.name ?? '')
  return products.map(product => {
    const apis = product.apiIds.flatMap(id => shownApis.get(id) ?? [])
    const of = { ...product, tenant: tenants.get(product.tenantId), apis }
    return to === 'users' ? toWire(shownPortalProduct, of) : toWire(shownPublicProduct, of)
  })
}

export const productEndpoints: readonly Endpoint[] = [
  endpoint('createProduct', 'post', ALL, {
    summary: 'Create a product: several APIs under one subscription',
    action: 'control.products.create',
    body: newProduct,
    readOnly: fieldNames(shownProduct),
    success: { description: 'The product', schema: shownProduct },
    async run({ tx, tenant, body }) {
      const { slug, ...fields } = camelCased(body)
      const product = await createProduct(tx, tenant!.id, slug, fields)
      return { ...respond(product), location: `/tenants/${tenant!.id}/products/${product.id}` }
    },
  }),
  endpoint('listProducts', 'get', ALL, {
    summary: 'List the products of a tenant',
    action: 'control.products.list',
    query: z.object({ ...filters, portal_visibility: booleanQuery.optional() }),
    success: { description: 'A page of products', schema: listOf(shownProduct, 'ProductList') },
    async run({ tx, query }) {
      const found = await tx.products.list(camelCased(query), query)
      return { body: envelope(found, query, product => toWire(shownProduct, product)) }
    },
  }),
  endpoint('readProduct', 'get', ONE, {
    summary: 'Read a product',
    action: 'control.products.read',
    success: { description: 'The product', schema: shownProduct },
    run: async ({ tx, params }) => respond(await findProduct(tx, params.product_id!)),
  }),
  endpoint('updateProduct', 'patch', ONE, {
    summary: 'Change a product; a new list of APIs also applies to existing subscriptions',
    action: 'control.products.update',
    governs: GOVERN.product,
    body: productPatch,
    readOnly: fieldNames(shownProduct),
    preconditions: true,
    success: { description: 'The changed product', schema: shownProduct },
    async run({ tx, tenant, params, body, ifMatch, authorize }) {
      const ask = (action: string) => authorize(action, tenant!.name)
      return respond(await patchProduct(tx, params.product_id!, camelCased(body), ifMatch, ask))
    },
  }),
  endpoint('migrateProductSubscriptions', 'post', `${ONE}/migrate`, {
    summary:
      'Move the pending, approved and suspended subscriptions of a product, with their keys, to another product',
    action: 'control.subscriptions.migrate',
    body: productMigration,
    bulk: true,
    success: { status: 200, description: 'The result of the migration', schema: shownMigration },
    async run({ tx, params, body }) {
      const { applications, reason = null } = body
      const selection = { applications, reason }
      return {
        body: showMigration(await migrateToProduct(tx, params.product_id!, body.to_product_id, selection)),
      }
    },
  }),
  endpoint('deleteProduct', 'delete', ONE, {
    summary: 'Delete a product; its subscriptions are revoked',
    action: 'control.products.delete',
    success: { description: 'The product is deleted' },
    preconditions: true,
    run: ({ tx, params, ifMatch }) => deleteProduct(tx, params.product_id!, ifMatch),
  }),
  endpoint('listPortalProducts', 'get', '/portal/products', {
    summary: 'Search the products in the catalog',
    action: 'control.portal.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: textField(100).optional() }),
    success: {
      description: 'A page of products in the catalog',
      schema: listOf(shownPortalProduct, 'PortalProductList'),
    },
    async run({ tx, query }) {
      const found = await tx.products.list({ ...camelCased(query), portalVisibility: true }, query)
      return { body: envelope({ ...found, items: await inCatalog(tx, found.items) }, query, item => item) }
    },
  }),
  endpoint('readPortalProduct', 'get', '/portal/products/{product_id}', {
    summary: 'Read a product from the catalog',
    action: 'control.portal.read',
    reach: 'caller',
    success: { description: 'The product as shown in the catalog', schema: shownPortalProduct },
    async run({ tx, params }) {
      const product = await findProduct(tx, params.product_id!)
      if (!product.portalVisibility) throw notFound('product')
      const [body] = await inCatalog(tx, [product])
      return { body }
    },
  }),
  endpoint('listPublicProducts', 'get', '/public/products', {
    summary: 'Search the products that contain a public API; no token is required',
    action: 'control.public.list',
    reach: 'platform',
    visitors: true,
    query: z.object(filters),
    success: {
      description: 'A page of products that every visitor can see',
      schema: listOf(shownPublicProduct, 'PublicProductList'),
    },
    async run({ tx, query }) {
      const found = await tx.products.list({ ...camelCased(query), forVisitors: true }, query)
      const items = await inCatalog(tx, found.items, 'visitors')
      return { body: envelope({ ...found, items }, query, item => item) }
    },
  }),
  endpoint('readPublicProduct', 'get', '/public/products/{product_id}', {
    summary: 'Read a product that contains a public API; no token is required',
    action: 'control.public.read',
    reach: 'platform',
    visitors: true,
    success: { description: 'The product as shown to visitors', schema: shownPublicProduct },
    async run({ tx, params }) {
      const product = await findProduct(tx, params.product_id!)
      const tenant = await tx.tenants.find(product.tenantId)
      const [body] = await inCatalog(tx, [product], 'visitors')
      const hasApis = (body!.apis as readonly unknown[]).length > 0
      const isVisited = tenant !== undefined && VISITED_TENANTS.includes(tenant.status)
      if (!product.portalVisibility || !hasApis || !isVisited) throw notFound('product')
      return { body }
    },
  }),
]
