/** Orders from placed to shipped or cancelled: finding, placing, changing, deleting. */
import { readAddress } from './customers.ts'
import type { ShopFields } from './fields.ts'
import type { Idempotency } from './idempotency.ts'
import { readPaging, shopPageOf } from './paging.ts'
import { type OrderInput, place, shown } from './placing.ts'
import { shopConflict } from './problem.ts'
import type { ShopRequest, ShopResponse } from './request.ts'
import type { Route } from './router.ts'
import { changed, checkShopIfMatch, type Order, type OrderStatus, type ShopState } from './state.ts'

const STATUSES = ['placed', 'shipped', 'delivered', 'cancelled'] as const
const NOTE = { max: 500 }
const TOTAL = { min: 0, max: Number.MAX_SAFE_INTEGER }

export function orderRoutes(state: ShopState, idempotency: Idempotency): Route[] {
  const orderOf = (request: ShopRequest): Order => state.orders.get(request.param('orderId'))
  return [
    {
      method: 'GET',
      path: '/orders',
      handle: request => ({
        status: 200,
        body: search(
          state,
          request.query({ integers: ['page', 'limit'], lists: ['status'], objects: ['total'] }),
        ),
      }),
    },
    {
      method: 'POST',
      path: '/orders',
      handle: request =>
        idempotency.run(request, 'placeOrder', () => shown(place(state, readOrder(request.body())), 201)),
    },
    { method: 'GET', path: '/orders/{orderId}', handle: request => shown(orderOf(request)) },
    {
      method: 'PATCH',
      path: '/orders/{orderId}',
      handle: request => update(orderOf(request), request.body(), request.header('if-match')),
    },
    {
      method: 'DELETE',
      path: '/orders/{orderId}',
      handle: request => {
        const order = orderOf(request)
        if (order.status !== 'cancelled')
          throw shopConflict(
            'not-cancelled',
            `Order ${order.id} is ${order.status}; only cancelled ones can go.`,
          )
        state.orders.delete(order.id)
        return { status: 204 }
      },
    },
    {
      method: 'POST',
      path: '/orders/{orderId}/ship',
      handle: request => ship(orderOf(request), request.body()),
    },
    {
      method: 'POST',
      path: '/orders/{orderId}/cancel',
      handle: request => cancel(state, orderOf(request), request.body()),
    },
  ]
}

function search(state: ShopState, fields: ShopFields): object {
  const statuses = fields.optional('status', () =>
    fields.list('status', { min: 1, max: 4 }, (items, at): OrderStatus => items.oneOf(at, STATUSES)),
  )
  const customerId = fields.optional('customerId', () => fields.text('customerId', { max: 20 }))
  const after = fields.optional('placedAfter', () => fields.dateTime('placedAfter'))
  const total = fields.optional('total', () =>
    fields.object('total', bounds => ({
      min: bounds.optional('min', () => bounds.integer('min', TOTAL)) ?? 0,
      max: bounds.optional('max', () => bounds.integer('max', TOTAL)) ?? TOTAL.max,
    })),
  )
  const paging = readPaging(fields)
  fields.done()
  const found = state.orders
    .all()
    .filter(
      order =>
        (statuses === undefined || statuses.includes(order.status)) &&
        (customerId === undefined || order.customerId === customerId) &&
        (after === undefined || Date.parse(order.createdAt) >= Date.parse(after)) &&
        (total === undefined || (order.totalCents >= total.min && order.totalCents <= total.max)),
    )
  return shopPageOf(found.reverse(), paging)
}

function readOrder(fields: ShopFields): OrderInput {
  const customerId = fields.text('customerId', { min: 1, max: 20 })
  const lines = fields.list('lines', { min: 1, max: 50 }, (items, at) => items.object(at, readLine))
  const products = lines.map(line => line.productId)
  if (new Set(products).size !== products.length) fields.fault('lines', 'must not repeat a product')
  const shippingAddress = fields.object('shippingAddress', readAddress)
  const billingAddress = fields.optional('billingAddress', () => fields.object('billingAddress', readAddress))
  const note = fields.optional('note', () => fields.text('note', NOTE)) ?? ''
  fields.done()
  return {
    customerId,
    lines,
    shippingAddress,
    note,
    ...(billingAddress === undefined ? undefined : { billingAddress }),
  }
}

function readLine(fields: ShopFields): OrderInput['lines'][number] {
  const productId = fields.text('productId', { min: 1, max: 20 })
  const quantity = fields.integer('quantity', { min: 1, max: 100 })
  const engraving = fields.optional('engraving', () =>
    fields.object('engraving', inner => ({
      text: inner.text('text', { min: 1, max: 40 }),
      font: inner.optional('font', () => inner.oneOf('font', ['plain', 'script'])) ?? ('plain' as const),
    })),
  )
  return { productId, quantity, ...(engraving === undefined ? undefined : { engraving }) }
}

function checkPlaced(order: Order, wish: string): void {
  if (order.status !== 'placed')
    throw shopConflict(
      'wrong-state',
      `Order ${order.id} is ${order.status}; only a placed order can be ${wish}.`,
    )
}

function update(order: Order, fields: ShopFields, ifMatch: string | undefined): ShopResponse {
  const address = fields.optional('shippingAddress', () => fields.object('shippingAddress', readAddress))
  const note = fields.optional('note', () => fields.text('note', NOTE))
  fields.needsSome()
  fields.done()
  checkShopIfMatch(order, ifMatch)
  checkPlaced(order, 'changed')
  if (address !== undefined) order.shippingAddress = address
  if (note !== undefined) order.note = note
  changed(order)
  return shown(order)
}

function ship(order: Order, fields: ShopFields): ShopResponse {
  const carrier = fields.oneOf('carrier', ['post', 'courier', 'pickup'])
  const trackingCode = fields.optional('trackingCode', () =>
    fields.text('trackingCode', { max: 40, pattern: /^[A-Z0-9-]{4,40}$/, form: 'a code of the carrier' }),
  )
  fields.done()
  checkPlaced(order, 'shipped')
  const shippedAt = new Date().toISOString()
  order.status = 'shipped'
  order.shipment = { carrier, shippedAt, ...(trackingCode === undefined ? undefined : { trackingCode }) }
  changed(order)
  return shown(order)
}

function cancel(state: ShopState, order: Order, fields: ShopFields): ShopResponse {
  const reason = fields.optional('reason', () => fields.text('reason', { max: 200 })) ?? ''
  fields.done()
  checkPlaced(order, 'cancelled')
  for (const line of order.lines) state.products.get(line.productId).stock += line.quantity
  order.status = 'cancelled'
  order.cancellation = { reason, cancelledAt: new Date().toISOString() }
  changed(order)
  return shown(order)
}
