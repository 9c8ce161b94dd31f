/** A changed tool set is announced to exactly the clients whose list it changes, in every era. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'

const toolsets = join(mkdtempSync(join(tmpdir(), 'toolsets-')), 'toolsets')
let gateway: Deployment
let admin: string
beforeAll(async () => {
  cpSync('toolsets', toolsets, { recursive: true })
  gateway = await deploy({ TOOLSETS: toolsets, SSE_LIMITER_ENABLED: 'false' })
  admin = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway.stop()
  rmSync(toolsets, { recursive: true, force: true })
})

async function standalone(tenant: string): Promise<EventReader> {
  const initialize = rpc('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  })
  const opened = await gateway.post('/mcp', initialize, admin)
  return listen({ 'mcp-session-id': opened.headers.get('mcp-session-id')!, 'x-tenant-id': tenant })
}
const listen = async (headers: Record<string, string>) =>
  new EventReader(
    await fetch(`${gateway.url}/mcp`, {
      headers: { authorization: `Bearer ${admin}`, accept: 'text/event-stream', ...headers },
    }),
  )

async function subscribed(): Promise<EventReader> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = {
    jsonrpc: '2.0',
    id: 'sub',
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true }, _meta },
  }
  const events = new EventReader(
    await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${admin}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify(body),
    }),
  )
  await events.json()
  return events
}

it('notifies legacy, HTTP+SSE and modern clients that see the change, and no others', async () => {
  const [own, foreign, legacy, modern] = [
    await standalone('acme'),
    await standalone('other'),
    await listen({}),
    await subscribed(),
  ]
  await legacy.message()
  const before = (await gateway.post('/mcp/v1/tools', {}, admin)).json.tools.length

  const file = join(toolsets, 'shop.yaml')
  writeFileSync(file, `${readFileSync(file, 'utf8').trimEnd()}\n  selector:\n    methods: [GET]\n`)

  expect(await own.json(10_000)).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  expect((await legacy.json()).method).toBe('notifications/tools/list_changed')
  expect(await modern.json()).toMatchObject({
    method: 'notifications/tools/list_changed',
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } },
  })
  await expect(foreign.message(500)).rejects.toThrow('no event')
  const after = (await gateway.post('/mcp/v1/tools', {}, admin)).json.tools.length
  expect(after).toBeLessThan(before)
  await Promise.all([own, foreign, legacy, modern].map(events => events.close()))
})
