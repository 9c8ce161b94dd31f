/** What customers do in the example shop: carts, orders, reviews, accounts. Every response is checked against the document. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ShopClient } from './shop-client.ts'

let client: ShopClient
beforeEach(async () => {
  client = await ShopClient.open()
})
afterEach(() => client.shop.close())

const ADDRESS = {
  recipient: 'Ada Vega',
  street: 'Lindenallee 7',
  postalCode: '50968',
  city: 'Köln',
  country: 'DE',
}
const ORDER = { customerId: 'K-1', lines: [{ productId: 'P-1002', quantity: 2 }], shippingAddress: ADDRESS }

async function stockOf(productId: string): Promise<number> {
  return (await client.ask(`GET /products/${productId}`)).body.stock
}

describe('placing an order', () => {
  it('fixes the prices, takes the stock and bills to the shipping address', async () => {
    const lines = [{ productId: 'P-1011', quantity: 2, engraving: { text: 'Ada' } }]
    const { status, body, headers } = await client.ask('POST /orders', { body: { ...ORDER, lines } })
    expect(status).toBe(201)
    expect(headers.get('etag')).toBe('"v1"')
    expect(body).toMatchObject({ status: 'placed', totalCents: 5600, billingAddress: ADDRESS })
    expect(body.lines[0].engraving).toEqual({ text: 'Ada', font: 'plain' })
    expect(await stockOf('P-1011')).toBe(20)
    await client.ask('PATCH /products/P-1011', { body: { priceCents: 9999 } })
    expect((await client.ask(`GET /orders/${body.id}`)).body.totalCents).toBe(5600)
  })

  it('responds to a repeated Idempotency-Key with the first order and takes the stock once', async () => {
    const headers = { 'idempotency-key': 'order-0001' }
    const first = await client.ask('POST /orders', { body: ORDER, headers })
    await client.ask(`POST /orders/${first.body.id}/ship`, { body: { carrier: 'post' } })
    const again = await client.ask('POST /orders', { body: ORDER, headers })
    expect(again.status).toBe(201)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.body).toEqual(first.body)
    expect(await stockOf('P-1002')).toBe(78)
    const other = await client.ask('POST /orders', { body: { ...ORDER, note: 'x' }, headers })
    expect(other.status).toBe(422)
  })

  it('refuses what is not in stock, naming product and stock, and takes nothing', async () => {
    const lines = [
      { productId: 'P-1001', quantity: 1 },
      { productId: 'P-1010', quantity: 1 },
    ]
    const { status, body } = await client.ask('POST /orders', { body: { ...ORDER, lines } })
    expect(status).toBe(409)
    expect(body.type).toBe('urn:shop:problem:out-of-stock')
    expect(body.detail).toMatch(/P-1010 .* has 0 pieces left/)
    expect(await stockOf('P-1001')).toBe(50_000)
  })

  it('names every faulty field of a nested body at once', async () => {
    const body = {
      customerId: 7,
      lines: [{ productId: 'P-1001', quantity: 0, colour: 'red' }],
      shippingAddress: { ...ADDRESS, country: 'Germany' },
    }
    const { status, body: problem } = await client.ask('POST /orders', { body })
    expect(status).toBe(400)
    expect(problem.errors.map((fault: { field: string }) => fault.field)).toEqual([
      '/customerId',
      '/lines/0/colour',
      '/lines/0/quantity',
      '/shippingAddress/country',
    ])
  })

  it('refuses the same product on two lines', async () => {
    const lines = [ORDER.lines[0], ORDER.lines[0]]
    expect((await client.ask('POST /orders', { body: { ...ORDER, lines } })).status).toBe(400)
  })
})

describe('the life of an order', () => {
  it('goes from placed to shipped, and then neither changes nor is cancelled', async () => {
    const { id } = (await client.ask('POST /orders', { body: ORDER })).body
    const changed = await client.ask(`PATCH /orders/${id}`, {
      body: { note: 'ring twice' },
      headers: { 'if-match': '"v1"' },
    })
    expect(changed.body).toMatchObject({ note: 'ring twice', version: 2 })
    const stale = await client.ask(`PATCH /orders/${id}`, {
      body: { note: 'x' },
      headers: { 'if-match': '"v1"' },
    })
    expect(stale.status).toBe(412)
    const shipped = await client.ask(`POST /orders/${id}/ship`, {
      body: { carrier: 'post', trackingCode: 'DE-1234' },
    })
    expect(shipped.body).toMatchObject({
      status: 'shipped',
      shipment: { carrier: 'post', trackingCode: 'DE-1234' },
    })
    expect((await client.ask(`PATCH /orders/${id}`, { body: { note: 'x' } })).status).toBe(409)
    expect((await client.ask(`POST /orders/${id}/cancel`)).status).toBe(409)
    expect((await client.ask(`DELETE /orders/${id}`)).status).toBe(409)
  })

  it('gives the stock back when it is cancelled, and can then be deleted', async () => {
    const { id } = (await client.ask('POST /orders', { body: ORDER })).body
    const cancelled = await client.ask(`POST /orders/${id}/cancel`, { body: { reason: 'too late' } })
    expect(cancelled.body.cancellation.reason).toBe('too late')
    expect(await stockOf('P-1002')).toBe(80)
    expect((await client.ask(`DELETE /orders/${id}`)).status).toBe(204)
    expect((await client.ask(`GET /orders/${id}`)).status).toBe(404)
  })
})

describe('finding orders', () => {
  it.each([
    ['status=placed,shipped', ['O-5006', 'O-5005']],
    ['status=placed&status=cancelled', ['O-5006', 'O-5003']],
    ['customerId=K-1', ['O-5005', 'O-5001']],
    ['placedAfter=2026-05-18T12:00:00Z', ['O-5006']],
    ['total[min]=8900&total[max]=20220', ['O-5006', 'O-5003']],
    ['total%5Bmax%5D=2980', ['O-5005']],
    ['limit=2&page=2', ['O-5004', 'O-5003']],
  ])('by %s', async (query, ids) => {
    const { body } = await client.ask(`GET /orders?${query}`)
    expect(body.items.map((order: { id: string }) => order.id)).toEqual(ids)
  })

  it.each(['page=0', 'limit=many', 'status=lost', 'placedAfter=yesterday', 'total[min]=-1', 'unknown=1'])(
    'refuses %s',
    async query => {
      const { status, body } = await client.ask(`GET /orders?${query}`)
      expect(status).toBe(400)
      expect(body.errors).toHaveLength(1)
    },
  )
})

describe('the cart', () => {
  it('is filled, shown with the total, ordered and then empty', async () => {
    await client.ask('PUT /customers/K-1/cart/items/P-1003', { body: { quantity: 3 } })
    await client.ask('PUT /customers/K-1/cart/items/P-1009', { body: { quantity: 1 } })
    expect((await client.ask('DELETE /customers/K-1/cart/items/P-1009')).status).toBe(204)
    expect((await client.ask('DELETE /customers/K-1/cart/items/P-1009')).status).toBe(404)
    expect((await client.ask('GET /customers/K-1/cart')).body.totalCents).toBe(3270)
    const wrong = await client.ask('POST /customers/K-1/cart/checkout', { body: { addressLabel: 'moon' } })
    expect(wrong.body.errors[0].message).toContain('home')
    const order = await client.ask('POST /customers/K-1/cart/checkout', { body: { addressLabel: 'home' } })
    expect(order.body).toMatchObject({ customerId: 'K-1', totalCents: 3270, status: 'placed' })
    expect((await client.ask('GET /customers/K-1/cart')).body.lines).toEqual([])
    const empty = await client.ask('POST /customers/K-1/cart/checkout', { body: { addressLabel: 'home' } })
    expect(empty.status).toBe(409)
  })
})

describe('reviews', () => {
  it('come from customers whose order was shipped, once each', async () => {
    const body = { customerId: 'K-1', rating: 4, text: 'good' }
    expect((await client.ask('POST /products/P-1001/reviews', { body })).status).toBe(201)
    expect((await client.ask('POST /products/P-1001/reviews', { body })).status).toBe(409)
    const stranger = { customerId: 'K-3', rating: 1 }
    expect((await client.ask('POST /products/P-1001/reviews', { body: stranger })).status).toBe(409)
    const { body: page } = await client.ask('GET /products/P-1001/reviews?minRating=5')
    expect(page).toMatchObject({ averageRating: 4.5, total: 1 })
  })
})

describe('customers', () => {
  it('are created with addresses, changed field by field, and have unique e-mail addresses', async () => {
    const body = {
      name: 'Li Wen',
      email: 'li@example.com',
      phone: '+49 30 555',
      addresses: { home: ADDRESS },
    }
    const { id } = (await client.ask('POST /customers', { body })).body
    expect((await client.ask('POST /customers', { body: { ...body, email: 'LI@example.com' } })).status).toBe(
      409,
    )
    expect((await client.ask(`PATCH /customers/${id}`, { body: { phone: null } })).body.phone).toBeNull()
    const { body: moved } = await client.ask(`PUT /customers/${id}/addresses/office-2`, { body: ADDRESS })
    expect(Object.keys(moved.addresses)).toEqual(['home', 'office-2'])
    expect((await client.ask(`PUT /customers/${id}/addresses/Office`, { body: ADDRESS })).status).toBe(400)
    expect((await client.ask('GET /customers?q=li@')).body.items).toHaveLength(1)
  })
})
