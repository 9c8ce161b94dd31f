/** Limits of an application and a product or API: they do not begin again with a new subscription to it, over the wire. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Subscribed, type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const REACHES = { timeout: 15_000, interval: 20 }
const PER_DAY = 3

let world: TwoTenants
let api: Subscribed

beforeAll(async () => {
  world = await twoTenants({ WORKERS: '1' })
  api = await world.subscribe(world.beta, '/things', 'listAll', 'another-app')
  const plan = {
    slug: 'three',
    name: 'Three a day',
    daily_request_limit: PER_DAY,
    monthly_request_limit: PER_DAY,
    requires_approval: false,
    tenant_id: world.beta,
  }
  const made = await world.api('POST', '/plans', world.root, plan)
  expect(made.status, made.text).toBe(201)
})
afterAll(() => world?.stop())

async function subscribe(to: object, application: string): Promise<{ id: string; key: string }> {
  const asked = { ...to, application }
  const made = await world.api('POST', `/tenants/${world.beta}/subscriptions`, world.root, asked)
  expect(made.status, made.text).toBe(201)
  return { id: made.json.id, key: made.json.api_key }
}

async function revoke(id: string): Promise<void> {
  const revoked = await world.api('DELETE', `/tenants/${world.beta}/subscriptions/${id}`, world.root)
  expect(revoked.status, revoked.text).toBe(204)
}

const callWith = (key: string) => world.call('GET', '/t/beta/things', key)

async function served(key: string, calls: number): Promise<number> {
  await expect.poll(async () => (await callWith(key)).status, REACHES).not.toBe(401)
  let count = 1
  for (let made = 1; made < calls; made++) if ((await callWith(key)).status === 200) count++
  return count
}

it.each([
  ['an API', async () => ({ api_id: api.apiId, plan: 'three' })],
  [
    'a product',
    async () => {
      const product = { slug: 'shop', name: 'Shop', plan: 'three', api_ids: [api.apiId] }
      const made = await world.api('POST', `/tenants/${world.beta}/products`, world.root, product)
      expect(made.status, made.text).toBe(201)
      return { product_id: made.json.id }
    },
  ],
])(
  'an application that revokes its subscription to %s and subscribes again goes on with its counts',
  async (kind, target) => {
    const to = await target()
    const application = `app of ${kind}`
    const first = await subscribe(to, application)
    expect(await served(first.key, PER_DAY)).toBe(PER_DAY)
    expect((await callWith(first.key)).status).toBe(429)
    for (let again = 0; again < 3; again++) {
      const [{ items }] = [
        (await world.api('GET', `/tenants/${world.beta}/subscriptions?status=approved`, world.root)).json,
      ]
      const current = items.find((each: { application: string }) => each.application === application)
      await revoke(current.id)
      const next = await subscribe(to, application)
      let first = 401
      await expect
        .poll(async () => {
          first = (await callWith(next.key)).status
          return first
        }, REACHES)
        .not.toBe(401)
      expect(first).toBe(429)
    }
    // another application is counted separately
    const other = await subscribe(to, `${application}, too`)
    expect(await served(other.key, PER_DAY)).toBe(PER_DAY)
  },
)
