/** Subscriptions that are suspended, resumed, changed, expired or of a blocked consumer, seen by callers of a running gateway: keys, tokens, tools, paths. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rpc } from '../fixtures/deployment.ts'
import { type Subscribed, type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const SUSPENDED = 'The subscription of the calling application is suspended.'
const EXPIRED = 'The subscription of the calling application has expired.'
/** Publication reaches the gateway within a second; the bound leaves time for a busy machine. */
const REACHES = { timeout: 15_000, interval: 20 }

let world: TwoTenants
let app: Subscribed
let token: string

beforeAll(async () => {
  world = await twoTenants()
  app = await world.subscribe(world.beta, '/living', 'listAll', 'app')
  token = await world.token({ id: 'app', tenant: 'beta' })
})
afterAll(() => world?.stop())

const at = (id: string) => `/tenants/${world.beta}/subscriptions/${id}`
const call = async (credential: string) => {
  const { status, json } = await world.call('POST', '/mcp/tools/call', credential, {
    name: app.tool,
    arguments: {},
  })
  return [status, json.message]
}

describe('a subscription', () => {
  it('is refused with its own reason when it is suspended, and served again when it is resumed', async () => {
    await expect.poll(async () => (await call(app.key))[0], REACHES).toBe(200)
    const since = performance.now()
    expect((await world.api('POST', `${at(app.subscriptionId)}/suspend`, world.root, {})).status).toBe(200)
    await expect.poll(() => call(app.key), REACHES).toEqual([403, SUSPENDED])
    console.info(`refused ${Math.round(performance.now() - since)} ms after the suspension`)
    expect(await call(token)).toEqual([403, SUSPENDED])
    for (const credential of [app.key, token])
      expect((await world.call('GET', '/t/beta/living/x', credential)).status).toBe(403)
    expect((await world.call('POST', '/mcp/v1/tools', app.key, {})).status).toBe(403)
    const called = await world.call(
      'POST',
      '/mcp',
      app.key,
      rpc('tools/call', { name: app.tool, arguments: {} }),
    )
    expect(JSON.stringify(called.json)).toContain(SUSPENDED)
    expect((await world.api('POST', `${at(app.subscriptionId)}/resume`, world.root)).status).toBe(200)
    await expect.poll(async () => (await call(app.key))[0], REACHES).toBe(200)
    await expect.poll(async () => (await call(token))[0], REACHES).toBe(200)
  })

  it('gets the limits of another plan with the same key', async () => {
    const patch = { plan: 'gold', rate_limit: 1 }
    expect((await world.api('PATCH', at(app.subscriptionId), world.root, patch)).status).toBe(200)
    await expect.poll(async () => (await call(app.key))[0], REACHES).toBe(429)
    expect((await world.api('PATCH', at(app.subscriptionId), world.root, { rate_limit: null })).status).toBe(
      200,
    )
    await expect.poll(async () => (await call(app.key))[0], REACHES).toBe(200)
  })

  it('is of no use to a consumer that is blocked, until it is unblocked', async () => {
    const all = `/tenants/${world.beta}/consumers`
    const { items } = (await world.api('GET', `${all}?q=app`, world.root)).json
    const patch = (status: string) => world.api('PATCH', `${all}/${items[0].id}`, world.root, { status })
    expect((await patch('blocked')).status).toBe(200)
    await expect.poll(() => call(app.key), REACHES).toEqual([403, 'The calling application is blocked.'])
    expect((await patch('active')).status).toBe(200)
    await expect.poll(async () => (await call(app.key))[0], REACHES).toBe(200)
  })

  it('is refused as expired, before and after the control plane has noticed', async () => {
    const expires_at = new Date(Date.now() + 1_500).toISOString()
    expect((await world.api('PATCH', at(app.subscriptionId), world.root, { expires_at })).status).toBe(200)
    await expect.poll(() => call(app.key), REACHES).toEqual([403, EXPIRED])
    const state = async () => (await world.api('GET', at(app.subscriptionId), world.root)).json.status
    await expect.poll(state, REACHES).toBe('expired')
    expect(await call(app.key)).toEqual([403, EXPIRED])
    expect(await call(token)).toEqual([403, EXPIRED])
  })

  it('that was suspended when it ended is followed by one that waits for approval, whatever the plan', async () => {
    const plan = { slug: 'open', name: 'Open', requires_approval: false }
    expect((await world.api('POST', '/plans', world.root, plan)).status).toBe(201)
    const member = await world.token({ id: 'self', tenant: 'beta', scope: 'platform:read platform:write' })
    const all = `/tenants/${world.beta}/subscriptions`
    const subscribe = () =>
      world.api('POST', all, member, { api_id: app.apiId, plan: 'open', application: 'self' })
    const end = async (id: string) => expect((await world.api('DELETE', at(id), member)).status).toBe(204)
    const first = (await subscribe()).json
    expect(first).toMatchObject({ status: 'approved', api_key: expect.any(String) })
    await end(first.id)
    const second = (await subscribe()).json
    expect(second.status).toBe('approved')
    expect((await world.api('POST', `${at(second.id)}/suspend`, world.root, {})).status).toBe(200)
    await end(second.id)
    const third = (await subscribe()).json
    expect([third.status, third.api_key ?? null]).toEqual(['pending_approval', null])
    await end(third.id)
    // a request that was withdrawn changes nothing
    const fourth = (await subscribe()).json
    expect(fourth.status).toBe('pending_approval')
    expect((await world.api('POST', `${at(fourth.id)}/approve`, world.root, {})).status).toBe(200)
    await end(fourth.id)
    expect((await subscribe()).json.status).toBe('approved')
  })
})
