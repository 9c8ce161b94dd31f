/** Pages in a real browser that call the gateway, over both HTTP servers, and the control plane: an allowed origin can, a foreign one cannot. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listenerSupport } from '../../src/net/server/create.ts'
import { BROWSER, type BrowserPage, openPage } from '../fixtures/browser-page.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const REQUIRED = process.env.REQUIRE_SERVICES === '1'
const missing = BROWSER === undefined && !REQUIRED
const hint = missing ? ' (skipped: apt-get install chromium)' : ''
const { kinds } = listenerSupport()

interface Target {
  readonly url: string
  readonly token: string
}

const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

// The functions below run in the page: they may use nothing of this file.

async function callOverRest({ url, token, call }: Target & { readonly call: object }) {
  const response = await fetch(`${url}/mcp/tools/call`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(call),
  })
  return { status: response.status, text: await response.text() }
}

async function useMcp({ url, token }: Target) {
  const common = { Authorization: `Bearer ${token}` }
  const post = (message: object, headers: Record<string, string>) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        ...common,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'page', version: '1' },
  }
  const initialized = await post({ id: 1, method: 'initialize', params }, {})
  const sessionId = initialized.headers.get('Mcp-Session-Id') ?? ''
  const inSession = { 'Mcp-Session-Id': sessionId, 'MCP-Protocol-Version': '2025-06-18' }
  await post({ method: 'notifications/initialized' }, inSession)
  const listed = await (await post({ id: 2, method: 'tools/list' }, inSession)).text()
  // a response that takes a while comes as the last event of a stream
  const list = listed.startsWith('{') ? listed : listed.match(/(?<=^data: ).*$/gm)!.at(-1)!

  const stop = new AbortController()
  const stream = await fetch(`${url}/mcp`, {
    headers: { ...common, ...inSession, Accept: 'text/event-stream' },
    signal: stop.signal,
  })
  const streamed = { status: stream.status, type: stream.headers.get('Content-Type') }
  // without a session, the oldest transport: its first event comes at once
  const oldest = await fetch(`${url}/mcp/sse`, {
    headers: { ...common, Accept: 'text/event-stream' },
    signal: stop.signal,
  })
  const { value: first } = await oldest.body!.getReader().read()
  stop.abort()
  const call = (id: number, name: string, args: object, _meta: object) =>
    post({ id, method: 'tools/call', params: { name, arguments: args, _meta } }, inSession)
  const called = await call(3, 'shop_getProduct', { productId: 'P-1001' }, {})
  const report = await call(4, 'shop_runSalesReport', { stepMs: 20 }, { progressToken: 'page' })
  const events = await report.text()
  const ended = await fetch(`${url}/mcp`, { method: 'DELETE', headers: { ...common, ...inSession } })
  return {
    initialized: initialized.status,
    sessionId,
    tools: (JSON.parse(list) as { result: { tools: unknown[] } }).result.tools.length,
    streamed,
    firstEvent: new TextDecoder().decode(first),
    called: await called.text(),
    report: {
      type: report.headers.get('Content-Type'),
      progress: events.split('notifications/progress').length - 1,
      isComplete: events.includes('"id":4') && events.includes('"result"'),
    },
    ended: ended.status,
  }
}

/** What becomes of each request of a page that may not read anything. */
async function beRefused({ url, token }: Target) {
  const outcomeOf = (path: string, init: RequestInit) =>
    fetch(`${url}${path}`, init).then(
      ({ status, type }) => `${status} ${type}`,
      (error: Error) => error.name,
    )
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  return {
    // reaches the gateway, so that the failures below are due to the origin
    unread: await outcomeOf('/health', { mode: 'no-cors' }),
    read: await outcomeOf('/health', {}),
    rest: await outcomeOf('/mcp/tools/call', { method: 'POST', headers, body: '{}' }),
    mcp: await outcomeOf('/mcp', { method: 'POST', headers, body: '{}' }),
  }
}

