/** Products and their stock: search, create, replace, change, delete. Reviews and categories are in other files. */
import { CATEGORY_ID, categoryWithDescendants } from './categories.ts'
import type { ShopFields } from './fields.ts'
import type { Idempotency } from './idempotency.ts'
import { readPaging, shopPageOf } from './paging.ts'
import { shopConflict, shopInvalid } from './problem.ts'
import type { ShopResponse } from './request.ts'
import type { Route } from './router.ts'
import { born, changed, checkShopIfMatch, etagOf, type Product, type ShopState } from './state.ts'

const SKU = { max: 20, pattern: /^[A-Z0-9-]{3,20}$/, form: '3 to 20 capitals, digits and hyphens' }
const PRICE = { min: 1, max: 100_000_000 }
const NAME = { min: 1, max: 100 }
const TAG = { min: 1, max: 40 }
const MAX_STOCK = 100_000

const BY: Readonly<Record<string, (a: Product, b: Product) => number>> = {
  name: (a, b) => a.name.localeCompare(b.name),
  '-name': (a, b) => b.name.localeCompare(a.name),
  price: (a, b) => a.priceCents - b.priceCents,
  '-price': (a, b) => b.priceCents - a.priceCents,
}

export function productRoutes(state: ShopState, idempotency: Idempotency): Route[] {
  return [
    {
      method: 'GET',
      path: '/products',
      handle: request => ({
        status: 200,
        body: search(
          state,
          request.query({
            integers: ['maxPriceCents', 'page', 'limit'],
            flags: ['inStock'],
            lists: ['tags'],
          }),
        ),
      }),
    },
    {
      method: 'POST',
      path: '/products',
      handle: request =>
        idempotency.run(request, 'createProduct', () => {
          const input = readProduct(request.body(), state)
          checkSku(state, input.sku, undefined)
          const now = new Date().toISOString()
          return shown(
            state.products.add(id => ({ id, currency: 'EUR', ...input, ...born(now) })),
            201,
          )
        }),
    },
    {
      method: 'GET',
      path: '/products/{productId}',
      handle: request => shown(state.products.get(request.param('productId'))),
    },
    {
      method: 'PUT',
      path: '/products/{productId}',
      handle: request => {
        const product = state.products.get(request.param('productId'))
        const input = readProduct(request.body(), state)
        checkShopIfMatch(product, request.header('if-match'))
        checkSku(state, input.sku, product.id)
        return update(product, input)
      },
    },
    {
      method: 'PATCH',
      path: '/products/{productId}',
      handle: request => {
        const product = state.products.get(request.param('productId'))
        const patch = readPatch(request.body(), state)
        checkShopIfMatch(product, request.header('if-match'))
        return update(product, patch)
      },
    },
    {
      method: 'DELETE',
      path: '/products/{productId}',
      handle: request => remove(state, state.products.get(request.param('productId'))),
    },
    {
      method: 'POST',
      path: '/products/{productId}/stock',
      handle: request => {
        const product = state.products.get(request.param('productId'))
        return idempotency.run(request, `adjustStock ${product.id}`, () => {
          const fields = request.body()
          const delta = fields.integer('delta', { min: -10_000, max: 10_000 })
          fields.oneOf('reason', ['delivery', 'breakage', 'correction'])
          fields.done()
          return adjust(product, delta)
        })
      },
    },
  ]
}

