/** The cart of a customer, and its checkout, which makes an order of it. Nothing in a cart is reserved. */
import { lineOf, place, toResponse } from './placing.ts'
import { shopConflict, shopInvalid, shopNotFound } from './problem.ts'
import type { Handlers, ShopResponse } from './request.ts'
import type { Customer, ShopState } from './state.ts'

const MAX_LINES = 50

export function cartHandlers(state: ShopState): Handlers {
  return {
    getCart: ({ params }) => cart(state, state.customers.get(params.customerId!)),
    setCartItem({ params, body }) {
      const customer = state.customers.get(params.customerId!)
      const product = state.products.get(params.productId!)
      const items = state.carts.get(customer.id) ?? new Map<string, number>()
      if (!items.has(product.id) && items.size >= MAX_LINES)
        throw shopConflict('cart-full', `A cart can contain at most ${MAX_LINES} products.`)
      state.carts.set(customer.id, items.set(product.id, (body as { readonly quantity: number }).quantity))
      return cart(state, customer)
    },
    removeCartItem({ params }) {
      const customer = state.customers.get(params.customerId!)
      if (state.carts.get(customer.id)?.delete(params.productId!) !== true)
        throw shopNotFound('cart item', params.productId!.slice(0, 40))
      return { status: 204 }
    },
    checkOutCart: ({ params, body }) =>
      checkOut(state, state.customers.get(params.customerId!), body as CheckOut),
  }
}

function cart(state: ShopState, { id: customerId }: Customer): ShopResponse {
  const lines = [...(state.carts.get(customerId) ?? [])].map(([productId, quantity]) =>
    lineOf(state.products.get(productId), quantity),
  )
  const totalCents = lines.reduce((sum, line) => sum + line.totalCents, 0)
  return { status: 200, body: { customerId, lines, totalCents, currency: 'EUR' } }
}

interface CheckOut {
  readonly addressLabel: string
  readonly note?: string
}

function checkOut(state: ShopState, customer: Customer, { addressLabel, note }: CheckOut): ShopResponse {
  const address = Object.hasOwn(customer.addresses, addressLabel)
    ? customer.addresses[addressLabel]
    : undefined
  if (address === undefined) {
    const known = Object.keys(customer.addresses).join(', ') || 'none'
    const message = `is not the label of an address of ${customer.id}; known labels: ${known}`
    throw shopInvalid([{ field: '/addressLabel', message }])
  }
  const items = [...(state.carts.get(customer.id) ?? [])]
  if (items.length === 0) throw shopConflict('cart-empty', `The cart of ${customer.id} is empty.`)
  const lines = items.map(([productId, quantity]) => ({ productId, quantity }))
  const order = place(state, { customerId: customer.id, lines, shippingAddress: address, note })
  state.carts.delete(customer.id)
  return toResponse(order, 201)
}