async function managePlan({ url, token }: Target) {
  const common = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const limits = {
    rate_limit_per_second: 10,
    rate_limit_per_minute: 100,
    daily_request_limit: 1000,
    monthly_request_limit: 10_000,
    burst_limit: 10,
  }
  const create = () =>
    fetch(`${url}/v1/plans`, {
      method: 'POST',
      headers: { ...common, 'Idempotency-Key': 'page-1' },
      body: JSON.stringify({ slug: 'page', name: 'Page', ...limits }),
    })
  const created = await create()
  const repeated = await create()
  const location = created.headers.get('Location') ?? ''
  const patch = (etag: string, key: string) =>
    fetch(`${url}${location}`, {
      method: 'PATCH',
      headers: { ...common, 'If-Match': etag, 'Idempotency-Key': key },
      body: JSON.stringify({ name: 'Changed' }),
    })
  const etag = created.headers.get('ETag') ?? ''
  const changed = await patch(etag, 'page-2')
  const stale = await patch(etag, 'page-3')
  const missing = await fetch(`${url}/v1/nowhere`, { headers: common })
  return {
    statuses: [created.status, repeated.status, changed.status, stale.status, missing.status],
    replayed: repeated.headers.get('Idempotency-Replayed'),
    location,
    etags: [etag, changed.headers.get('ETag')],
    rateLimit: ['Limit', 'Remaining', 'Reset'].map(name => changed.headers.get(`X-RateLimit-${name}`)),
    requestId: created.headers.get('X-Request-ID'),
  }
}

describe.skipIf(missing)(`pages that call from a browser${hint}`, () => {
  let allowed: BrowserPage
  let foreign: BrowserPage
  beforeAll(async () => {
    allowed = await openPage()
    foreign = await openPage()
  })
  afterAll(async () => {
    await allowed?.close()
    await foreign?.close()
  })

  describe.each(['uws', 'node'] as const)('HTTP_SERVER=%s', server => {
    describe.skipIf(!kinds.includes(server) && !REQUIRED)('a deployment', () => {
      let deployment: Deployment
      let gateway: Target
      beforeAll(async () => {
        deployment = await deploy({ HTTP_SERVER: server, CORS_ORIGINS: allowed.origin })
        gateway = { url: deployment.url, token: await deployment.token('demo-agent') }
      })
      afterAll(() => deployment?.stop())

      it('lets a page of an allowed origin call a tool over REST', async () => {
        const called = await allowed.run(callOverRest, { ...gateway, call: CALL })
        expect(called).toEqual({ status: 200, text: expect.stringContaining('P-1001') })
      })

      it('lets it use MCP: session, list, calls, and events of a stream by GET and by POST', async () => {
        const seen = await allowed.run(useMcp, gateway)
        expect(seen.report.progress).toBeGreaterThanOrEqual(3)
        expect(seen).toEqual({
          initialized: 200,
          sessionId: expect.stringMatching(/.{16}/),
          tools: expect.any(Number),
          streamed: { status: 200, type: expect.stringMatching(/^text\/event-stream/) },
          firstEvent: expect.stringMatching(/^event: endpoint\r?\ndata: \S+sessionId=/),
          called: expect.stringContaining('P-1001'),
          report: {
            type: expect.stringMatching(/^text\/event-stream/),
            progress: expect.any(Number),
            isComplete: true,
          },
          ended: expect.any(Number),
        })
      })

      it('lets a page of a foreign origin read nothing', async () => {
        expect(await foreign.run(beRefused, gateway)).toEqual({
          unread: '0 opaque',
          read: 'TypeError',
          rest: 'TypeError',
          mcp: 'TypeError',
        })
      })

      it('lets a page of an allowed origin use the control plane, and no foreign one', async () => {
        const url = deployment.running.addresses.api_url!
        const target = { url, token: await deployment.token('demo-admin') }
        // the tenant of the token has no limit otherwise, and its responses no X-RateLimit-*
        const limited = await fetch(`${url}/v1/tenants/acme`, {
          method: 'PATCH',
          headers: { authorization: `Bearer ${target.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ settings: { api_requests_per_hour: 1000 } }),
        })
        expect(limited.status).toBe(200)
        const seen = await allowed.run(managePlan, target)
        expect(seen).toEqual({
          statuses: [201, 201, 200, 412, 404],
          replayed: 'true',
          location: expect.stringMatching(/^\/v1\/plans\/./),
          etags: [expect.stringMatching(/"/), expect.stringMatching(/"/)],
          rateLimit: Array(3).fill(expect.stringMatching(/^\d+$/)),
          requestId: expect.stringMatching(/./),
        })
        expect(seen.etags[1]).not.toBe(seen.etags[0])
        const refused = await foreign.run(beRefused, target)
        expect([refused.unread, refused.read, refused.rest]).toEqual(['0 opaque', 'TypeError', 'TypeError'])
      })
    })
  })
})
