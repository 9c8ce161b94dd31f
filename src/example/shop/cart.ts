/** The cart of a customer: what may become an order. Nothing in it is reserved. */
import type { Idempotency } from './idempotency.ts'
import { lineOf, place, shown } from './placing.ts'
import { shopConflict, shopInvalid, shopNotFound } from './problem.ts'
import type { ShopRequest, ShopResponse } from './request.ts'
import type { Route } from './router.ts'
import type { ShopState } from './state.ts'

const MAX_LINES = 50

export function cartRoutes(state: ShopState, idempotency: Idempotency): Route[] {
  return [
    {
      method: 'GET',
      path: '/customers/{customerId}/cart',
      handle: request => cart(state, state.customers.get(request.param('customerId')).id),
    },
    {
      method: 'PUT',
      path: '/customers/{customerId}/cart/items/{productId}',
      handle: request => setItem(state, request),
    },
    {
      method: 'DELETE',
      path: '/customers/{customerId}/cart/items/{productId}',
      handle: request => {
        const customer = state.customers.get(request.param('customerId'))
        const productId = request.param('productId')
        if (state.carts.get(customer.id)?.delete(productId) !== true)
          throw shopNotFound('cart item', productId.slice(0, 40))
        return { status: 204 }
      },
    },
    {
      method: 'POST',
      path: '/customers/{customerId}/cart/checkout',
      handle: request =>
        idempotency.run(request, `checkOutCart ${request.param('customerId')}`, () =>
          checkOut(state, request),
        ),
    },
  ]
}

function cart(state: ShopState, customerId: string): ShopResponse {
  const lines = [...(state.carts.get(customerId) ?? [])].map(([productId, quantity]) =>
    lineOf(state.products.get(productId), quantity),
  )
  const totalCents = lines.reduce((sum, line) => sum + line.totalCents, 0)
  return { status: 200, body: { customerId, lines, totalCents, currency: 'EUR' } }
}

function setItem(state: ShopState, request: ShopRequest): ShopResponse {
  const customer = state.customers.get(request.param('customerId'))
  const product = state.products.get(request.param('productId'))
  const fields = request.body()
  const quantity = fields.integer('quantity', { min: 1, max: 100 })
  fields.done()
  const items = state.carts.get(customer.id) ?? new Map<string, number>()
  if (!items.has(product.id) && items.size >= MAX_LINES)
    throw shopConflict('cart-full', `A cart holds at most ${MAX_LINES} products.`)
  state.carts.set(customer.id, items.set(product.id, quantity))
  return cart(state, customer.id)
}

function checkOut(state: ShopState, request: ShopRequest): ShopResponse {
  const customer = state.customers.get(request.param('customerId'))
  const fields = request.body()
  const label = fields.text('addressLabel', { min: 1, max: 20 })
  const note = fields.optional('note', () => fields.text('note', { max: 500 })) ?? ''
  fields.done()
  const address = Object.hasOwn(customer.addresses, label) ? customer.addresses[label] : undefined
  if (address === undefined) {
    const known = Object.keys(customer.addresses).join(', ') || 'none'
    throw shopInvalid([
      { field: '/addressLabel', message: `is not an address of ${customer.id}; known addresses: ${known}` },
    ])
  }
  const items = [...(state.carts.get(customer.id) ?? [])]
  if (items.length === 0) throw shopConflict('cart-empty', `The cart of ${customer.id} is empty.`)
  const order = place(state, {
    customerId: customer.id,
    lines: items.map(([productId, quantity]) => ({ productId, quantity })),
    shippingAddress: address,
    note,
  })
  state.carts.delete(customer.id)
  return shown(order, 201)
}
