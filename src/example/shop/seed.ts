/** The records of a new shop, and the function that opens one. */
import { lineOf } from './placing.ts'
import { type Address, born, type Order, type OrderStatus, ShopState } from './state.ts'

const OPENED = '2026-01-05T08:00:00.000Z'

type CategorySeed = readonly [name: string, children?: readonly CategorySeed[]]

/** C-1 to C-11, parents before their children. */
const CATEGORIES: readonly CategorySeed[] = [
  ['Coffee', [['Beans', [['Espresso'], ['Filter']]], ['Ground'], ['Decaf']]],
  ['Equipment', [['Grinders'], ['Brewers'], ['Cups']]],
  ['Tea'],
]

/** P-1001 to P-1012: SKU, name, cents, category, stock, tags, description. */
const PRODUCTS: readonly (readonly [string, string, number, string, number, string[], string])[] = [
  ['ESP-HOUSE', 'House espresso 1 kg', 2190, 'C-3', 50_000, ['organic'], 'Dark, chocolate, low acidity.'],
  ['ESP-SIDAMO', 'Sidamo espresso 500 g', 1490, 'C-3', 80, ['organic', 'fairtrade'], 'Berries and cocoa.'],
  ['FIL-KENYA', 'Kenya AA filter 250 g', 1090, 'C-4', 120, ['fairtrade'], 'Blackcurrant, bright.'],
  ['FIL-HUILA', 'Huila filter 250 g', 950, 'C-4', 64, ['organic', 'fairtrade'], 'Caramel and orange.'],
  ['GRD-MOKA', 'Moka pot blend, ground 250 g', 790, 'C-5', 200, [], 'Ground for the stove.'],
  ['DEC-MEXICO', 'Mexico decaf 250 g', 990, 'C-6', 40, ['organic'], 'Decaffeinated with water.'],
  ['GRN-HAND', 'Hand grinder, steel burrs', 8900, 'C-8', 15, [], 'Stepless, 30 g.'],
  ['GRN-ELEC', 'Electric grinder', 24_900, 'C-8', 6, [], 'Sixty settings, quiet.'],
  ['BRW-V60', 'Pour-over dripper, ceramic', 2450, 'C-9', 35, [], 'For one or two cups.'],
  ['BRW-PRESS', 'French press 1 l', 3200, 'C-9', 0, [], 'Glass and steel. Sold out at the moment.'],
  ['CUP-SET', 'Espresso cups, set of four', 2800, 'C-10', 22, ['engravable'], 'Thick porcelain.'],
  ['TEA-SENCHA', 'Sencha 100 g', 1350, 'C-11', 48, ['organic'], 'First flush.'],
]

const ADDRESSES: Readonly<Record<string, Address>> = {
  vega: {
    recipient: 'Ada Vega',
    street: 'Lindenallee 7',
    postalCode: '50968',
    city: 'Köln',
    country: 'DE',
  },
  office: {
    recipient: 'Brandt & Partner',
    street: 'Hafenstraße 12',
    postalCode: '20457',
    city: 'Hamburg',
    country: 'DE',
  },
  roy: {
    recipient: 'Mina Roy',
    street: '4 Rue des Lices',
    postalCode: '35000',
    city: 'Rennes',
    country: 'FR',
  },
}

/** K-1 to K-3. */
const CUSTOMERS: readonly (readonly [string, string, string | null, Record<string, Address>])[] = [
  ['Ada Vega', 'ada.vega@example.com', '+49 221 5550100', { home: ADDRESSES.vega! }],
  ['Jonas Brandt', 'jonas.brandt@example.com', null, { office: ADDRESSES.office! }],
  ['Mina Roy', 'mina.roy@example.com', '+33 2 99555010', { home: ADDRESSES.roy! }],
]

type OrderSeed = readonly [
  customerId: string,
  address: string,
  status: OrderStatus,
  day: string,
  pieces: Readonly<Record<string, number>>,
]

/** O-5001 to O-5006: customer, its address, state, day of placing, pieces of each product. */
const ORDERS: readonly OrderSeed[] = [
  ['K-1', 'vega', 'delivered', '2026-02-11', { 'P-1001': 2, 'P-1011': 1 }],
  ['K-2', 'office', 'delivered', '2026-03-02', { 'P-1001': 10, 'P-1008': 1 }],
  ['K-3', 'roy', 'cancelled', '2026-03-09', { 'P-1007': 1 }],
  ['K-3', 'roy', 'delivered', '2026-04-20', { 'P-1009': 1, 'P-1003': 3 }],
  ['K-1', 'vega', 'shipped', '2026-05-18', { 'P-1002': 2 }],
  ['K-2', 'office', 'placed', '2026-05-19', { 'P-1001': 8, 'P-1012': 2 }],
]

/** A new shop with its seed. */
export function openShop(): ShopState {
  const state = new ShopState()
  const grow = (seeds: readonly CategorySeed[], parentId: string | undefined): void => {
    for (const [name, children = []] of seeds)
      grow(children, state.categories.add(id => ({ id, name, parentId })).id)
  }
  grow(CATEGORIES, undefined)
  for (const [sku, name, priceCents, categoryId, stock, tags, description] of PRODUCTS) {
    const fields = { sku, name, description, priceCents, currency: 'EUR', categoryId, tags, stock } as const
    state.products.add(id => ({ id, ...fields, tags: [...tags], ...born(OPENED) }))
  }
  for (const [name, email, phone, addresses] of CUSTOMERS)
    state.customers.add(id => ({ id, name, email, phone, addresses: { ...addresses }, ...born(OPENED) }))
  for (const [customerId, address, status, day, wanted] of ORDERS) {
    const lines = Object.entries(wanted).map(([productId, pieces]) =>
      lineOf(state.products.get(productId), pieces),
    )
    state.orders.add(id =>
      orderOf(id, customerId, ADDRESSES[address]!, status, `${day}T10:30:00.000Z`, lines),
    )
  }
  const review = { productId: 'P-1001', rating: 5, text: 'The whole office runs on it.' }
  state.reviews.add(id => ({ id, customerId: 'K-2', ...review, createdAt: '2026-03-12T09:00:00.000Z' }))
  return state
}

function orderOf(
  id: string,
  customerId: string,
  address: Address,
  status: OrderStatus,
  at: string,
  lines: Order['lines'],
): Order {
  return {
    id,
    customerId,
    status,
    lines,
    totalCents: lines.reduce((sum, line) => sum + line.totalCents, 0),
    currency: 'EUR',
    shippingAddress: { ...address },
    billingAddress: { ...address },
    note: '',
    ...born(at),
    ...(status === 'shipped' || status === 'delivered'
      ? { shipment: { carrier: 'post', shippedAt: at } }
      : undefined),
    ...(status === 'cancelled' ? { cancellation: { reason: 'Ordered twice.', cancelledAt: at } } : undefined),
  }
}
