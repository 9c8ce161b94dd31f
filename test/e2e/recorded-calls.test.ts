/** What administrators read of a gateway of two threads: recorded calls, figures, decisions, simulations, audit; those of a tenant see only that tenant. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { type FreshResponse, fresh, open } from '../fixtures/fresh-connection.ts'
import { signedToken } from '../fixtures/tokens.ts'

const SOON = { timeout: 20_000, interval: 50 }

let gateway: Deployment
let dir: string
let admin: string
let agent: string
let tenantAdmin: string

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'calls-'))
  const plans = join(dir, 'plans.yaml')
  const consumers = { 'busy-agent': 'open', 'demo-admin': 'open', 'demo-agent': 'open', 'beta-admin': 'open' }
  writeFileSync(plans, JSON.stringify({ plans: { open: {} }, consumers }))
  gateway = await deploy({
    DATA_DIR: join(dir, 'data'),
    WORKERS: '2',
    PLANS: plans,
    STAGE_TIMING_SAMPLE: '0',
  })
  const token = (id: string, tenant: string, scope: string) =>
    signedToken(join(dir, 'data'), gateway.running.addresses.auth_url, { id, tenant, scope })
  admin = await gateway.token('demo-admin')
  agent = await token('busy-agent', 'acme', 'platform:read platform:execute')
  tenantAdmin = await token('beta-admin', 'beta', 'platform:read platform:execute platform:admin')
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  rmSync(dir, { recursive: true, force: true })
})

const call = (
  name: string,
  args: object,
  token: string,
  headers: Record<string, string> = {},
): Promise<FreshResponse> =>
  fresh(`${gateway.url}/mcp/tools/call`, {
    method: 'POST',
    token,
    body: { name, arguments: args },
    headers,
  })
const get = (path: string, token = admin): Promise<FreshResponse> => fresh(gateway.url + path, { token })

describe('GET /admin/calls', () => {
  it('lists the calls of both threads, the newest first, and pages through all of them once', async () => {
    for (let at = 0; at < 24; at++) await call('shop_getProduct', { productId: 'P-1001' }, agent)
    const { status, json } = await get('/admin/calls?consumer=busy-agent')
    expect(status).toBe(200)
    expect(json.calls).toHaveLength(24)
    expect(new Set(json.calls.map((row: { worker: number }) => row.worker))).toEqual(new Set([1, 2]))
    expect(json.calls[0]).toMatchObject({
      action: 'tools.call',
      access: 'rest',
      tenant: 'acme',
      consumer: 'busy-agent',
      tool: 'shop_getProduct',
      toolset: 'shop',
      kind: 'success',
      outcome: 'success',
      status: 200,
      duration_ms: expect.any(Number),
      policy_revision: expect.any(String),
    })
    expect(json.window).toMatchObject({ capacity: 20_000, since: expect.any(String) })
    const ids: string[] = []
    let cursor: string | null = ''
    for (let page = 0; cursor !== null && page < 20; page++) {
      const more: FreshResponse = await get(`/admin/calls?consumer=busy-agent&limit=5&cursor=${cursor}`)
      ids.push(...more.json.calls.map((row: { id: string }) => row.id))
      cursor = more.json.next_cursor
    }
    expect(ids).toEqual([...new Set(ids)])
    expect(ids.sort()).toEqual(json.calls.map((row: { id: string }) => row.id).sort())
  })

  it('finds refused calls by kind, reason, tool and request id, and none of another tenant or duration', async () => {
    await call('shop_getProduct', { productId: 'nonsense' }, agent, { 'x-request-id': 'bad-argument' })
    await call('no_such_tool', {}, agent, { 'x-request-id': 'unknown-tool' })
    await call('shop_getProduct', { productId: 'P-1' }, 'not-a-token', { 'x-request-id': 'anonymous' })
    const found = async (query: string) => (await get(`/admin/calls?${query}`)).json.calls
    expect(await found('outcome=invalid_arguments&tool=shop_getProduct')).toMatchObject([
      { kind: 'refused', status: 400, request_id: 'bad-argument' },
    ])
    expect(await found('outcome=refused&request_id=unknown-tool')).toMatchObject([
      { tool: null, requested_tool: 'no_such_tool', outcome: 'tool_not_found' },
    ])
    expect(await found('request_id=anonymous')).toMatchObject([
      { tenant: null, consumer: null, outcome: 'token_malformed' },
    ])
    expect(await found('tenant=beta&consumer=busy-agent')).toEqual([])
    expect(await found('min_ms=100000')).toEqual([])
  })

  it('refuses a query that is not valid, is 403 without the scope, and is recorded only when it is refused', async () => {
    for (const query of ['limit=0', 'min_ms=x', 'cursor=abc', `tool=${'x'.repeat(300)}`]) {
      const { status, json } = await get(`/admin/calls?${query}`)
      expect([status, json.error], query).toEqual([400, 'invalid_request'])
    }
    expect((await get('/admin/calls', agent)).status).toBe(403)
    expect((await get('/admin/calls?action=admin&outcome=success')).json.calls).toEqual([])
    expect((await get('/admin/calls?action=admin&outcome=insufficient_scope')).json.calls).toHaveLength(1)
  })
})

describe('GET /admin/calls/{id}', () => {
  const one = async (requestId: string, token = admin) => {
    const { json } = await get(`/admin/calls?request_id=${requestId}`)
    return get(`/admin/calls/${json.calls[0].id}`, token)
  }

  it('shows stages, arguments, caller and decision of a call while someone looks', async () => {
    await get('/admin/calls')
    const args = { productId: 'P-1001' }
    await call('shop_getProduct', args, agent, { 'x-request-id': 'watched' })
    const { json } = await one('watched')
    expect(json).toMatchObject({
      call: { request_id: 'watched', detailed: true },
      arguments: args,
      arguments_state: 'recorded',
      caller: { kind: 'token', subject: 'busy-agent', scopes: ['execute', 'read'] },
      client_address: '127.0.0.1',
      refusal: null,
      decision: { allow: true, decision_id: expect.any(String) },
    })
    const stages: readonly { stage: string; phase: string; start_ms: number; ms: number }[] = json.stages
    expect(stages.map(({ stage }) => stage)).toEqual(
      expect.arrayContaining(['authenticate', 'take-quota', 'authorize', 'invoke-tool']),
    )
    expect(stages.every(({ phase, ms }) => phase !== null && ms >= 0)).toBe(true)
    expect(json.phases.map(({ phase }: { phase: string }) => phase)).toContain('invoke')
  })

  it('keeps arguments that look like a secret out, and says why a call was refused', async () => {
    const secret = 'canary-5f1c@example.com'
    await call('shop_getProduct', { productId: secret }, agent, { 'x-request-id': 'masked' })
    const { json, text } = await one('masked')
    expect(text).not.toContain(secret)
    expect(json).toMatchObject({
      arguments_state: 'masked',
      refusal: { reason: 'invalid_arguments', status: 400, message: expect.any(String) },
    })
  })

  it('is 404 for a call that is not recorded, and for one of another tenant', async () => {
    expect((await get('/admin/calls/00000000-1')).status).toBe(404)
    expect((await get('/admin/calls/nonsense')).status).toBe(404)
    expect((await one('watched', tenantAdmin)).status).toBe(404)
  })
})

describe('GET /admin/calls/stream', () => {
  it('gives HEAD no place of a stream', async () => {
    const url = `${gateway.url}/admin/calls/stream`
    const headers = { authorization: `Bearer ${admin}` }
    const statuses = new Set<number>()
    // each thread has places for 100
    for (let n = 0; n < 210; n++) statuses.add((await fetch(url, { method: 'HEAD', headers })).status)
    const opened = await fetch(url, { headers })
    await opened.body!.cancel()
    expect([...statuses, opened.status]).toEqual([200, 200])
  })

  interface Event {
    readonly id: string
    readonly calls: readonly { id: string; tool: string; request_id: string }[]
    readonly missed: number
  }
  async function follow(query: string, headers: Record<string, string> = {}, token = admin) {
    const response: IncomingMessage = await open(`${gateway.url}/admin/calls/stream${query}`, {
      token,
      headers,
    })
    let text = ''
    response.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    response.on('error', () => {})
    const events = (): Event[] =>
      [...text.matchAll(/id: (\S+)\nevent: calls\ndata: (.*)\n\n/g)].map(([, id, data]) => ({
        id: id!,
        ...JSON.parse(data!),
      }))
    return { response, events, calls: () => events().flatMap(event => event.calls) }
  }

  it('sends each call that matches within a second, whichever thread it was on, and resumes', async () => {
    const stream = await follow('?tool=shop_getProduct')
    expect(stream.response.headers['content-type']).toBe('text/event-stream')
    await expect.poll(() => stream.events().length, SOON).toBe(1)
    for (let at = 0; at < 8; at++)
      await call('shop_getProduct', { productId: 'P-1001' }, agent, { 'x-request-id': `live-${at}` })
    await call('shop_listProducts', {}, agent)
    // a second of turns of this process and of both threads, of which a machine that stalls uses up none
    for (let turn = 0; turn < 50 && stream.calls().length < 8; turn++) {
      await sleep(20)
      if (turn % 5 === 0) expect((await get('/admin/workers')).json.workers).toHaveLength(2)
    }
    expect(stream.calls()).toHaveLength(8)
    expect(new Set(stream.calls().map(row => row.tool))).toEqual(new Set(['shop_getProduct']))
    const last = stream.events().at(-1)!.id
    stream.response.destroy()
    await call('shop_getProduct', { productId: 'P-1002' }, agent, { 'x-request-id': 'meanwhile' })
    const resumed = await follow('?tool=shop_getProduct', { 'last-event-id': last })
    await expect.poll(() => resumed.calls().map(row => row.request_id), SOON).toEqual(['meanwhile'])
    resumed.response.destroy()
    const named = await follow(`?tool=shop_getProduct&cursor=${last}`)
    await expect.poll(() => named.calls().map(row => row.request_id), SOON).toEqual(['meanwhile'])
    const later = named.events().at(-1)!.id
    named.response.destroy()
    // as a browser continues a stream whose address has a cursor
    const both = await follow(`?tool=shop_getProduct&cursor=${last}`, { 'last-event-id': later })
    await expect.poll(() => both.events().length, SOON).toBe(1)
    expect(both.calls()).toEqual([])
    both.response.destroy()
  })

  it('counts each call of a burst once, as sent or as missed, with at most 50 in one event', async () => {
    const stream = await follow('?request_id=burst')
    await expect.poll(() => stream.events().length, SOON).toBe(1)
    await Promise.all(
      Array.from({ length: 90 }, () =>
        call('shop_getProduct', { productId: 'P-1001' }, agent, { 'x-request-id': 'burst' }),
      ),
    )
    const seen = () => stream.events().reduce((sum, event) => sum + event.calls.length + event.missed, 0)
    await expect.poll(seen, SOON).toBe(90)
    expect(stream.events().every(event => event.calls.length <= 50)).toBe(true)
    stream.response.destroy()
  })

  it('is 403 without the scope, and 400 for a position that is not one', async () => {
    expect((await follow('', {}, agent)).response.statusCode).toBe(403)
    expect((await follow('', { 'last-event-id': 'x' })).response.statusCode).toBe(400)
    expect((await follow('?cursor=x')).response.statusCode).toBe(400)
  })
})

describe('an administrator of one tenant', () => {
  it('sees the calls, tools and figures of that tenant only', async () => {
    await call('shop_getProduct', { productId: 'P-1001' }, tenantAdmin, { 'x-request-id': 'own' })
    const { json } = await get('/admin/calls', tenantAdmin)
    expect(new Set(json.calls.map((row: { tenant: string }) => row.tenant))).toEqual(new Set(['beta']))
    expect((await get('/admin/calls?tenant=acme', tenantAdmin)).json.calls).toEqual([])
    expect((await get('/admin/tools', tenantAdmin)).json.tools).toEqual([])
    expect((await get('/admin/toolsets', tenantAdmin)).json.toolsets).toEqual([])
    const overview = (await get('/admin/overview', tenantAdmin)).json
    expect(overview).toMatchObject({ health: null, workers: null, snapshot: null })
    expect(overview.consumers.map((row: { tenant: string }) => row.tenant)).not.toContain('acme')
    expect((await get('/admin/workers', tenantAdmin)).status).toBe(403)
  })
})

describe('POST /admin/simulate', () => {
  const simulate = async (body: object, token = admin) => {
    const url = `${gateway.url}/admin/simulate`
    const { status, json } = await fresh(url, { method: 'POST', token, body })
    return { status, ...json }
  }
  const TOOL = { tool: 'shop_getProduct', arguments: { productId: 'P-1001' } }

  it('runs the stages as a recorded consumer, without a call, a count or a recorded decision', async () => {
    await call('shop_getProduct', { productId: 'P-1001' }, agent)
    const count = async () => (await get('/admin/quotas/busy-agent')).json.daily_count
    const before = [
      await count(),
      (await get('/admin/policy/decisions?action=tools.call')).json.decisions[0].id,
    ]
    const simulated = await simulate({ consumer: 'busy-agent', ...TOOL })
    expect(simulated).toMatchObject({
      allowed: true,
      outcome: 'allowed',
      stopped_at: null,
      caller: { tenant: 'acme', scopes: ['execute', 'read'], from: 'recorded call' },
      decision: { allow: true },
      request: { method: 'GET', url: expect.stringMatching(/\/products\/P-1001$/) },
    })
    const result = (stage: string) =>
      simulated.stages.find((step: { stage: string }) => step.stage === stage)?.result
    expect(['authorize', 'confirm-call', 'invoke-tool'].map(result)).toEqual([
      'passed',
      'not_simulated',
      'not_simulated',
    ])
    expect(await count()).toBe(before[0])
    const { decisions } = (await get('/admin/policy/decisions?action=tools.call')).json
    expect(decisions[0].id).toBe(before[1])
  })

  it('names the stage that would refuse, and the reason', async () => {
    const as = { consumer: 'nobody-yet', tenant: 'acme' }
    expect(await simulate({ ...as, roles: [], scopes: ['read'], ...TOOL })).toMatchObject({
      outcome: 'insufficient_scope',
      status: 403,
      stopped_at: { stage: 'authorize', phase: 'decide' },
      decision: { allow: false, reasons: [{ code: 'insufficient_scope' }] },
    })
    const scopes = ['platform:execute']
    expect(await simulate({ ...as, scopes, tool: TOOL.tool, arguments: {} })).toMatchObject({
      outcome: 'invalid_arguments',
      stopped_at: { stage: 'validate-arguments' },
    })
    expect(await simulate({ ...as, scopes, tool: 'no_such_tool' })).toMatchObject({
      outcome: 'tool_not_found',
    })
    expect(await simulate({ ...as, ...TOOL })).toMatchObject({ status: 404 })
    expect(await simulate({ ...TOOL })).toMatchObject({ status: 400, error: 'invalid_request' })
  })

  it('shows what a model sees and why it does not see the rest, within the tenant of the caller', async () => {
    const as = { action: 'tools.list', consumer: 'x', tenant: 'acme', roles: [], scopes: ['read', 'execute'] }
    const seen = await simulate(as)
    expect(seen.tools.length + seen.hidden.length).toBe(30)
    expect(seen.hidden.length).toBeGreaterThan(0)
    expect(seen.hidden[0].reasons[0]).toMatchObject({ code: 'insufficient_scope' })
    expect(seen.tokens).toBeGreaterThan(500)
    expect(await simulate(as, tenantAdmin)).toMatchObject({ status: 403 })
    expect(await simulate({ ...as, tenant: undefined }, tenantAdmin)).toMatchObject({ tools: [], hidden: [] })
  })
})

describe('GET /admin/policy/decisions', () => {
  it('finds recorded decisions of every thread by consumer, tool, reason and result, page by page', async () => {
    for (let at = 0; at < 6; at++) await call('shop_getProduct', { productId: 'P-1001' }, agent)
    const find = async (query: string, token = admin) =>
      (await get(`/admin/policy/decisions?${query}`, token)).json
    const denied = await find('allow=false&consumer=busy-agent&code=insufficient_scope')
    expect(denied.decisions[0]).toMatchObject({
      allow: false,
      action: 'admin',
      tenant: 'acme',
      consumer: 'busy-agent',
      reasons: [{ code: 'insufficient_scope' }],
    })
    const all = (await find('consumer=busy-agent&tool=shop_getProduct&limit=500')).decisions
    expect(all.length).toBeGreaterThan(30)
    const times = all.map((row: { at: string }) => row.at)
    expect(times).toEqual(times.toSorted().toReversed())
    const first = await find('consumer=busy-agent&tool=shop_getProduct&limit=4')
    const next = await find(`consumer=busy-agent&tool=shop_getProduct&limit=4&cursor=${first.next_cursor}`)
    expect([...first.decisions, ...next.decisions]).toEqual(all.slice(0, 8))
    // the cursor of another list, one that is cut off, and one with a character before it
    for (const cursor of ['main:0:12', first.next_cursor.slice(0, -1), `x${first.next_cursor}`]) {
      const { status, json } = await get(`/admin/policy/decisions?limit=1&cursor=${cursor}`)
      expect([status, json.message]).toEqual([400, 'cursor was not issued by this gateway.'])
    }
    const foreign = await find('', tenantAdmin)
    expect(new Set(foreign.decisions.map((row: { tenant: string }) => row.tenant))).toEqual(new Set(['beta']))
    expect((await find('tenant=acme', tenantAdmin)).decisions).toEqual([])
  })
})

describe('the actions of an administrator', () => {
  it('are in the audit of the control plane with actor, request and the state before', async () => {
    const post = (path: string, id: string) =>
      fresh(gateway.url + path, { method: 'POST', token: admin, headers: { 'x-request-id': id } })
    expect((await post('/admin/quotas/busy-agent/reset', 'audited-reset')).status).toBe(200)
    expect((await post('/admin/cache/clear', 'audited-clear')).status).toBe(200)
    expect((await post('/admin/policy/promote', 'audited-promote')).status).toBe(409)
    const audit = async () => {
      const { api_url } = gateway.running.addresses
      const { json } = await fresh(`${api_url}/v1/audit?limit=100`, { token: admin })
      return json.items.filter((row: { action: string }) => row.action.startsWith('admin.'))
    }
    await expect.poll(async () => (await audit()).length, SOON).toBe(3)
    expect(await audit()).toMatchObject([
      { action: 'admin.policy.promote', before: { revision: expect.any(String) } },
      { action: 'admin.cache.clear', request_id: 'audited-clear' },
      {
        action: 'admin.quotas.reset',
        actor: { kind: 'token', consumer: 'demo-admin', tenant: 'acme' },
        resource: { type: 'quota', id: 'busy-agent' },
        request_id: 'audited-reset',
        gateway: 'gateway',
        before: { daily_count: expect.any(Number) },
      },
    ])
  })
})

describe('figures', () => {
  it('shows tools with calls, latencies, tokens, limits of names and findings', async () => {
    const { json } = await get('/admin/tools?q=getproduct')
    expect(json).toMatchObject({ total: 1, tokens: expect.any(Number) })
    expect(json.tools[0]).toMatchObject({
      name: 'shop_getProduct',
      toolset: 'shop',
      method: 'GET',
      calls: expect.any(Number),
      p50_ms: expect.any(Number),
      p99_ms: expect.any(Number),
      name_limits: [],
      lint: expect.any(Array),
    })
    expect(json.tools[0].calls).toBeGreaterThan(100)
    expect(json.tools[0].refused).toBeGreaterThan(0)
    expect(json.tools[0].tokens).toBeGreaterThan(20)
    expect(JSON.stringify(json)).not.toContain('credential')
  })

  it('shows tool sets with their status, and threads with what they serve', async () => {
    const { toolsets } = (await get('/admin/toolsets')).json
    expect(toolsets).toMatchObject([
      { name: 'shop', namespace: 'tenant-acme', tools: 30, status: { phase: 'Ready' } },
    ])
    const workers = (await get('/admin/workers')).json
    expect(workers).toMatchObject({
      consistent: true,
      process: { name: 'gateway', version: expect.any(String) },
    })
    expect(workers.workers.map((row: { worker: number }) => row.worker)).toEqual([1, 2])
    expect(new Set(workers.workers.map((row: { snapshot: string }) => row.snapshot)).size).toBe(1)
  })

  it('sums up rates, refusals by reason and consumer, latencies and health', async () => {
    const { json } = await get('/admin/overview?window_s=600')
    expect(json).toMatchObject({
      status: 'healthy',
      health: [],
      workers: 2,
      consistent: true,
      tools: 30,
      latency: { p50_ms: expect.any(Number), p99_ms: expect.any(Number) },
    })
    expect(json.calls).toBe(json.success + json.refused + json.failed)
    const invalid = json.refusals.find((row: { reason: string }) => row.reason === 'invalid_arguments')
    expect(invalid).toMatchObject({
      calls: 2,
      consumers: [{ tenant: 'acme', consumer: 'busy-agent', calls: 2 }],
    })
    const inSeries = json.series.reduce((sum: number, part: { calls: number }) => sum + part.calls, 0)
    expect([json.series.length, inSeries]).toEqual([30, json.calls])
    expect(json.slowest[0]).toMatchObject({ tool: expect.any(String), p99_ms: expect.any(Number) })
  })
})
