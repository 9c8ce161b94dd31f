/** A subscription to a product at a running gateway: one key and one quota for all of its APIs, none for another API, and a changed or deleted product. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Subscribed, type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

/** Publication reaches the gateway within a second; the bound leaves time for a busy machine. */
const REACHES = { timeout: 15_000, interval: 20 }

let world: TwoTenants
let apis: Subscribed[]
let product: string
let subscription: string
let key: string
let token: string

const made = async (path: string, body: object) => {
  const reply = await world.api('POST', `/tenants/${world.beta}${path}`, world.root, body)
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.json)}`)
  return reply.json
}

beforeAll(async () => {
  world = await twoTenants()
  apis = []
  for (const name of ['first', 'second', 'third'])
    apis.push(await world.subscribe(world.beta, `/${name}`, `list_${name}`, `owner-${name}`))
  const [first, second] = apis
  const fields = { slug: 'both', name: 'Both', plan: 'enterprise', api_ids: [first!.apiId, second!.apiId] }
  product = (await made('/products', fields)).id
  subscription = (await made('/subscriptions', { product_id: product, application: 'shop' })).id
  key = (await made(`/subscriptions/${subscription}/approve`, {})).api_key
  token = await world.token({ id: 'shop', tenant: 'beta' })
})
afterAll(() => world?.stop())

const get = async (path: string, credential: string) =>
  (await world.call('GET', `/t/beta${path}/x`, credential)).status
const tool = async (at: number, credential: string) => {
  const body = { name: apis[at]!.tool, arguments: {} }
  return (await world.call('POST', '/mcp/tools/call', credential, body)).status
}

it('opens every API of the product, as path and as tool, by key and by token', async () => {
  await expect.poll(() => get('/first', key), REACHES).toBe(200)
  expect(await get('/second', key)).toBe(200)
  for (const at of [0, 1]) expect(await tool(at, key)).toBe(200)
  await expect.poll(() => get('/second', token), REACHES).toBe(200)
})

it('opens no other API', async () => {
  expect(await get('/third', key)).toBe(403)
  expect(await tool(2, key)).toBe(403)
  expect(await get('/third', token)).toBe(403)
  const listed = await world.call('POST', '/mcp/v1/tools', key, {})
  const text = JSON.stringify(listed.json)
  expect(text).toContain(apis[0]!.tool)
  expect(text).toContain(apis[1]!.tool)
  expect(text).not.toContain(apis[2]!.tool)
})

it('counts the calls of all APIs together', async () => {
  const at = `/tenants/${world.beta}/subscriptions/${subscription}`
  expect((await world.api('PATCH', at, world.root, { rate_limit: 3 })).status).toBe(200)
  // the limit counts from its first call on
  await expect
    .poll(async () => {
      const statuses = []
      for (const path of ['/first', '/second', '/first', '/second']) statuses.push(await get(path, key))
      return statuses.at(-1)
    }, REACHES)
    .toBe(429)
  expect(await get('/first', key)).toBe(429)
  expect(await tool(1, key)).toBe(429)
  expect((await world.api('PATCH', at, world.root, { rate_limit: null })).status).toBe(200)
  await expect.poll(() => get('/first', key), REACHES).toBe(200)
})

it('opens what the product has now', async () => {
  const at = `/tenants/${world.beta}/products/${product}`
  const api_ids = [apis[1]!.apiId, apis[2]!.apiId]
  expect((await world.api('PATCH', at, world.root, { api_ids })).status).toBe(200)
  await expect.poll(() => get('/third', key), REACHES).toBe(200)
  expect(await get('/first', key)).toBe(403)
  expect((await world.api('DELETE', at, world.root)).status).toBe(204)
  await expect.poll(() => get('/second', key), REACHES).toBe(401)
})
