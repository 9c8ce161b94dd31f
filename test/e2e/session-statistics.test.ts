/** GET /admin/sessions/stats: what is active, and what is a zombie — without stream and idle for more than a third of the TTL. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, post, read, rpc } from '../fixtures/deployment.ts'
import { openStream } from '../fixtures/open-streams.ts'

let gateway: Deployment
let admin: string
beforeAll(async () => {
  gateway = await deploy({ TEST_HOOKS: '1' })
  admin = await gateway.token('demo-admin')
})
afterAll(() => gateway?.stop())

const statistics = async (token = admin) =>
  read(await fetch(`${gateway.url}/admin/sessions/stats`, { headers: { authorization: `Bearer ${token}` } }))

const advance = (by: string) => post(`${gateway.running.addresses.api_url}/test/clock`, { advance: by })

async function open(): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  return (await gateway.post('/mcp', rpc('initialize', params), admin)).headers.get('mcp-session-id')!
}

const use = async (session: string) =>
  (await gateway.post('/mcp', rpc('ping'), admin, { 'mcp-session-id': session })).status

it('counts sessions, zombies after 10 of 30 minutes, and forgets after 30', async () => {
  expect((await statistics()).json).toEqual({ active_sessions: 0, zombie_sessions: 0, total_created: 0 })
  const [used, streaming, idle] = [await open(), await open(), await open()]
  const stream = await openStream(gateway.url, {
    authorization: `Bearer ${admin}`,
    'mcp-session-id': streaming,
  })
  expect(stream.status).toBe(200)
  expect((await statistics()).json).toEqual({ active_sessions: 3, zombie_sessions: 0, total_created: 3 })

  await advance('9m')
  expect((await statistics()).json).toMatchObject({ zombie_sessions: 0 })
  expect(await use(used)).toBe(200)
  await advance('2m')
  expect((await statistics()).json).toEqual({ active_sessions: 3, zombie_sessions: 1, total_created: 3 })

  await advance('20m')
  expect(await use(idle)).toBe(404)
  expect(await use(used)).toBe(200)
  expect(await use(streaming)).toBe(200)
  expect((await statistics()).json).toEqual({ active_sessions: 2, zombie_sessions: 0, total_created: 3 })

  await stream.close()
  const ended = await fetch(`${gateway.url}/mcp`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${admin}`, 'mcp-session-id': used },
  })
  expect(ended.status).toBe(200)
  expect((await statistics()).json).toEqual({ active_sessions: 1, zombie_sessions: 0, total_created: 3 })
})

it('is for admins', async () => {
  expect((await statistics(await gateway.token('demo-agent'))).status).toBe(403)
  expect((await fetch(`${gateway.url}/admin/sessions/stats`)).status).toBe(401)
})
