/** An API that its owner shares with another tenant: seen, subscribed to, called, metered, ended, declared as code; nothing else of the owner is seen. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

/** Publication reaches the gateway within a second; the bound leaves time for a busy machine. */
const REACHES = { timeout: 60_000, interval: 50 }
const DENIED = 403

let world: TwoTenants
/** For acme, which shares it with beta. */
let shared: string
/** For acme, never shared. */
let own: string
let gamma: string
let member: string
let other: string
let admin: string
let stranger: string
let owner: string
let subscription: string
let key: string

const api = (method: string, path: string, token: string, body?: unknown) =>
  world.api(method, path, token, body)
const made = async (path: string, token: string, body: object = {}) => {
  const reply = await api('POST', path, token, body)
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${reply.text}`)
  return reply.json
}
const held = () => `/tenants/${world.acme}/subscriptions/${subscription}`
const share = (ids: readonly string[]) =>
  api('PATCH', `/tenants/${world.acme}/apis/${shared}`, owner, { shared_with: ids })
const ids = async (path: string, token: string) =>
  (await api('GET', path, token)).json.items?.map(({ id }: { id: string }) => id)
const called = async (path = '/t/acme/shared/x') => (await world.call('GET', path, key)).status
const usage = async () => (await api('GET', `${held()}/usage`, member)).json.requests

beforeAll(async () => {
  world = await twoTenants()
  gamma = (await made('/tenants', world.root, { name: 'gamma', tier: 'enterprise' })).id
  const of = (id: string, tenant: string, role: string) =>
    world.token({ id, tenant, roles: [role], scope: 'platform:read platform:write' })
  member = await of('shop', 'beta', 'subscriber')
  other = await of('till', 'beta', 'subscriber')
  admin = await of('boss', 'beta', 'tenant-admin')
  stranger = await of('shop', 'gamma', 'tenant-admin')
  owner = await of('shop', 'acme', 'tenant-admin')
  const register = (name: string) =>
    made(`/tenants/${world.acme}/apis`, owner, {
      name,
      path: `/${name}`,
      upstream_url: world.upstreamUrl,
      portal_visibility: true,
    })
  shared = (await register('shared')).id
  own = (await register('own')).id
}, 600_000)
afterAll(() => world?.stop())

it('is not seen before it is shared', async () => {
  expect(await ids('/portal/apis', member)).not.toContain(shared)
  const body = { api_id: shared, plan: 'gold', application: 'shop' }
  expect((await api('POST', `/tenants/${world.acme}/subscriptions`, member, body)).status).toBe(DENIED)
})

it('is seen in the catalog of the tenant it is shared with, and of no other', async () => {
  expect((await share([world.beta])).json.shared_with).toEqual([world.beta])
  expect(await ids('/portal/apis', member)).toContain(shared)
  expect(await ids('/portal/apis', member)).not.toContain(own)
  const found = (await api('GET', `/portal/apis/${shared}`, member)).json
  expect(found).toMatchObject({ tenant: 'acme', tenant_id: world.acme })
  expect(found.public_url).toMatch(/\/t\/acme\/shared$/)
  expect(Object.keys(found)).not.toContain('upstream_url')
  expect(Object.keys(found)).not.toContain('shared_with')
  expect(await ids('/portal/apis', stranger)).not.toContain(shared)
  expect((await api('GET', `/portal/apis/${shared}`, stranger)).status).toBe(404)
  expect((await api('GET', `/apis/${shared}`, admin)).status).toBe(404)
})

it('is subscribed to by its members, and approved by the owner alone', async () => {
  const all = `/tenants/${world.acme}/subscriptions`
  const body = { api_id: shared, plan: 'gold', application: 'shop' }
  const requested = await made(all, member, body)
  subscription = requested.id
  expect(requested).toMatchObject({ application: 'beta/shop', status: 'pending_approval' })
  // a name of another application, another API of the owner, and another tenant
  expect((await api('POST', all, member, { ...body, application: 'till' })).status).toBe(DENIED)
  expect((await api('POST', all, member, { ...body, api_id: own })).status).toBe(DENIED)
  expect((await api('POST', all, stranger, body)).status).toBe(DENIED)
  expect((await api('POST', all, member, body)).status).toBe(409)
  for (const token of [member, admin, stranger])
    for (const action of ['approve', 'reject', 'suspend', 'resume'])
      expect((await api('POST', `${held()}/${action}`, token, {})).status).toBe(DENIED)
  const approved = await api('POST', `${held()}/approve`, owner, {})
  // the owner does not get a key
  expect([approved.status, approved.json.api_key]).toEqual([200, null])
})

it('is called with keys that the subscriber makes, and its calls are counted', async () => {
  const keys = `/tenants/${world.acme}/apikeys`
  const body = { subscription_id: subscription, name: 'ci' }
  for (const token of [other, stranger]) expect((await api('POST', keys, token, body)).status).toBe(DENIED)
  const issued = await made(keys, member, body)
  key = issued.key
  await expect.poll(() => called(), REACHES).toBe(200)
  expect(await called('/t/acme/own/x')).toBe(403)
  await expect.poll(usage, REACHES).toBeGreaterThan(0)
  expect(await ids(keys, member)).toEqual([issued.id])
  expect(await ids(keys, other)).toEqual([])
  expect((await api('GET', keys, stranger)).status).toBe(DENIED)
  // tokens of the owner's application of that name, and of the subscriber, have no subscription
  for (const tenant of ['acme', 'beta'])
    expect(
      (await world.call('GET', '/t/acme/shared/x', await world.token({ id: 'shop', tenant }))).status,
    ).toBe(403)
})

it('is listed with the subscriptions of its subscriber and of its owner', async () => {
  const mine = (await api('GET', '/subscriptions', member)).json.items
  expect(mine).toMatchObject([{ id: subscription, api_name: 'shared', product_name: null }])
  expect(await ids('/subscriptions', admin)).toEqual([subscription])
  expect(await ids('/subscriptions', other)).toEqual([])
  expect(await ids('/subscriptions', stranger)).toEqual([])
  expect(await ids(`/tenants/${world.acme}/subscriptions`, owner)).toContain(subscription)
  for (const path of ['subscriptions', 'apis', 'consumers', 'plans', 'webhooks'])
    expect([path, (await api('GET', `/tenants/${world.acme}/${path}`, admin)).status]).toEqual([
      path,
      path === 'plans' ? 404 : DENIED,
    ])
  for (const token of [other, stranger]) expect((await api('GET', held(), token)).status).toBe(DENIED)
  expect((await api('GET', held(), admin)).json.application).toBe('beta/shop')
  const { items } = (await api('GET', `/tenants/${world.acme}/consumers?q=beta`, owner)).json
  expect(items).toMatchObject([{ subject: 'beta/shop' }])
})

it('ends with the suspension of either tenant, until it is lifted', async () => {
  for (const tenant of [world.beta, world.acme]) {
    const set = (status: string) => api('PATCH', `/tenants/${tenant}`, world.root, { status })
    expect((await set('suspended')).status).toBe(200)
    await expect.poll(() => called(), REACHES).toBe(403)
    const late = await api('POST', `/tenants/${world.acme}/apikeys`, member, {
      subscription_id: subscription,
      name: 'late',
    })
    expect(late.status).toBe(403)
    expect((await set('active')).status).toBe(200)
    await expect.poll(() => called(), REACHES).toBe(200)
  }
})

it('ends when it is not shared any more', async () => {
  expect((await share([gamma])).status).toBe(200)
  await expect.poll(() => called(), REACHES).toBe(401)
  const ended = (await api('GET', held(), member)).json
  expect(ended).toMatchObject({ status: 'revoked', reason: expect.stringContaining('not shared') })
  expect(await ids('/portal/apis', member)).not.toContain(shared)
  expect(await ids('/portal/apis', stranger)).toContain(shared)
})

it('is shared with every tenant by *, and keeps this in configuration as code', async () => {
  expect((await share(['*'])).status).toBe(200)
  expect(await ids('/portal/apis', member)).toContain(shared)
  expect((await share(['*', gamma])).status).toBe(400)
  expect((await share(['gamma'])).status).toBe(400)
  const tree = (await api('GET', '/config', owner)).json
  expect(tree.tenants.acme.apis['/shared'].shared_with).toEqual(['*'])
  tree.tenants.acme.apis['/shared'].shared_with = [world.beta]
  expect((await api('POST', '/config', owner, tree)).status).toBe(200)
  expect(await ids('/portal/apis', stranger)).not.toContain(shared)
})
