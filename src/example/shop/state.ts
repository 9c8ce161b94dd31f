/** The state of the shop: types of records, collections, carts, and versions with their check. */
import { full, ShopProblem, shopNotFound } from './problem.ts'

export interface Versioned {
  version: number
  readonly createdAt: string
  updatedAt: string
}

export interface Product extends Versioned {
  readonly id: string
  sku: string
  name: string
  description: string
  priceCents: number
  readonly currency: 'EUR'
  categoryId: string
  tags: string[]
  stock: number
}

export interface Category {
  readonly id: string
  readonly name: string
  readonly parentId: string | undefined
}

export interface Address {
  recipient: string
  street: string
  postalCode: string
  city: string
  country: string
}

export interface Customer extends Versioned {
  readonly id: string
  name: string
  email: string
  phone: string | null
  addresses: Record<string, Address>
}

export interface Review {
  readonly id: string
  readonly productId: string
  readonly customerId: string
  readonly rating: number
  readonly text: string
  readonly createdAt: string
}

export type OrderStatus = 'placed' | 'shipped' | 'delivered' | 'cancelled'

export interface OrderLine {
  readonly productId: string
  readonly name: string
  readonly quantity: number
  /** When it was ordered: later changes of the price do not reach it. */
  readonly unitPriceCents: number
  readonly totalCents: number
  readonly engraving?: { readonly text: string; readonly font: 'plain' | 'script' }
}

export interface Order extends Versioned {
  readonly id: string
  readonly customerId: string
  status: OrderStatus
  readonly lines: readonly OrderLine[]
  readonly totalCents: number
  readonly currency: 'EUR'
  shippingAddress: Address
  readonly billingAddress: Address
  note: string
  shipment?: { readonly carrier: string; readonly trackingCode?: string; readonly shippedAt: string }
  cancellation?: { readonly reason: string; readonly cancelledAt: string }
}

/** Records of one kind by id, in the order they were made, never more than `limit`. */
export class Collection<T extends { readonly id: string }> {
  readonly #kind: string
  readonly #plural: string
  readonly #limit: number
  readonly #prefix: string
  readonly #records = new Map<string, T>()
  #next: number

  constructor(kind: string, plural: string, limit: number, prefix: string, first: number) {
    this.#kind = kind
    this.#plural = plural
    this.#limit = limit
    this.#prefix = prefix
    this.#next = first
  }

  get size(): number {
    return this.#records.size
  }

  /** @throws Problem 507 when `count` more records would exceed the limit. */
  reserve(count = 1): void {
    if (this.#records.size + count > this.#limit) throw full(this.#plural, this.#limit)
  }

  add(make: (id: string) => T): T {
    this.reserve()
    const record = make(`${this.#prefix}${this.#next++}`)
    this.#records.set(record.id, record)
    return record
  }

  /** @throws Problem 404 */
  get(id: string): T {
    const record = this.#records.get(id)
    if (record === undefined) throw shopNotFound(this.#kind, id.slice(0, 40))
    return record
  }

  has(id: string): boolean {
    return this.#records.has(id)
  }

  delete(id: string): void {
    this.#records.delete(id)
  }

  all(): T[] {
    return [...this.#records.values()]
  }
}

export class ShopState {
  readonly products = new Collection<Product>('product', 'products', 1000, 'P-', 1001)
  readonly categories = new Collection<Category>('category', 'categories', 500, 'C-', 1)
  readonly customers = new Collection<Customer>('customer', 'customers', 1000, 'K-', 1)
  readonly orders = new Collection<Order>('order', 'orders', 5000, 'O-', 5001)
  readonly reviews = new Collection<Review>('review', 'reviews', 5000, 'R-', 1)
  /** Customer → product → pieces. */
  readonly carts = new Map<string, Map<string, number>>()
}

export function born(nowIso: string): Versioned {
  return { version: 1, createdAt: nowIso, updatedAt: nowIso }
}

export function markChanged(record: Versioned): void {
  record.version++
  record.updatedAt = new Date().toISOString()
}

export function etagOf(record: Versioned): string {
  return `"v${record.version}"`
}

/** @throws Problem 412 when the caller has read an older version (RFC 9110 §13.1.1). */
export function checkShopIfMatch(record: Versioned, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch === '*' || ifMatch === etagOf(record)) return
  const detail = `The current version is ${etagOf(record)}; read the resource again and repeat the change.`
  throw new ShopProblem(412, 'stale', 'The resource has changed since you read it.', detail)
}
