/** What a token of one tenant with the scope `platform:admin` reaches on both planes, and how `SCOPES=intersection` combines rights. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const ALL = 'platform:read platform:write platform:execute platform:admin'

describe('the scope platform:admin on a token of tenant acme', () => {
  let world: TwoTenants
  let scoped: string
  beforeAll(async () => {
    world = await twoTenants()
    scoped = await world.token({ id: 'scoped', tenant: 'acme', scope: ALL })
    for (const tenant of ['acme', 'beta']) {
      const { tool: name } = await world.subscribe(tenant, '/counted', 'listAll', `of-${tenant}`)
      const caller = await world.token({ id: `of-${tenant}`, tenant })
      const listing = () => world.call('POST', '/mcp/tools/call', caller, { name, arguments: {} })
      await vi.waitFor(async () => expect((await listing()).status).toBe(200), 10_000)
    }
  })
  afterAll(() => world?.stop())

  it('does not list, create, read, change or delete other tenants', async () => {
    for (const [method, path, body] of [
      ['GET', '/tenants'],
      ['POST', '/tenants', { name: 'mine', tier: 'free' }],
      ['GET', `/tenants/${world.beta}`],
      ['PATCH', `/tenants/${world.beta}`, { status: 'suspended' }],
      ['DELETE', `/tenants/${world.beta}`],
      ['POST', '/plans', { slug: 'mine', name: 'Mine', requires_approval: false }],
    ] as const) {
      const reply = await world.api(method, path, scoped, body)
      expect([reply.status, reply.json.error?.code], `${method} ${path}`).toEqual([403, 'forbidden'])
    }
    expect((await world.api('GET', `/tenants/${world.acme}`, scoped)).status).toBe(200)
    const renamed = await world.api('PATCH', `/tenants/${world.acme}`, scoped, {
      admin_email: 'a@example.com',
    })
    expect(renamed.status).toBe(200)
  })

  it('sees and resets only the quotas of its tenant', async () => {
    const listed = async (token: string) =>
      (await world.call('GET', '/admin/quotas', token)).json.map(
        (row: { consumer_id: string }) => row.consumer_id,
      )
    expect(await listed(world.root)).toEqual(expect.arrayContaining(['of-acme', 'of-beta']))
    expect(await listed(scoped)).toContain('of-acme')
    expect(await listed(scoped)).not.toContain('of-beta')
    expect((await world.call('GET', '/admin/quotas/of-beta', scoped)).status).toBe(404)
    expect((await world.call('POST', '/admin/quotas/of-beta/reset', scoped)).status).toBe(404)
    expect((await world.call('GET', '/admin/quotas/of-beta', world.root)).json.daily_count).toBeGreaterThan(0)
    expect((await world.call('POST', '/admin/quotas/of-acme/reset', scoped)).json.daily_count).toBe(0)
  })

  it('does not reach what concerns every tenant', async () => {
    for (const [method, path] of [
      ['GET', '/admin/sessions/stats'],
      ['POST', '/admin/cache/clear'],
      ['GET', '/admin/policy'],
      ['GET', '/admin/policy/decisions/00000000-0000-4000-8000-000000000000'],
      ['POST', '/admin/policy/promote'],
    ] as const) {
      const reply = await world.call(method, path, scoped)
      expect([reply.status, reply.json.reasons?.[0]?.code], path).toEqual([403, 'every_tenant'])
    }
  })

  it('is enough on a token without tenant', async () => {
    const operator = await world.token({ id: 'operator', scope: 'platform:admin' })
    expect((await world.api('GET', '/tenants', operator)).status).toBe(200)
    expect((await world.api('PATCH', `/tenants/${world.beta}`, operator, { tier: 'business' })).status).toBe(
      200,
    )
    expect((await world.call('GET', '/admin/sessions/stats', operator)).status).toBe(200)
    expect((await world.call('GET', '/admin/quotas/of-beta', operator)).status).toBe(200)
  })
})

describe('SCOPES=intersection', () => {
  let world: TwoTenants
  beforeAll(async () => {
    world = await twoTenants({ SCOPES: 'intersection' })
  })
  afterAll(() => world?.stop())

  it('grants what both token and roles grant, on both planes', async () => {
    const viewer = await world.token({ id: 'v', tenant: 'acme', scope: ALL, roles: ['viewer'] })
    const webhook = { url: 'https://hooks.example/x', events: ['*'] }
    const called = await world.call('POST', '/mcp/tools/call', viewer, {
      name: 'shop_listProducts',
      arguments: {},
    })
    expect([called.status, called.json.reasons[0].scopes]).toEqual([403, []])
    expect((await world.api('POST', `/tenants/${world.acme}/webhooks`, viewer, webhook)).status).toBe(403)
    expect((await world.api('GET', `/tenants/${world.acme}/apis`, viewer)).status).toBe(200)
    const narrow = await world.token({
      id: 'n',
      tenant: 'acme',
      scope: 'platform:read',
      roles: ['tenant-admin'],
    })
    expect((await world.api('POST', `/tenants/${world.acme}/webhooks`, narrow, webhook)).status).toBe(403)
    expect((await world.api('GET', `/tenants/${world.acme}/apis`, narrow)).status).toBe(200)
  })

  it('leaves a token without a known role its scopes', async () => {
    const agent = await world.token({ id: 'a', tenant: 'acme', roles: ['offline_access'] })
    const called = await world.call('POST', '/mcp/tools/call', agent, {
      name: 'shop_listProducts',
      arguments: {},
    })
    expect(called.status).toBe(200)
  })
})
