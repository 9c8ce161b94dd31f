/** The handlers of orders, from finding and placing them to deleting them. `placing.ts` makes a new order. */
import { type OrderInput, place, toResponse } from './placing.ts'
import { shopConflict, shopInvalid } from './problem.ts'
import { type Handlers, type ShopPaging, type ShopRequest, type ShopResponse, shopPageOf } from './request.ts'
import { type Address, checkShopIfMatch, markChanged, type Order, type ShopState } from './state.ts'

interface OrderQuery extends ShopPaging {
  readonly status?: readonly string[]
  readonly customerId?: string
  readonly placedAfter?: string
  /** Bounds in cents. */
  readonly total?: { readonly min?: number; readonly max?: number }
}

export function orderHandlers(state: ShopState): Handlers {
  const orderOf = ({ params }: ShopRequest): Order => state.orders.get(params.orderId!)
  return {
    listOrders: ({ query }) => ({ status: 200, body: search(state, query as OrderQuery) }),
    placeOrder({ body }) {
      const input = body as OrderInput
      if (new Set(input.lines.map(line => line.productId)).size !== input.lines.length)
        throw shopInvalid([{ field: '/lines', message: 'must not repeat a product' }])
      return toResponse(place(state, input), 201)
    },
    getOrder: request => toResponse(orderOf(request)),
    updateOrder(request) {
      const order = orderOf(request)
      checkShopIfMatch(order, request.ifMatch)
      checkPlaced(order, 'changed')
      return update(order, request.body as { readonly shippingAddress?: Address; readonly note?: string })
    },
    deleteOrder(request) {
      const order = orderOf(request)
      if (order.status !== 'cancelled') {
        const detail = `Order ${order.id} is ${order.status}; only cancelled orders can be deleted.`
        throw shopConflict('not-cancelled', detail)
      }
      state.orders.delete(order.id)
      return { status: 204 }
    },
    shipOrder(request) {
      const order = orderOf(request)
      checkPlaced(order, 'shipped')
      const shipped = request.body as { readonly carrier: string; readonly trackingCode?: string }
      const shipment = { ...shipped, shippedAt: new Date().toISOString() }
      return update(order, { status: 'shipped', shipment })
    },
    cancelOrder(request) {
      const order = orderOf(request)
      checkPlaced(order, 'cancelled')
      for (const line of order.lines) state.products.get(line.productId).stock += line.quantity
      const { reason = '' } = request.body as { readonly reason?: string }
      const cancellation = { reason, cancelledAt: new Date().toISOString() }
      return update(order, { status: 'cancelled', cancellation })
    },
  }
}

function search(state: ShopState, { status, customerId, placedAfter, total, ...paging }: OrderQuery) {
  const found = state.orders
    .all()
    .filter(
      order =>
        (status === undefined || status.includes(order.status)) &&
        (customerId === undefined || order.customerId === customerId) &&
        (placedAfter === undefined || Date.parse(order.createdAt) >= Date.parse(placedAfter)) &&
        order.totalCents >= (total?.min ?? 0) &&
        order.totalCents <= (total?.max ?? Number.MAX_SAFE_INTEGER),
    )
  return shopPageOf(found.reverse(), paging)
}

function checkPlaced(order: Order, wish: string): void {
  if (order.status === 'placed') return
  const detail = `Order ${order.id} is ${order.status}; only a placed order can be ${wish}.`
  throw shopConflict('wrong-state', detail)
}

function update(order: Order, values: Partial<Order>): ShopResponse {
  Object.assign(order, values)
  markChanged(order)
  return toResponse(order)
}
