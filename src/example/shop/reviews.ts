/** The operations on reviews of products. It deletes none: `products.ts` does, with the product. */
import { shopConflict } from './problem.ts'
import { type Handlers, type ShopPaging, type ShopResponse, shopPageOf } from './request.ts'
import type { Product, Review, ShopState } from './state.ts'

interface ReviewQuery extends ShopPaging {
  readonly minRating?: number
}

interface ReviewInput extends Pick<Review, 'customerId' | 'rating'> {
  readonly text?: string
}

export function reviewHandlers(state: ShopState): Handlers {
  return {
    listReviews: ({ params, query }) =>
      list(state, state.products.get(params.productId!), query as ReviewQuery),
    addReview: ({ params, body }) => add(state, state.products.get(params.productId!), body as ReviewInput),
  }
}

function list(state: ShopState, product: Product, { minRating = 1, ...paging }: ReviewQuery): ShopResponse {
  const all = state.reviews.all().filter(review => review.productId === product.id)
  const sum = all.reduce((total, review) => total + review.rating, 0)
  const shown = all.filter(review => review.rating >= minRating).reverse()
  const averageRating = all.length === 0 ? null : Math.round((100 * sum) / all.length) / 100
  return { status: 200, body: { averageRating, ...shopPageOf(shown, paging) } }
}

function add(
  state: ShopState,
  product: Product,
  { customerId, rating, text = '' }: ReviewInput,
): ShopResponse {
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
    throw shopConflict(
      'not-bought',
      `Customer ${customer.id} has no shipped order that contains product ${product.id}.`,
    )
  const before = state.reviews
    .all()
    .find(review => review.productId === product.id && review.customerId === customer.id)
  if (before !== undefined)
    throw shopConflict(
      'reviewed-before',
      `Customer ${customer.id} has already reviewed product ${product.id}, in review ${before.id}.`,
    )
  const fields = { productId: product.id, customerId, rating, text, createdAt: new Date().toISOString() }
  return { status: 201, body: state.reviews.add(id => ({ id, ...fields })) }
}
