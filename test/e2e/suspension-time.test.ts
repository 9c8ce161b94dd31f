/** A suspension takes effect within a second (median), in one process and with the planes apart: calls, paths, tools, streams. Webhooks wait for its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { type FixedBackend, startFixedBackend } from '../fixtures/fixed-backend.ts'
import { startOwnTime } from '../fixtures/own-time.ts'
import { startPlanes } from '../fixtures/planes.ts'
import { twoTenants } from '../fixtures/two-tenants.ts'
import { type Receiver, receiver } from '../fixtures/webhook-receivers.ts'

const ROUNDS = 5
const WITHIN_MS = 1_000
/** Generous: the machine may be busy. What is required is asserted on the median of what was measured. */
const SOON = { timeout: 15_000, interval: 5 }
/** Longer than the interval in which due deliveries are looked for. */
const SILENCE_MS = 2_500
/** Deliveries of one webhook that run together, and more than that. */
const AT_ONCE = 4
const PENDING = 7

interface World {
  readonly url: string
  api(method: string, path: string, body?: unknown): Promise<ReadResponse>
  stop(): Promise<void>
}

const WORLDS: Record<string, () => Promise<World>> = {
  'in one process': async () => {
    const world = await twoTenants({ SSE_LIMITER_ENABLED: 'false' })
    const { gateway, root, stop } = world
    return { url: gateway.url, api: (method, path, body) => world.api(method, path, root, body), stop }
  },
  'with the planes apart': () => startPlanes({ SSE_LIMITER_ENABLED: 'false' }),
}

describe.each(Object.entries(WORLDS))('a suspended tenant %s', (_, open) => {
  let world: World
  let upstream: FixedBackend
  let hook: Receiver
  let tenant: string
  let apiId: string
  let publicUrl: string
  let key: string
  const tool = 'quick_listAll'

  async function made(path: string, body: object) {
    const { status, text, json } = await world.api('POST', path, body)
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`)
    return json
  }
  const headers = () => ({ 'x-api-key': key, 'content-type': 'application/json' })
  const post = async (path: string, body: object) => {
    const response = await fetch(`${world.url}${path}`, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, json: JSON.parse(await response.text()) }
  }
  const called = async () => (await post('/mcp/tools/call', { name: tool, arguments: {} })).status
  const proxied = async () => {
    const response = await fetch(publicUrl, { headers: headers() })
    await response.arrayBuffer()
    return response.status
  }
  const listed = async () => (await post('/mcp/v1/tools', {})).json.tools.length
  const openStream = (session: string) =>
    fetch(`${world.url}/mcp`, {
      headers: { ...headers(), accept: 'text/event-stream', 'mcp-session-id': session },
    })
  /** Resolves when the control plane has responded. */
  async function change(status: 'suspended' | 'active'): Promise<void> {
    expect((await world.api('PATCH', `/tenants/${tenant}`, { status })).status).toBe(200)
  }

  beforeAll(async () => {
    upstream = await startFixedBackend('{}')
    world = await open()
    tenant = (await made('/tenants', { name: 'quick', tier: 'enterprise' })).id
    const get = { operationId: 'listAll', summary: 'Lists', responses: { 200: { description: 'ok' } } }
    const spec = { openapi: '3.1.0', info: { title: 'Q', version: '1' }, paths: { '/things': { get } } }
    const named = { name: 'Quick', path: '/quick', upstream_url: upstream.url, spec, portal_visibility: true }
    const api = await made(`/tenants/${tenant}/apis`, named)
    apiId = api.id
    publicUrl = api.public_url
    const asked = { api_id: apiId, plan: 'enterprise', application: 'app' }
    const subscription = await made(`/tenants/${tenant}/subscriptions`, asked)
    key = (await made(`/tenants/${tenant}/subscriptions/${subscription.id}/approve`, {})).api_key
  })
  afterEach(() => world.api('PATCH', `/tenants/${tenant}`, { status: 'active' }))
  afterAll(async () => {
    await world?.stop()
    upstream?.close()
    await hook?.close()
  })

  it('is refused, sees no tool and keeps no stream, and is served again when it is active', async () => {
    const took: Record<string, number[]> = {}
    const elapsedMs = startOwnTime()
    const until = async (what: string, sinceMs: number, read: () => Promise<number>, expected: number) => {
      await expect.poll(read, SOON).toBe(expected)
      took[what] = [...(took[what] ?? []), elapsedMs() - sinceMs]
    }
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const session = (await post('/mcp', rpc('initialize', hello))).headers.get('mcp-session-id')!

    for (let round = 0; round < ROUNDS; round++) {
      await expect.poll(listed, SOON).toBe(1)
      const opened = await openStream(session)
      expect(opened.status).toBe(200)
      const events = new EventReader(opened)
      await change('suspended')
      const suspendedMs = elapsedMs()
      const streamEnd = async () => {
        expect(await events.json(15_000)).toMatchObject({ method: 'notifications/tools/list_changed' })
        expect(await events.json(15_000)).toBeUndefined()
        return 0
      }
      await Promise.all([
        until('calls', suspendedMs, called, 403),
        until('paths', suspendedMs, proxied, 403),
        until('tools', suspendedMs, listed, 0),
        until('streams', suspendedMs, streamEnd, 0),
      ])
      const refused = await openStream(session)
      const { error } = (await refused.json()) as { error: string }
      expect([refused.status, error]).toEqual([403, 'tenant_suspended'])
      await change('active')
      await until('served again', elapsedMs(), called, 200)
    }

    for (const [what, times] of Object.entries(took)) {
      times.sort((a, b) => a - b)
      const median = times[Math.floor(ROUNDS / 2)]!
      console.info(`${what}: ${median.toFixed(0)} ms (median), ${times.at(-1)!.toFixed(0)} ms at most`)
      expect(median, what).toBeLessThan(WITHIN_MS)
    }
  })

  it('gets no webhook from then on, and what is pending when it is active', async () => {
    let release = (): void => {}
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    hook = await receiver(response => void released.then(() => response.end('ok')))
    await made(`/tenants/${tenant}/webhooks`, { url: hook.url, events: ['*'] })
    for (let count = 0; count < PENDING; count++) {
      const asked = { api_id: apiId, plan: 'enterprise', application: `app-${count}` }
      await made(`/tenants/${tenant}/subscriptions`, asked)
    }
    await expect.poll(() => hook.received.length, SOON).toBe(AT_ONCE)
    await change('suspended')
    release()
    await sleep(SILENCE_MS)
    expect(hook.received.length).toBe(AT_ONCE)
    await change('active')
    await expect.poll(() => hook.received.length, SOON).toBe(PENDING)
  })
})
