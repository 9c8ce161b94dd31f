/** Reviews of products, by customers who have bought them. */
import { readPaging, shopPageOf } from './paging.ts'
import { shopConflict } from './problem.ts'
import type { ShopRequest, ShopResponse } from './request.ts'
import type { Route } from './router.ts'
import type { Product, ShopState } from './state.ts'

const STARS = { min: 1, max: 5 }

export function reviewRoutes(state: ShopState): Route[] {
  return [
    {
      method: 'GET',
      path: '/products/{productId}/reviews',
      handle: request => list(state, state.products.get(request.param('productId')), request),
    },
    {
      method: 'POST',
      path: '/products/{productId}/reviews',
      handle: request => add(state, state.products.get(request.param('productId')), request),
    },
  ]
}

function list(state: ShopState, product: Product, request: ShopRequest): ShopResponse {
  const fields = request.query({ integers: ['minRating', 'page', 'limit'] })
  const minRating = fields.optional('minRating', () => fields.integer('minRating', STARS)) ?? STARS.min
  const paging = readPaging(fields)
  fields.done()
  const all = state.reviews.all().filter(review => review.productId === product.id)
  const sum = all.reduce((total, review) => total + review.rating, 0)
  const shown = all.filter(review => review.rating >= minRating).reverse()
  const averageRating = all.length === 0 ? null : Math.round((100 * sum) / all.length) / 100
  return { status: 200, body: { averageRating, ...shopPageOf(shown, paging) } }
}

function add(state: ShopState, product: Product, request: ShopRequest): ShopResponse {
  const fields = request.body()
  const customerId = fields.text('customerId', { max: 20 })
  const rating = fields.integer('rating', STARS)
  const text = fields.optional('text', () => fields.text('text', { max: 1000 })) ?? ''
  fields.done()
  const customer = state.customers.get(customerId)
  const bought = state.orders
    .all()
    .some(
      order =>
        order.customerId === customer.id &&
        (order.status === 'shipped' || order.status === 'delivered') &&
        order.lines.some(line => line.productId === product.id),
    )
  if (!bought)
    throw shopConflict('not-bought', `Customer ${customer.id} has no shipped order of product ${product.id}.`)
  const before = state.reviews
    .all()
    .find(review => review.productId === product.id && review.customerId === customer.id)
  if (before !== undefined)
    throw shopConflict('reviewed-before', `Customer ${customer.id} has reviewed it already, in ${before.id}.`)
  const createdAt = new Date().toISOString()
  const review = state.reviews.add(id => ({
    id,
    productId: product.id,
    customerId: customer.id,
    rating,
    text,
    createdAt,
  }))
  return { status: 201, body: review }
}
