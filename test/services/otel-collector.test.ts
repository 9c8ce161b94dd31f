/**
 * Traces in a real receiver: the OpenTelemetry collector checks and stores what two gateways send, and the spans that it stored follow the
 * conventions for HTTP and MCP and form a service map.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

const PROGRAM = resolve('.tools/otel-collector/otel-collector')
const MISSING = !existsSync(PROGRAM)
const REQUIRED = process.env.REQUIRE_SERVICES === '1'
const HINT = MISSING ? ' (missing: bash scripts/services.sh otel-collector)' : ''
const SOON = { timeout: 20_000, interval: 100 }
const CALLER = 'b7ad6b7169203331'
/** OTLP, enum SpanKind and StatusCode. */
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3]
const [UNSET, ERROR] = [0, 2]

interface Span {
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly status: number
  readonly attributes: Readonly<Record<string, string | number>>
}

/** As the file exporter writes them: OTLP in JSON, a batch on each line. */
interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly StoredSpan[] }[]
  }[]
}
interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}
type StoredSpan = Omit<Span, 'service' | 'status' | 'attributes' | 'parentSpanId'> & {
  readonly parentSpanId?: string
  readonly status?: { readonly code?: number }
  readonly attributes?: readonly Attribute[]
}

function valuesOf(attributes: readonly Attribute[] = []): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? Number(intValue)]),
  )
}

