/** What operators read about the policy of a running gateway: why a call was denied, what the decision log holds, and which revision decided. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { lastDecisions } from '../../src/policy/log/tail.ts'
import { runToolgate } from '../fixtures/command.ts'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'

const data = mkdtempSync(join(tmpdir(), 'policy-operations-'))
let gateway: Deployment
let admin: string
let viewer: string
beforeAll(async () => {
  gateway = await deploy({ DATA_DIR: data })
  admin = await gateway.token('demo-admin')
  viewer = await gateway.token('demo-viewer')
})
afterAll(async () => {
  await gateway?.stop()
  rmSync(data, { recursive: true, force: true })
})

const get = async (path: string, token: string) =>
  read(await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } }))

async function denied(): Promise<{ decision_id: string; policy_revision: string }> {
  const response = await gateway.post(
    '/mcp/v1/tools/invoke',
    { name: 'shop_placeOrder', arguments: { customer: 'Ada', password: 'hunter2', items: [] } },
    viewer,
  )
  expect(response.status).toBe(403)
  return response.json
}

describe('a denial', () => {
  it('gives the agent the safe half, over JSON-RPC in error.data', async () => {
    const initialize = rpc('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    })
    const opened = await gateway.post('/mcp', initialize, viewer)
    const response = await gateway.post(
      '/mcp',
      rpc('tools/call', { name: 'shop_placeOrder', arguments: {} }),
      viewer,
      { 'mcp-session-id': opened.headers.get('mcp-session-id')! },
    )
    expect(response.status).toBe(403)
    const { data: reported } = response.json.error
    expect(reported.reasons[0]).toMatchObject({ code: 'insufficient_scope', scopes: ['execute'] })
    expect(reported.decision_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(reported.policy_revision).toMatch(/^[0-9a-f]{32}$/)
    expect(JSON.stringify(reported)).not.toContain('.rego')
  })

  it('is explained to an admin: masked input, rule with file and line, the scopes that would be enough', async () => {
    const { decision_id, policy_revision } = await denied()
    const { status, json } = await get(`/admin/policy/decisions/${decision_id}`, admin)
    expect(status).toBe(200)
    expect(json).toMatchObject({
      id: decision_id,
      revision: policy_revision,
      allow: false,
      masked: true,
      input: {
        subject: { properties: { consumer: 'demo-viewer' } },
        resource: { id: 'shop_placeOrder' },
        context: { arguments: { customer: 'Ada', password: '[masked]' } },
      },
      now: { revision: policy_revision, allow: false, missing_scopes: ['execute'] },
    })
    expect(json.reasons[0].rules[0]).toMatchObject({ file: 'toolgate/rules/scope/scope.rego' })
    expect(json.reasons[0].rules[0].line).toBeGreaterThan(1)
  })

  it('is explained to no one else, and an unknown or invalid id is refused', async () => {
    const { decision_id } = await denied()
    expect((await get(`/admin/policy/decisions/${decision_id}`, viewer)).status).toBe(403)
    for (const id of ['00000000-0000-4000-8000-000000000000', 'x', '..%2f..%2fetc'])
      expect((await get(`/admin/policy/decisions/${id}`, admin)).status).toBeGreaterThanOrEqual(400)
  })
})

describe('the log of a running gateway', () => {
  const command = (args: string[]) => runToolgate(['policy', ...args, '--log', join(data, 'decisions')])

  it('explains and replays', async () => {
    const { decision_id } = await denied()
    await vi.waitFor(async () => {
      const { out } = await command(['explain', decision_id, '--json'])
      expect(JSON.parse(out)).toMatchObject({
        allow: false,
        missingScopes: ['execute'],
        recorded: { id: decision_id, masked: true },
      })
    }, 15_000)
    const { code, out } = await command(['replay', '--json'])
    expect(JSON.parse(out)).toMatchObject({ flipped: 0 })
    expect(code).toBe(0)
  })
})

it('holds what the control plane decided, too', async () => {
  const api = gateway.running.addresses.api_url
  const response = await fetch(`${api}/v1/tenants`, { headers: { authorization: `Bearer ${viewer}` } })
  expect(response.status).toBe(403)
  await vi.waitFor(() => {
    const entries = lastDecisions(join(data, 'decisions'), 1000)
    const denials = entries.filter(entry => entry.input.action.name === 'control.tenants.list')
    expect(denials).toMatchObject([{ allow: false, input: { subject: { id: 'demo-viewer' } } }])
  }, 15_000)
})

it('names its revision in the response of a call', async () => {
  const { revision, engine } = (await get('/admin/policy', admin)).json
  expect(engine).toBe('opa-wasm')
  const response = await gateway.post(
    '/mcp/v1/tools/invoke',
    { name: 'shop_listProducts', arguments: {} },
    viewer,
  )
  expect([
    response.status,
    response.headers.get('x-policy-revision') ?? response.json.policy_revision,
  ]).toEqual([response.status, revision])
})
