/** The example shop as a server: catalog, document, errors, streaming, shutdown. What `ask` receives is checked against the document. */
import { request } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ShopClient } from './shop-client.ts'

let client: ShopClient
beforeEach(async () => {
  client = await ShopClient.open()
})
afterEach(() => client.shop.close())

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const PRODUCT = {
  sku: 'CUP-RED',
  name: 'Red cup',
  priceCents: 900,
  categoryId: 'C-10',
  tags: ['new'],
  stock: 3,
}

describe('the document', () => {
  it('lists exactly the methods that each path takes', async () => {
    for (const [path, item] of Object.entries(client.document.paths)) {
      const response = await fetch(client.shop.url + path.replace(/\{[^}]+\}/g, 'x'), { method: 'OPTIONS' })
      expect(response.status).toBe(405)
      const taken = response.headers.get('allow')!.toLowerCase().split(', ')
      expect(taken.sort(), path).toEqual(METHODS.filter(method => item[method] !== undefined).sort())
    }
  })

  it('has at least 16 operations of all five methods, each with its own id', () => {
    const operations = Object.values(client.document.paths).flatMap(item =>
      METHODS.flatMap(method => (item[method] === undefined ? [] : [{ method, ...item[method] }])),
    )
    expect(operations.length).toBeGreaterThanOrEqual(16)
    expect(new Set(operations.map(operation => operation.method))).toEqual(new Set(METHODS))
    expect(new Set(operations.map(operation => operation.operationId)).size).toBe(operations.length)
  })
})

describe('products', () => {
  it.each([
    ['q=GRINDER', ['P-1008', 'P-1007']],
    ['tags=organic&tags=fairtrade', ['P-1004', 'P-1002']],
    ['tags=organic,fairtrade&sort=-price', ['P-1002', 'P-1004']],
    ['categoryId=C-2&maxPriceCents=1090&sort=price', ['P-1004', 'P-1003']],
    ['inStock=false', ['P-1010']],
    ['q=nothing%20like%20it', []],
  ])('are found by %s', async (query, ids) => {
    const { body } = await client.ask(`GET /products?${query}`)
    expect(body.items.map((product: { id: string }) => product.id)).toEqual(ids)
  })

  it('are created, replaced as a whole, changed in part and deleted', async () => {
    const { status, body } = await client.ask('POST /products', { body: PRODUCT })
    expect(status).toBe(201)
    const { tags: _, stock: __, ...bare } = PRODUCT
    const replaced = await client.ask(`PUT /products/${body.id}`, {
      body: bare,
      headers: { 'if-match': '"v1"' },
    })
    expect(replaced.body).toMatchObject({ tags: [], stock: 0, version: 2 })
    const patch = { body: { priceCents: 1 }, headers: { 'if-match': '"v1"' } }
    expect((await client.ask(`PATCH /products/${body.id}`, patch)).status).toBe(412)
    expect((await client.ask(`PATCH /products/${body.id}`, { body: { priceCents: 1 } })).body.name).toBe(
      'Red cup',
    )
    expect((await client.ask(`PATCH /products/${body.id}`, { body: {} })).status).toBe(400)
    expect((await client.ask(`DELETE /products/${body.id}`)).status).toBe(204)
    expect((await client.ask(`GET /products/${body.id}`)).status).toBe(404)
  })

  it('keep their SKU to themselves and stay while an open order holds them', async () => {
    expect((await client.ask('POST /products', { body: { ...PRODUCT, sku: 'ESP-HOUSE' } })).status).toBe(409)
    const held = await client.ask('DELETE /products/P-1001')
    expect(held.status).toBe(409)
    expect(held.body.detail).toContain('O-5006')
    const nowhere = await client.ask('POST /products', { body: { ...PRODUCT, categoryId: 'C-99' } })
    expect(nowhere.body.errors[0].field).toBe('/categoryId')
  })

  it('never have less than nothing in stock', async () => {
    const take = { delta: -16, reason: 'breakage' }
    expect((await client.ask('POST /products/P-1007/stock', { body: take })).status).toBe(409)
    const { body } = await client.ask('POST /products/P-1007/stock', { body: { ...take, delta: -15 } })
    expect(body.stock).toBe(0)
  })
})

