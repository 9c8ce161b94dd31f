/** The operations on products and their stock. `reviews.ts` has those on reviews, and `categories.ts` those on categories. */
import { categoryWithDescendants } from './categories.ts'
import { shopConflict, shopInvalid } from './problem.ts'
import { type Handlers, type ShopPaging, type ShopResponse, shopPageOf } from './request.ts'
import { born, checkShopIfMatch, etagOf, markChanged, type Product, type ShopState } from './state.ts'

const MAX_STOCK = 100_000

interface ProductQuery extends ShopPaging {
  readonly q?: string
  readonly categoryId?: string
  readonly tags?: readonly string[]
  readonly maxPriceCents?: number
  readonly inStock?: boolean
  readonly sort?: string
}

interface ProductInput extends Pick<Product, 'sku' | 'name' | 'priceCents' | 'categoryId'> {
  readonly description?: string
  readonly tags?: string[]
  readonly stock?: number
}

const BY: Readonly<Record<string, (a: Product, b: Product) => number>> = {
  name: (a, b) => a.name.localeCompare(b.name),
  '-name': (a, b) => b.name.localeCompare(a.name),
  price: (a, b) => a.priceCents - b.priceCents,
  '-price': (a, b) => b.priceCents - a.priceCents,
}

export function productHandlers(state: ShopState): Handlers {
  return {
    listProducts: ({ query }) => ({ status: 200, body: search(state, query as ProductQuery) }),
    createProduct({ body }) {
      const input = withDefaults(body as ProductInput)
      checkCategory(state, input.categoryId)
      checkSku(state, input.sku, undefined)
      const fields = { currency: 'EUR', ...input, ...born(new Date().toISOString()) } as const
      return toResponse(
        state.products.add(id => ({ id, ...fields })),
        201,
      )
    },
    getProduct: ({ params }) => toResponse(state.products.get(params.productId!)),
    replaceProduct({ params, body, ifMatch }) {
      const product = state.products.get(params.productId!)
      const input = withDefaults(body as ProductInput)
      checkCategory(state, input.categoryId)
      checkShopIfMatch(product, ifMatch)
      checkSku(state, input.sku, product.id)
      return update(product, input)
    },
    updateProduct({ params, body, ifMatch }) {
      const product = state.products.get(params.productId!)
      const patch = body as Partial<ProductInput>
      if (patch.categoryId !== undefined) checkCategory(state, patch.categoryId)
      checkShopIfMatch(product, ifMatch)
      return update(product, patch)
    },
    deleteProduct: ({ params }) => remove(state, state.products.get(params.productId!)),
    adjustStock: ({ params, body }) =>
      adjust(state.products.get(params.productId!), (body as { readonly delta: number }).delta),
  }
}

function withDefaults({ description = '', tags = [], stock = 0, ...input }: ProductInput) {
  return { ...input, description, tags, stock }
}

function search(state: ShopState, query: ProductQuery) {
  const { q = '', categoryId, tags = [], maxPriceCents = Infinity, inStock, sort = 'name' } = query
  const words = q.toLowerCase()
  const categories = categoryId === undefined ? undefined : categoryWithDescendants(state, categoryId)
  const found = state.products.all().filter(product => {
    const text = `${product.name}\n${product.description}\n${product.sku}`.toLowerCase()
    return (
      text.includes(words) &&
      (categories === undefined || categories.has(product.categoryId)) &&
      tags.every(tag => product.tags.includes(tag)) &&
      product.priceCents <= maxPriceCents &&
      (inStock === undefined || product.stock > 0 === inStock)
    )
  })
  return shopPageOf(found.sort(BY[sort]), query)
}

function checkCategory(state: ShopState, id: string): void {
  if (!state.categories.has(id))
    throw shopInvalid([{ field: '/categoryId', message: `refers to category ${id}, which does not exist` }])
}

function checkSku(state: ShopState, sku: string, own: string | undefined): void {
  const other = state.products.all().find(product => product.sku === sku && product.id !== own)
  if (other !== undefined) throw shopConflict('sku-taken', `Product ${other.id} already has the SKU ${sku}.`)
}

function update(product: Product, values: Partial<Product>): ShopResponse {
  Object.assign(product, values)
  markChanged(product)
  return toResponse(product)
}

function adjust(product: Product, delta: number): ShopResponse {
  const left = product.stock + delta
  if (left < 0)
    throw shopConflict(
      'stock-too-low',
      `Product ${product.id} has ${product.stock} pieces in stock; ${-delta} cannot be removed.`,
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
      `Order ${open.id} contains product ${product.id}. Ship or cancel the order first.`,
    )
  state.products.delete(product.id)
  for (const review of state.reviews.all())
    if (review.productId === product.id) state.reviews.delete(review.id)
  for (const cart of state.carts.values()) cart.delete(product.id)
  return { status: 204 }
}

function toResponse(product: Product, status = 200): ShopResponse {
  return { status, body: product, headers: { etag: etagOf(product) } }
}