function search(state: ShopState, fields: ShopFields): object {
  const words = fields.optional('q', () => fields.text('q', { max: 100 }))?.toLowerCase()
  const categoryId = fields.optional('categoryId', () => fields.text('categoryId', CATEGORY_ID))
  const tags = fields.optional('tags', () => fields.texts('tags', { min: 0, max: 10 }, TAG)) ?? []
  const maxPrice = fields.optional('maxPriceCents', () =>
    fields.integer('maxPriceCents', { min: 0, max: 100_000_000 }),
  )
  const inStock = fields.optional('inStock', () => fields.flag('inStock'))
  const sort = fields.optional('sort', () => fields.oneOf('sort', Object.keys(BY))) ?? 'name'
  const paging = readPaging(fields)
  fields.done()
  const categories = categoryId === undefined ? undefined : categoryWithDescendants(state, categoryId)
  const found = state.products.all().filter(product => {
    const text = `${product.name}\n${product.description}\n${product.sku}`.toLowerCase()
    return (
      (words === undefined || text.includes(words)) &&
      (categories === undefined || categories.has(product.categoryId)) &&
      tags.every(tag => product.tags.includes(tag)) &&
      (maxPrice === undefined || product.priceCents <= maxPrice) &&
      (inStock === undefined || product.stock > 0 === inStock)
    )
  })
  return shopPageOf(found.sort(BY[sort]), paging)
}

type ProductInput = Omit<Product, 'id' | 'currency' | 'version' | 'createdAt' | 'updatedAt'>

function readProduct(fields: ShopFields, state: ShopState): ProductInput {
  const input = {
    sku: fields.text('sku', SKU),
    name: fields.text('name', NAME),
    description: fields.optional('description', () => fields.text('description', { max: 2000 })) ?? '',
    priceCents: fields.integer('priceCents', PRICE),
    categoryId: fields.text('categoryId', CATEGORY_ID),
    tags: fields.optional('tags', () => fields.texts('tags', { min: 0, max: 10 }, TAG)) ?? [],
    stock: fields.optional('stock', () => fields.integer('stock', { min: 0, max: MAX_STOCK })) ?? 0,
  }
  fields.done()
  checkCategory(state, input.categoryId)
  return input
}

function readPatch(fields: ShopFields, state: ShopState): Partial<ProductInput> {
  const patch: Partial<ProductInput> = {}
  if (fields.has('name')) patch.name = fields.text('name', NAME)
  if (fields.has('description')) patch.description = fields.text('description', { max: 2000 })
  if (fields.has('priceCents')) patch.priceCents = fields.integer('priceCents', PRICE)
  if (fields.has('categoryId')) patch.categoryId = fields.text('categoryId', CATEGORY_ID)
  if (fields.has('tags')) patch.tags = fields.texts('tags', { min: 0, max: 10 }, TAG)
  fields.needsSome()
  fields.done()
  if (patch.categoryId !== undefined) checkCategory(state, patch.categoryId)
  return patch
}

function checkCategory(state: ShopState, id: string): void {
  if (!state.categories.has(id))
    throw shopInvalid([{ field: '/categoryId', message: `names category ${id}, which does not exist` }])
}

function checkSku(state: ShopState, sku: string, own: string | undefined): void {
  const other = state.products.all().find(product => product.sku === sku && product.id !== own)
  if (other !== undefined) throw shopConflict('sku-taken', `Product ${other.id} has the SKU ${sku} already.`)
}

function update(product: Product, values: Partial<ProductInput>): ShopResponse {
  Object.assign(product, values)
  changed(product)
  return shown(product)
}

function adjust(product: Product, delta: number): ShopResponse {
  const left = product.stock + delta
  if (left < 0)
    throw shopConflict(
      'stock-too-low',
      `Product ${product.id} has ${product.stock} pieces; ${-delta} cannot be taken.`,
    )
  if (left > MAX_STOCK)
    throw shopConflict('stock-too-high', `The stock of a product is limited to ${MAX_STOCK} pieces.`)
  return update(product, { stock: left })
}

function remove(state: ShopState, product: Product): ShopResponse {
  const open = state.orders
    .all()
    .find(order => order.status === 'placed' && order.lines.some(line => line.productId === product.id))
  if (open !== undefined)
    throw shopConflict(
      'product-ordered',
      `Order ${open.id} holds product ${product.id}; ship or cancel it first.`,
    )
  state.products.delete(product.id)
  for (const review of state.reviews.all())
    if (review.productId === product.id) state.reviews.delete(review.id)
  for (const cart of state.carts.values()) cart.delete(product.id)
  return { status: 204 }
}

function shown(product: Product, status = 200): ShopResponse {
  return { status, body: product, headers: { etag: etagOf(product) } }
}