describe('categories', () => {
  it('are a tree that can be cut by depth', async () => {
    const { body: tree } = await client.ask('GET /categories')
    expect(tree[0]).toMatchObject({ name: 'Coffee', productCount: 6 })
    expect(tree[0].children[0].children[1]).toMatchObject({ name: 'Filter', productCount: 2 })
    const { body: tops } = await client.ask('GET /categories?depth=1')
    expect(tops.map((top: { children: unknown[] }) => top.children)).toEqual([[], [], []])
  })

  it('are created as a whole tree or not at all', async () => {
    const category = {
      name: 'Gifts',
      children: [{ name: 'Sets', children: [{ name: 'Large' }] }, { name: 'Cards' }],
    }
    const { status, body } = await client.ask('POST /categories', { body: { category } })
    expect(status).toBe(201)
    expect(body.children[0].children[0].name).toBe('Large')
    expect((await client.ask('POST /categories', { body: { category } })).status).toBe(409)
    const twins = { name: 'Twins', children: [{ name: 'A' }, { name: 'A' }] }
    expect((await client.ask('POST /categories', { body: { category: twins } })).status).toBe(400)
    const deep = Array.from({ length: 9 }).reduce<object>(child => ({ name: 'x', children: [child] }), {
      name: 'x',
    })
    expect((await client.ask('POST /categories', { body: { category: deep } })).status).toBe(400)
    const below = { parentId: body.children[0].children[0].id, category: { name: 'Gifts', children: [] } }
    expect((await client.ask('POST /categories', { body: below })).status).toBe(201)
    expect((await client.ask('GET /categories')).body).toHaveLength(4)
  })

  it('are deleted only when empty', async () => {
    expect((await client.ask('DELETE /categories/C-10')).status).toBe(409)
    await client.ask('DELETE /products/P-1011')
    expect((await client.ask('DELETE /categories/C-10')).status).toBe(204)
  })
})

describe('the sales report', () => {
  it('streams a line per step, each when its work is done, and the figures last', async () => {
    const response = await fetch(`${client.shop.url}/reports/sales?groupBy=month&stepMs=60`)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    const arrivals: number[] = []
    let text = ''
    for await (const part of response.body!) {
      arrivals.push(performance.now())
      text += Buffer.from(part).toString()
    }
    const lines = text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines.map(line => line.step)).toEqual([1, 2, 3, 4, 5])
    expect(lines.every(line => line.total === 5)).toBe(true)
    expect(lines.at(-1).report.totalCents).toBe(82_900)
    expect(arrivals.at(-1)! - arrivals[0]!).toBeGreaterThan(100)
  })

  it('may lose its caller, and the shop goes on', async () => {
    const leaving = new AbortController()
    const response = await fetch(`${client.shop.url}/reports/sales?stepMs=50`, { signal: leaving.signal })
    await response.body!.getReader().read()
    leaving.abort()
    expect((await client.ask('GET /products?limit=1')).status).toBe(200)
  })
})

describe('errors', () => {
  it('are problem documents that say what to do', async () => {
    const failure = await client.ask('GET /diagnostics/failure')
    expect(failure.status).toBe(500)
    expect(failure.headers.get('content-type')).toBe('application/problem+json')
    expect(failure.body.type).toBe('urn:shop:problem:on-purpose')
    expect((await client.ask('GET /nowhere')).status).toBe(404)
  })

  it.each([
    ['not JSON', { headers: { 'content-type': 'application/json' }, body: '{' }, 400],
    ['another media type', { headers: { 'content-type': 'text/plain' }, body: 'x' }, 415],
    ['a list', { headers: { 'content-type': 'application/json' }, body: '[]' }, 400],
    ['too much', { headers: { 'content-type': 'application/json' }, body: `"${'x'.repeat(70_000)}"` }, 413],
  ])('refuse a body that is %s', async (_, init, status) => {
    const response = await fetch(`${client.shop.url}/orders`, { method: 'POST', ...init })
    expect(response.status).toBe(status)
    expect(((await response.json()) as { status: number }).status).toBe(status)
  })

  it('refuse a body whose length is not declared once it grows too large', async () => {
    const status = await new Promise(resolve => {
      const sent = request(`${client.shop.url}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      })
      sent.on('response', response => resolve(response.statusCode)).on('error', () => {})
      sent.write(Buffer.alloc(70_000, 'x'))
    })
    expect(status).toBe(413)
  })
})

describe('stopping', () => {
  it('cuts connections, and a shop started again is as at first', async () => {
    await client.ask('POST /orders/O-5006/cancel')
    // its first line has arrived: the request is open
    const open = await fetch(`${client.shop.url}/reports/sales?stepMs=200`)
    expect(open.status).toBe(200)
    await Promise.all([expect(open.text()).rejects.toThrow('terminated'), client.shop.close()])
    client = await ShopClient.open()
    expect((await client.ask('GET /orders/O-5006')).body.status).toBe('placed')
  })
})
