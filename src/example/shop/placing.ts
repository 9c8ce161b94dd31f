/** Makes order lines, orders and the responses that show orders. `orders.ts` and `cart.ts` call it. */
import { shopConflict } from './problem.ts'
import type { ShopResponse } from './request.ts'
import {
  type Address,
  born,
  etagOf,
  type Order,
  type OrderLine,
  type Product,
  type ShopState,
} from './state.ts'

interface Engraving {
  readonly text: string
  /** `plain` without it. */
  readonly font?: 'plain' | 'script'
}

export interface OrderInput {
  readonly customerId: string
  /** Each product at most once. */
  readonly lines: readonly {
    readonly productId: string
    readonly quantity: number
    readonly engraving?: Engraving
  }[]
  readonly shippingAddress: Address
  readonly billingAddress?: Address
  readonly note?: string | undefined
}

export function lineOf(product: Product, quantity: number, engraving?: Engraving): OrderLine {
  return {
    productId: product.id,
    name: product.name,
    quantity,
    unitPriceCents: product.priceCents,
    totalCents: quantity * product.priceCents,
    ...(engraving === undefined ? undefined : { engraving: { font: 'plain', ...engraving } }),
  }
}

/** @throws Problem 404 (customer, product), 409 (not in stock), 507 */
export function place(state: ShopState, input: OrderInput): Order {
  const customer = state.customers.get(input.customerId)
  const wanted = input.lines.map(line => ({ ...line, product: state.products.get(line.productId) }))
  for (const { product, quantity } of wanted) {
    if (product.stock < quantity)
      throw shopConflict(
        'out-of-stock',
        `Product ${product.id} (${product.name}) has ${product.stock} pieces left; ${quantity} were ordered.`,
      )
  }
  state.orders.reserve()
  for (const { product, quantity } of wanted) product.stock -= quantity
  const lines = wanted.map(({ product, quantity, engraving }) => lineOf(product, quantity, engraving))
  const now = new Date().toISOString()
  return state.orders.add(id => ({
    id,
    customerId: customer.id,
    status: 'placed',
    lines,
    totalCents: lines.reduce((sum, line) => sum + line.totalCents, 0),
    currency: 'EUR',
    shippingAddress: { ...input.shippingAddress },
    billingAddress: { ...(input.billingAddress ?? input.shippingAddress) },
    note: input.note ?? '',
    ...born(now),
  }))
}

export function toResponse(order: Order, status = 200): ShopResponse {
  return { status, body: order, headers: { etag: etagOf(order) } }
}
