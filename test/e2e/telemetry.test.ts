/** What a deployment reports about its calls: traces that join the caller's, metrics, log lines; and that no secret is in any of them. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Addresses } from '../../src/app/main.ts'
import type { MetricDefinition } from '../../src/telemetry/metric-definition.ts'
import { METRICS } from '../../src/telemetry/metric-table.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import { built } from '../fixtures/built.ts'
import { post, read, rpc } from '../fixtures/deployment.ts'
import { FREE_PORTS } from '../fixtures/free-ports.ts'
import { processEnv } from '../fixtures/process-env.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, string | number> }[]
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const CANARY_ARGUMENT = 'canary-argument-5f1c'
const CANARY_TOOL = 'canary-tool-77d0'
const CANARY_KEY = 'tgk_canary01_canarycanarycanarycanarycanary01'
const CANARY_TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.Y2FuYXJ5'
const SOON = { timeout: 20_000, interval: 50 }

const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-telemetry-'))
const spans: Span[] = []
const resources: string[] = []
const upstreamTraces: string[] = []
const upstreamHeaders: IncomingHttpHeaders[] = []
let collector: Server
let upstream: Server
let child: ChildProcess
let addresses: Addresses
let token: string
let log = ''

const listening = async (server: Server): Promise<string> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/v1/traces') {
        const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString())
        for (const { resource, scopeSpans } of resourceSpans) {
          resources.push(JSON.stringify(resource))
          for (const scope of scopeSpans) spans.push(...scope.spans)
        }
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  upstream = createServer((request, response) => {
    upstreamTraces.push(String(request.headers.traceparent))
    upstreamHeaders.push(request.headers)
    if (request.url === '/gone') response.writeHead(410)
    response.end('proxied')
  })
  const [endpoint] = await Promise.all([listening(collector), listening(upstream)])
  await copyTemplate(join(dataDir, 'postgres'))
  child = spawn(process.execPath, [built('cli/index.js'), 'serve'], {
    env: {
      ...processEnv(),
      ...FREE_PORTS,
      DATA_DIR: dataDir,
      WORKERS: '1',
      STAGE_TIMING_SAMPLE: '1',
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_SERVICE_NAME: 'gateway-of-the-test',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stderr!.on('data', (chunk: Buffer) => {
    log += chunk.toString()
  })
  addresses = await new Promise<Addresses>((resolve, reject) => {
    let out = ''
    child.stdout!.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      const ready = /^\{.*\}$/m.exec(out)
      if (ready !== null) resolve(JSON.parse(ready[0]) as Addresses)
    })
    child.once('exit', code => reject(new Error(`ended with ${code}: ${log}`)))
  })
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-admin',
    client_secret: 'demo-admin-secret',
  })
  const granted = await fetch(`${addresses.auth_url}/protocol/openid-connect/token`, {
    method: 'POST',
    body: form,
  })
  token = ((await granted.json()) as { access_token: string }).access_token
}, 120_000)
afterAll(async () => {
  if (child.exitCode === null) {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }
  collector.closeAllConnections()
  collector.close()
  upstream.closeAllConnections()
  upstream.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const attributesOf = ({ attributes }: Span): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]))

const invoke = (body: unknown, headers: Record<string, string> = {}, bearer = token) =>
  post(`${addresses.gateway_url}/mcp/v1/tools/invoke`, body, bearer, headers)
const lines = () =>
  log
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)

it('continues the trace of the caller, through the stages, to the upstream', async () => {
  const api = async (path: string, body: unknown) => {
    const response = await post(`${addresses.api_url}/v1${path}`, body, token)
    expect(response.status, response.text).toBe(201)
    return response.json
  }
  const tenant = await api('/tenants', { name: 'traced', tier: 'enterprise' })
  const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const open = { name: 'Open', upstream_url: upstreamUrl, path: '/open', auth_required: false }
  const { public_url } = await api(`/tenants/${tenant.id}/apis`, open)
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01` }
  await expect.poll(async () => (await read(await fetch(public_url, { headers }))).text, SOON).toBe('proxied')
  await expect
    .poll(() => spans.some(span => span.name === 'GET /t/traced/open' && span.traceId === TRACE), SOON)
    .toBe(true)

  const server = spans.find(span => span.name === 'GET /t/traced/open' && span.traceId === TRACE)!
  expect([server.parentSpanId, server.kind]).toEqual([PARENT, 2])
  const steps = spans.filter(span => span.parentSpanId === server.spanId)
  expect(steps.map(step => step.name)).toEqual(expect.arrayContaining(['authenticate', 'take-quota', 'GET']))
  const invoked = steps.find(step => step.name === 'GET')!
  expect(invoked.kind).toBe(3)
  expect(attributesOf(invoked)).toMatchObject({
    'server.address': '127.0.0.1',
    'server.port': String((upstream.address() as AddressInfo).port),
  })
  expect(upstreamTraces).toContain(`00-${TRACE}-${invoked.spanId}-01`)
  expect(BigInt(invoked.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(server.startTimeUnixNano))
  expect(BigInt(invoked.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(server.endTimeUnixNano))
  expect(resources.join()).toContain('gateway-of-the-test')
})

it('reports the status of a proxied response in metric, log line and both spans; a status of 400 and above is an error of the outgoing request alone', async () => {
  const traceId = TRACE.replace('0af7', 'c0d7')
  const headers = { traceparent: `00-${traceId}-${PARENT}-01` }
  const response = await fetch(`${addresses.gateway_url}/t/traced/open/gone`, { headers })
  expect(response.status).toBe(410)
  const of = (kind: number) => spans.find(span => span.traceId === traceId && span.kind === kind)
  await expect.poll(() => of(2) !== undefined && of(3) !== undefined, SOON).toBe(true)
  expect([of(2)!.status.code ?? 0, of(3)!.status.code ?? 0]).toEqual([0, 2])
  expect(attributesOf(of(2)!)).toMatchObject({ 'http.response.status_code': '410' })
  expect(attributesOf(of(2)!)).not.toHaveProperty('error.type')
  expect(attributesOf(of(3)!)).toMatchObject({ 'http.response.status_code': '410', 'error.type': '410' })
  expect(lines().find(line => line.trace_id === traceId)).toMatchObject({ status: 410, outcome: 'success' })
  const metrics = await (await fetch(`${addresses.metrics_url}/metrics`)).text()
  expect(metrics).toMatch(/^platform_requests_total\{[^}]*status="410"\} 1$/m)
})

describe('an MCP request that names its trace in _meta', () => {
  const OF_BODY = TRACE.replace('0af7', 'b0d7')
  const KEY = 'io.modelcontextprotocol'
  let name: string
  beforeAll(async () => {
    const api = (path: string, body: unknown) => post(`${addresses.api_url}/v1${path}`, body, token)
    const tenant = (await api('/tenants', { name: 'meta', tier: 'enterprise' })).json
    const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
    const operation = { operationId: 'ping', responses: { 200: { description: 'ok' } } }
    const made = await api(`/tenants/${tenant.id}/apis`, {
      name: 'Meta',
      path: '/meta',
      upstream_url: upstreamUrl,
      auth_required: false,
      spec: {
        openapi: '3.1.0',
        info: { title: 'Meta', version: '1' },
        servers: [{ url: upstreamUrl }],
        paths: { '/ping': { get: operation } },
      },
    })
    expect(made.status, made.text).toBe(201)
    const names = async (): Promise<string[]> => {
      const { json } = await post(`${addresses.gateway_url}/mcp/v1/tools`, {}, token, {
        'x-tenant-id': 'meta',
      })
      return (json.tools as { name: string }[]).map(tool => tool.name).filter(each => each.endsWith('ping'))
    }
    name = await vi.waitFor(async () => {
      const [only, ...others] = await names()
      if (only === undefined || others.length > 0) throw new Error('the API is not a tool yet')
      return only
    }, SOON)
  })

  async function traced(meta: object, headers: Record<string, string> = {}) {
    const era = { [`${KEY}/protocolVersion`]: '2026-07-28', [`${KEY}/clientCapabilities`]: {} }
    const params = { name, arguments: {}, _meta: { ...era, ...meta } }
    const before = upstreamHeaders.length
    const response = await post(`${addresses.gateway_url}/mcp`, rpc('tools/call', params), token, {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      'x-tenant-id': 'meta',
      ...headers,
    })
    expect(response.status, response.text).toBe(200)
    expect(upstreamHeaders).toHaveLength(before + 1)
    return { traceId: response.headers.get('x-trace-id')!, reported: upstreamHeaders.at(-1)! }
  }
  const BODY = { traceparent: `00-${OF_BODY}-${PARENT}-01`, tracestate: 'vendor=1', baggage: 'region=eu' }

  it('is part of that trace, and so is its backend', async () => {
    const { traceId, reported } = await traced(BODY)
    expect(traceId).toBe(OF_BODY)
    expect(reported.traceparent).toMatch(new RegExp(`^00-${OF_BODY}-(?!${PARENT})[0-9a-f]{16}-01$`))
    expect([reported.tracestate, reported.baggage]).toEqual(['vendor=1', 'region=eu'])
    const own = () => spans.find(span => span.traceId === OF_BODY && span.kind === 2)
    await expect.poll(() => own()?.parentSpanId, SOON).toBe(PARENT)
  })

  it('is part of the trace that its headers name, when they name one', async () => {
    const { traceId, reported } = await traced(BODY, { traceparent: `00-${TRACE}-${PARENT}-01` })
    expect(traceId).toBe(TRACE)
    expect(reported.traceparent).toContain(TRACE)
    expect([reported.tracestate, reported.baggage]).toEqual([undefined, undefined])
  })

  it.each([
    { traceparent: 'nonsense', tracestate: 'vendor=1', baggage: 'region=eu' },
    { traceparent: BODY.traceparent, tracestate: 'no state', baggage: 'region=eu\r\nx-evil: 1' },
    { traceparent: [BODY.traceparent], tracestate: { vendor: 1 }, baggage: 7 },
  ])('passes nothing on that is not valid: %j', async meta => {
    const { traceId, reported } = await traced(meta)
    expect(reported.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
    for (const header of ['tracestate', 'baggage', 'x-evil']) expect(reported[header], header).toBeUndefined()
  })
})

it('makes no span of a trace that its caller does not record, and begins its own trace without a caller', async () => {
  const silent = TRACE.replace('0af7', 'ffff')
  const response = await invoke({ name: 'nothing' }, { traceparent: `00-${silent}-${PARENT}-00` })
  expect(response.headers.get('x-trace-id')).toBe(silent)
  const own = await invoke({ name: 'nothing' })
  const traceId = own.headers.get('x-trace-id')!
  await expect
    .poll(() => spans.filter(span => span.traceId === traceId && span.kind === 2), SOON)
    .toHaveLength(1)
  const span = spans.find(each => each.traceId === traceId && each.kind === 2)!
  // a refused call is not a fault of the server
  expect([span.parentSpanId ?? '', span.status.code ?? 0]).toEqual(['', 0])
  expect(attributesOf(span)).toMatchObject({
    'error.type': 'tool_not_found',
    'http.response.status_code': '404',
  })
  expect(spans.filter(each => each.traceId === silent)).toEqual([])
})

it('writes one line for each call, with ids, caller, tool, outcome and timings', async () => {
  const response = await invoke(
    { name: 'shop_getProduct', arguments: { id: CANARY_ARGUMENT, productId: CANARY_ARGUMENT } },
    { 'x-request-id': 'line-1' },
  )
  expect(response.headers.get('x-request-id')).toBe('line-1')
  const mine = () => lines().filter(line => line.request_id === 'line-1')
  await expect.poll(mine, SOON).toHaveLength(1)
  expect(mine()[0]).toMatchObject({
    msg: 'call',
    trace_id: response.headers.get('x-trace-id'),
    access: 'rest',
    action: 'tools.call',
    tenant: 'acme',
    consumer: 'demo-admin',
    outcome: expect.any(String),
    status: response.status,
    duration_ms: expect.any(Number),
    stages: { authenticate: expect.any(Number) },
    client: '127.0.0.1',
    decision_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
})

it('writes one line for each request to the control plane, with actor, operation and outcome', async () => {
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'request-1' }
  await fetch(`${addresses.api_url}/v1/tenants?q=${CANARY_ARGUMENT}`, { headers })
  const mine = () => lines().filter(line => line.request_id === 'request-1')
  await expect.poll(mine, SOON).toHaveLength(1)
  expect(mine()[0]).toMatchObject({
    msg: 'request',
    operation: 'listTenants',
    actor: 'demo-admin',
    client: '127.0.0.1',
    status: 200,
    duration_ms: expect.any(Number),
  })
  expect(JSON.stringify(mine())).not.toContain(CANARY_ARGUMENT)
})

it('writes one line for each login, logout, request for a token and registration, with the client and the reason of a refusal', async () => {
  const form = (client_secret: string) =>
    new URLSearchParams({ grant_type: 'client_credentials', client_id: 'demo-admin', client_secret })
  for (const secret of [CANARY_ARGUMENT, 'demo-admin-secret'])
    await fetch(`${addresses.gateway_url}/oauth/token`, { method: 'POST', body: form(secret) })
  await post(`${addresses.gateway_url}/oauth/register`, { redirect_uris: [CANARY_ARGUMENT] })
  const page = (path: string, headers: Record<string, string>) =>
    fetch(`${addresses.api_url}/console/${path}`, {
      method: 'POST',
      headers,
      body: '{"client":"demo-admin"}',
    })
  const signedIn = await page('login/demo', {})
  const cookie = signedIn.headers
    .getSetCookie()
    .map(each => each.split(';')[0])
    .join('; ')
  await page('logout', { cookie, origin: 'https://evil.example' })
  await page('logout', { cookie })
  const seen = () =>
    lines()
      .filter(({ msg }) => ['oauth', 'session', 'session refused'].includes(String(msg)))
      .map(({ endpoint, page, event, status, error, client }) => [
        endpoint ?? page,
        event ?? status,
        error,
        client,
      ])
  const of = (...line: unknown[]) => [...line, '127.0.0.1']
  await expect.poll(seen, SOON).toEqual([
    of('/oauth/token', 401, 'invalid_client'),
    of('/oauth/token', 200, undefined),
    of('/oauth/register', 400, 'invalid_redirect_uri'),
    // the page requests the token of the login
    of('/oauth/token', 200, undefined),
    of('console', 'login', undefined),
    of('console', 'foreign_page', expect.stringMatching(/does not come from a page/)),
    of('console', 'logout', undefined),
  ])
  expect(log).not.toContain(CANARY_ARGUMENT)
})

it('shows only metrics of the table, with their types', async () => {
  const text = await (await fetch(`${addresses.metrics_url}/metrics`)).text()
  const shown = [...text.matchAll(/^# TYPE (platform_\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type])
  const table: Readonly<Record<string, MetricDefinition>> = METRICS
  expect(shown.length).toBeGreaterThan(30)
  expect(shown).toEqual(shown.map(([name]) => [name, table[name!]?.type]))
})

it('keeps tokens, keys, secrets and arguments out of log, metrics, events, traces and responses', async () => {
  const said: string[] = []
  const tools = await post(`${addresses.gateway_url}/mcp/v1/tools`, {}, token)
  const names = (tools.json.tools as { name: string }[]).map(tool => tool.name).slice(0, 10)
  for (const name of [...names, 'missing'])
    said.push(
      (await invoke({ name, arguments: { id: 7, [CANARY_ARGUMENT.slice(0, 6)]: CANARY_ARGUMENT } })).text,
    )
  said.push((await invoke({ name: names[0] }, {}, CANARY_TOKEN)).text)
  said.push((await invoke({ name: names[0] }, { 'x-api-key': CANARY_KEY, authorization: '' })).text)
  said.push(
    (await post(`${addresses.gateway_url}/mcp/v1/tools/invoke`, `{"name":"${CANARY_ARGUMENT}`, token)).text,
  )
  // only its caller and the access log see a name that no tool has
  const odd = await invoke({ name: CANARY_TOOL, arguments: { id: CANARY_ARGUMENT } })
  const failing = await invoke({ name: names[0] }, { baggage: `secret=${CANARY_ARGUMENT}` })
  for (const { headers } of [odd, failing])
    await expect
      .poll(() => spans.some(span => span.traceId === headers.get('x-trace-id') && span.kind === 2), SOON)
      .toBe(true)
  const metrics = await (await fetch(`${addresses.metrics_url}/metrics`)).text()
  for (const name of [
    'platform_requests_total{consumer="demo-admin"',
    'platform_rate_limited_total',
    'platform_quota_exceeded_total',
    'platform_stage_duration_seconds_bucket{le="0.00002",stage="authenticate"',
    'platform_metering_events_total',
    'platform_metering_spool_bytes',
  ])
    expect(metrics).toContain(name)
  await expect
    .poll(() => lines().filter(line => line.msg === 'call').length, SOON)
    .toBeGreaterThan(names.length)
  const spool = join(dataDir, 'metering')
  const events = readdirSync(spool).map(name => readFileSync(join(spool, name), 'latin1'))
  expect(events.join()).toContain('demo-admin')
  const kept = [metrics, ...events, JSON.stringify(spans), ...resources].join('\n')
  expect(kept).not.toContain(CANARY_TOOL)
  expect(lines().find(line => line.requested_tool === CANARY_TOOL)).toMatchObject({
    outcome: 'tool_not_found',
  })
  const reported = [...said, log, kept].join('\n')
  const secrets = { token, tokenTail: token.slice(-40), CANARY_TOKEN, CANARY_KEY, CANARY_ARGUMENT }
  for (const [name, secret] of Object.entries(secrets)) expect(reported.includes(secret), name).toBe(false)
  expect(reported).not.toContain('demo-admin-secret')
})