describe.skipIf(MISSING && !REQUIRED)(`the OpenTelemetry collector${HINT}`, { timeout: 60_000 }, () => {
  const before = { ...process.env }
  let dir: string
  let collector: ChildProcess
  let log = ''
  let outer: Deployment
  let inner: Deployment
  let token: string
  let proxied: string
  let toolsOfInner: string

  function stored(): readonly Span[] {
    const file = join(dir, 'traces.ndjson')
    if (!existsSync(file)) return []
    const lines = readFileSync(file, 'utf8').split('\n')
    // the last line may be half written
    return lines.slice(0, -1).flatMap(line =>
      (JSON.parse(line) as Batch).resourceSpans.flatMap(({ resource, scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) =>
          spans.map(span => ({
            ...span,
            service: String(valuesOf(resource.attributes)['service.name']),
            parentSpanId: span.parentSpanId ?? '',
            status: span.status?.code ?? UNSET,
            attributes: valuesOf(span.attributes),
          })),
        ),
      ),
    )
  }
  const ofTrace = (traceId: string): readonly Span[] => stored().filter(span => span.traceId === traceId)
  async function tracesOf(traceId: string, servers: number): Promise<readonly Span[]> {
    await expect.poll(() => ofTrace(traceId).filter(({ kind }) => kind === SERVER).length, SOON).toBe(servers)
    return ofTrace(traceId)
  }
  const named = (traceId: string) => ({ traceparent: `00-${traceId}-${CALLER}-01`, 'user-agent': 'caller/1' })

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'otel-'))
    const port = await freePort()
    const config = {
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
      exporters: { file: { path: join(dir, 'traces.ndjson'), flush_interval: '100ms' } },
      service: {
        telemetry: { metrics: { level: 'none' } },
        pipelines: { traces: { receivers: ['otlp'], exporters: ['file'] } },
      },
    }
    writeFileSync(join(dir, 'config.yaml'), JSON.stringify(config))
    collector = spawn(PROGRAM, ['--config', join(dir, 'config.yaml')], { stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [collector.stdout!, collector.stderr!])
      stream.on('data', (chunk: Buffer) => {
        log += chunk.toString()
      })
    await vi.waitFor(() => expect(log).toContain('Everything is ready'), SOON)

    const otlp = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: '100' }
    const env = { ...otlp, STAGE_TIMING_SAMPLE: '1' }
    // the SDK reads them from the process
    Object.assign(process.env, otlp, { OTEL_SERVICE_NAME: 'inner' })
    inner = await deploy(env)
    process.env.OTEL_SERVICE_NAME = 'outer'
    outer = await deploy(env)
    token = await outer.token('demo-admin')
    const api = async (path: string, body: unknown) => {
      const response = await outer.running.addresses.api_url
      const made = await fetch(`${response}/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const text = await made.text()
      expect(made.status, text).toBe(201)
      return JSON.parse(text) as { readonly id: string; readonly public_url: string }
    }
    const tenant = await api('/tenants', { name: 'mapped', tier: 'enterprise' })
    const shared = { auth_required: false, upstream_url: `${inner.url}/mcp` }
    const made = await api(`/tenants/${tenant.id}/apis`, { name: 'Inner', path: '/inner', ...shared })
    proxied = made.public_url
    const operation = {
      operationId: 'invoke',
      parameters: [{ name: 'version', in: 'path', required: true, schema: { type: 'string' } }],
      responses: { 200: { description: 'ok' } },
    }
    await api(`/tenants/${tenant.id}/apis`, {
      name: 'Tools of the inner gateway',
      path: '/inner-tools',
      ...shared,
      spec: {
        openapi: '3.1.0',
        info: { title: 'Inner', version: '1' },
        servers: [{ url: shared.upstream_url }],
        paths: { '/{version}/tools': { post: operation } },
      },
    })
    toolsOfInner = await vi.waitFor(async () => {
      const { json } = await outer.post('/mcp/v1/tools', {}, token, { 'x-tenant-id': 'mapped' })
      const names = (json.tools as { readonly name: string }[]).map(({ name }) => name)
      const found = names.find(name => name.endsWith('invoke'))
      if (found === undefined) throw new Error(`the API is not a tool yet: ${names.join()}`)
      return found
    }, SOON)
  }, 180_000)
  afterAll(async () => {
    await outer?.stop()
    await inner?.stop()
    if (collector?.exitCode === null) {
      const ended = once(collector, 'exit')
      collector.kill('SIGTERM')
      await ended
    }
    for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_BSP_SCHEDULE_DELAY', 'OTEL_SERVICE_NAME'])
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    rmSync(dir, { recursive: true, force: true })
  })

  it('stores a proxied call as HTTP server and client spans, linked from one gateway to the other', async () => {
    const traceId = 'a1af7651916cd43dd8448eb211c80301'
    const response = await fetch(`${proxied}/v1/tools`, { method: 'POST', headers: named(traceId) })
    expect(response.status).toBe(401)
    const spans = await tracesOf(traceId, 2)
    const of = (service: string, kind: number) =>
      spans.find(span => span.service === service && span.kind === kind)!
    const [entry, client, backend] = [of('outer', SERVER), of('outer', CLIENT), of('inner', SERVER)]
    expect([entry.parentSpanId, client.parentSpanId, backend.parentSpanId]).toEqual([
      CALLER,
      entry.spanId,
      client.spanId,
    ])
    const { hostname, port } = new URL(outer.url)
    expect(entry).toMatchObject({
      name: 'POST /t/mapped/inner',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/t/mapped/inner',
        'url.path': '/t/mapped/inner',
        'url.scheme': 'http',
        'server.address': hostname,
        'server.port': Number(port),
        'user_agent.original': 'caller/1',
        'client.address': '127.0.0.1',
        'http.response.status_code': 401,
      },
    })
    // an error of the request for the client, none of the server for the gateway that passes it on
    expect([entry.status, client.status]).toEqual([UNSET, ERROR])
    expect(client).toMatchObject({
      name: 'POST',
      attributes: {
        'error.type': '401',
        'http.response.status_code': 401,
        'http.request.method': 'POST',
        'server.address': new URL(inner.url).hostname,
        'server.port': Number(new URL(inner.url).port),
        'url.full': `${inner.url}/mcp`,
      },
    })
    // a refusal is not a fault of the server that refuses
    expect([backend.status, backend.attributes['http.response.status_code']]).toEqual([UNSET, 401])
    expect(backend.attributes['error.type']).toBe('token_missing')
    expect(backend.name).toBe('POST /mcp/v1/tools')
    expect(spans.filter(({ kind }) => kind === INTERNAL).map(({ name }) => name)).toContain('authenticate')
  })

  it('stores a tool call of MCP with its method and tool, and the template of the address that it called', async () => {
    const traceId = 'a1af7651916cd43dd8448eb211c80302'
    const call = rpc('tools/call', { name: toolsOfInner, arguments: { version: 'v1' } })
    const response = await outer.post('/mcp', call, token, {
      ...named(traceId),
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
      'x-tenant-id': 'mapped',
    })
    expect(response.status, response.text).toBe(200)
    const spans = await tracesOf(traceId, 2)
    const entry = spans.find(span => span.service === 'outer' && span.kind === SERVER)!
    const client = spans.find(span => span.service === 'outer' && span.kind === CLIENT)!
    expect(entry).toMatchObject({
      name: `tools/call ${toolsOfInner}`,
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2025-06-18',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': toolsOfInner,
        'http.request.method': 'POST',
        'http.route': '/mcp',
      },
    })
    expect(client).toMatchObject({
      name: 'POST /{version}/tools',
      parentSpanId: entry.spanId,
      attributes: {
        'url.template': '/mcp/{version}/tools',
        'url.full': `${inner.url}/mcp/{version}/tools`,
        'http.response.status_code': 401,
        'error.type': '401',
      },
    })
    const backend = spans.find(span => span.service === 'inner' && span.kind === SERVER)!
    expect([backend.parentSpanId, backend.status]).toEqual([client.spanId, UNSET])
    expect([entry.status, client.status]).toEqual([ERROR, ERROR])
  })

  it('marks both spans of a backend that does not respond as failed', async () => {
    const traceId = 'a1af7651916cd43dd8448eb211c80303'
    const stopped = `http://127.0.0.1:${await freePort()}`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const { api_url } = outer.running.addresses
    const made = await fetch(`${api_url}/v1/tenants`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: 'failing', tier: 'enterprise' }),
    })
    const { id } = (await made.json()) as { readonly id: string }
    const body = JSON.stringify({ name: 'Off', path: '/off', auth_required: false, upstream_url: stopped })
    const api = await fetch(`${api_url}/v1/tenants/${id}/apis`, { method: 'POST', headers, body })
    const { public_url } = (await api.json()) as { readonly public_url: string }
    await expect.poll(async () => (await fetch(public_url)).status, SOON).toBe(502)
    await fetch(public_url, { headers: named(traceId) })
    const spans = await tracesOf(traceId, 1)
    const entry = spans.find(({ kind }) => kind === SERVER)!
    const client = spans.find(({ kind }) => kind === CLIENT)!
    expect([entry.status, client.status]).toEqual([ERROR, ERROR])
    expect(client.attributes['error.type']).toBe(entry.attributes['error.type'])
  })

  it('has a service map: the gateways that called each other, from pairs of client and server spans', () => {
    const spans = stored()
    const clients = new Map(spans.filter(({ kind }) => kind === CLIENT).map(span => [span.spanId, span]))
    const map = new Set(
      spans
        .filter(({ kind, parentSpanId }) => kind === SERVER && clients.has(parentSpanId))
        .map(({ service, parentSpanId }) => `${clients.get(parentSpanId)!.service} → ${service}`),
    )
    expect([...map]).toEqual(['outer → inner'])
    expect(log).not.toMatch(/\berror\b/i)
  })
})
