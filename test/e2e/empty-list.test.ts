/** Why a list of tools is empty: each reason over MCP, to a caller to whom it applies. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rpc } from '../fixtures/deployment.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

let world: TwoTenants
beforeAll(async () => {
  world = await twoTenants()
})
afterAll(() => world?.stop())

const SOON = { timeout: 15_000, interval: 50 }
const EMPTY = 'toolgate.dev/empty'

async function listed(credential: string, path = '/mcp'): Promise<{ names: string[]; reason?: string }> {
  const { json, text } = await world.call('POST', path, credential, rpc('tools/list', {}))
  expect(json.error, text).toBeUndefined()
  const { tools, _meta } = json.result
  return { names: tools.map((tool: { name: string }) => tool.name), reason: _meta?.[EMPTY] }
}

it('names a tenant without tools, and a credential without tenant', async () => {
  expect(await listed(await world.token({ id: 'app', tenant: 'beta' }))).toEqual({
    names: [],
    reason: expect.stringMatching(/^No tool set with tools is loaded/),
  })
  expect(await listed(await world.token({ id: 'nobody' }))).toEqual({
    names: [],
    reason: expect.stringMatching(/^The credential belongs to no tenant/),
  })
})

it('names a key whose API has no tools, while others of the tenant have', async () => {
  const withTools = await world.subscribe(world.beta, '/with', 'listAll', 'app')
  await expect.poll(async () => (await listed(withTools.key)).names, SOON).toEqual([withTools.tool])
  const base = `/tenants/${world.beta}`
  const plain = { name: 'plain', path: '/plain', upstream_url: world.upstreamUrl, portal_visibility: true }
  const { json: api } = await world.api('POST', `${base}/apis`, world.root, plain)
  const asked = { api_id: api.id, plan: 'gold', application: 'app' }
  const { json: subscription } = await world.api('POST', `${base}/subscriptions`, world.root, asked)
  const approved = await world.api('POST', `${base}/subscriptions/${subscription.id}/approve`, world.root, {})
  const key = approved.json.api_key
  await expect.poll(async () => (await world.call('GET', '/t/beta/plain', key)).status, SOON).toBe(200)
  expect(await listed(key)).toEqual({
    names: [],
    reason: 'This key gives access only to APIs without tools. Use a key for another API, or a token.',
  })
})

it('names an address that offers none of the tools, and a policy that allows none', async () => {
  const agent = await world.token({ id: 'agent', tenant: 'acme' })
  const whole = await listed(agent)
  expect(whole.names.length).toBeGreaterThan(0)
  expect(whole.reason).toBeUndefined()
  expect(await listed(agent, '/mcp?tags=no-such-tag')).toEqual({
    names: [],
    reason: expect.stringMatching(/^This credential may use tools, but this address offers none of them/),
  })
  expect(await listed(await world.token({ id: 'reader', tenant: 'acme', scope: 'platform:read' }))).toEqual({
    names: [],
    reason: expect.stringMatching(/^The policy does not allow this credential to use any of the tools/),
  })
})
