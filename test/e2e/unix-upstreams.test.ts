/** Upstreams on Unix sockets through a whole gateway: tools, an MCP server, proxied APIs with their rules; and what may not be a Unix socket. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { socketFolder, type UnixBackend, unixBackend, unixUrl } from '../contract/egress/unix-backend.ts'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import { result, type ScriptedServer, startScriptedServer, text } from '../fixtures/scripted-mcp-server.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const SOON = { timeout: 30_000, interval: 50 }
const LARGE_BYTES = 16 * 1024 * 1024

const folder = socketFolder()
const listed = join(folder.path, 'backends')
const pathOf = (name: string): string => join(listed, `${name}.sock`)
const urlOf = (name: string): string => unixUrl(pathOf(name))
const backends: UnixBackend[] = []
let world: TwoTenants
let shop: UnixBackend
/** Not listed: stands for the socket of a container engine. */
let engine: UnixBackend
let mcp: ScriptedServer
let collector: Server
const spans: { name: string; attributes: { key: string; value: object }[] }[] = []

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'x', version: '1' },
  paths: {
    '/things/{id}': {
      get: {
        operationId: 'get',
        summary: 'Gets',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'ok' } },
      },
    },
  },
}
/** Documents that a server was asked for. */
const fetchedDocuments: string[] = []

/** Responds with what it received; `/large` is a long response, `/openapi.json` a document that becomes tools. */
async function serve(name: string, path = pathOf(name)): Promise<UnixBackend> {
  const backend = await unixBackend(path, async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += chunk.length
    const { host, 'x-forwarded-host': forwardedHost } = request.headers
    response.setHeader('content-type', 'application/json')
    if (request.url === '/openapi.json') {
      fetchedDocuments.push(name)
      return void response.end(JSON.stringify(DOCUMENT))
    }
    if (request.url?.endsWith('/large') === true) {
      response.writeHead(200)
      for (let sent = 0; sent < LARGE_BYTES; sent += 65_536)
        if (!response.write(Buffer.alloc(65_536, 7))) await new Promise(go => response.once('drain', go))
      return void response.end()
    }
    const seen = { by: name, method: request.method, url: request.url, host, forwardedHost, bytes }
    response.end(JSON.stringify(seen))
  })
  backends.push(backend)
  return backend
}

function writeToolSets(directory: string): void {
  mkdirSync(directory)
  const document = (servers?: object[]) => ({ inline: JSON.stringify({ ...DOCUMENT, servers }) })
  const write = (kind: string, name: string, spec: object): void =>
    writeFileSync(
      join(directory, `${name}.yaml`),
      JSON.stringify({
        apiVersion: 'toolgate.dev/v1alpha1',
        kind,
        metadata: { name, namespace: 'platform' },
        spec: { displayName: name, ...spec },
      }),
    )
  const naming = (prefix: string) => ({ naming: { prefix: `${prefix}_` } })
  write('ToolSet', 'base', { openAPISpec: document(), baseURL: `${urlOf('shop')}/v1/`, ...naming('base') })
  write('ToolSet', 'server', { openAPISpec: document([{ url: `${urlOf('shop')}/v2` }]), ...naming('server') })
  write('ToolSet', 'engine', { openAPISpec: document(), baseURL: unixUrl(engine.path), ...naming('engine') })
  write('ToolSet', 'remote', { source: { mcp: { url: mcp.url } }, ...naming('remote') })
  const fetched = { openAPISpec: { url: `${urlOf('shop')}/openapi.json` }, baseURL: `${urlOf('shop')}/v1/` }
  write('ToolSet', 'document', { ...fetched, ...naming('d') })
  write('Tool', 'endpoint', {
    description: 'x',
    endpoint: `${urlOf('shop')}/v3/{id}`,
    method: 'GET',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
  })
}

beforeAll(async () => {
  mkdirSync(listed)
  shop = await serve('shop')
  engine = await serve('engine', join(folder.path, 'engine.sock'))
  mcp = await startScriptedServer(({ method, id, params }, response) => {
    if (method === 'tools/list')
      return result(response, id, { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })
    return method === 'tools/call' ? result(response, id, text(`echo ${params.arguments.text}`)) : undefined
  }, pathOf('mcp'))
  collector = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    for (const { scopeSpans } of JSON.parse(body).resourceSpans ?? [])
      for (const scope of scopeSpans) spans.push(...scope.spans)
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  // the exporter reads them itself
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint)
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '100')
  writeToolSets(join(folder.path, 'toolsets'))
  world = await twoTenants({
    TOOLSETS: join(folder.path, 'toolsets'),
    EGRESS_ALLOW: `unix:${listed}/`,
    STAGE_TIMING_SAMPLE: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  })
  vi.unstubAllEnvs()
})
afterAll(async () => {
  await world?.stop()
  await mcp?.close()
  for (const backend of backends) await backend.close()
  collector?.closeAllConnections()
  collector?.close()
  folder.remove()
})

const invoke = (name: string, args: object) =>
  world.call('POST', '/mcp/v1/tools/invoke', world.root, { name, arguments: args })
const textOf = (response: { readonly json: { result?: unknown } }): string => JSON.stringify(response.json)
const metricsText = async () => (await fetch(`${world.gateway.running.addresses.metrics_url}/metrics`)).text()

describe('tools on a Unix socket', () => {
  it.each([
    ['base_get', '/v1/things/a%20b'],
    ['server_get', '/v2/things/a%20b'],
    ['endpoint', '/v3/a%20b'],
  ])('%s is called, with Host: localhost', async (name, path) => {
    const reply = await invoke(name, { id: 'a b' })
    expect(reply.status, reply.text).toBe(200)
    expect(textOf(reply)).toContain(path)
    expect(textOf(reply)).toContain('localhost')
  })

  it('keep the connection', async () => {
    const before = shop.connections()
    for (let at = 0; at < 10; at++) expect((await invoke('base_get', { id: String(at) })).status).toBe(200)
    expect(shop.connections() - before).toBeLessThanOrEqual(1)
  })

  it('come from an MCP server, too', async () => {
    const isListed = async () => {
      const { text: tools } = await world.call('POST', '/mcp/v1/tools', world.root, {})
      return tools.includes('remote_echo')
    }
    await vi.waitUntil(isListed, SOON)
    const reply = await invoke('remote_echo', { text: 'hi' })
    expect([reply.status, textOf(reply)]).toEqual([200, expect.stringContaining('echo hi')])
  })

  it('of a socket that is not listed are refused without a word about it; documents are not fetched at all', async () => {
    const reply = await invoke('engine_get', { id: 'x' })
    expect([reply.status, reply.text.includes('engine.sock')]).toEqual([502, false])
    expect(engine.connections()).toBe(0)
    expect((await world.call('POST', '/mcp/v1/tools', world.root, {})).text).not.toContain('"d_get"')
    const { toolsets } = (await world.call('GET', '/admin/toolsets', world.root)).json
    expect(toolsets.find((one: { name: string }) => one.name === 'document').status).toMatchObject({
      phase: 'Error',
      message: expect.stringContaining('spec.openAPISpec.url is not an absolute http(s) address'),
    })
    expect(fetchedDocuments).toEqual([])
  })

  it('are named by their socket in metrics and spans', async () => {
    const metrics = await metricsText()
    expect(metrics).toContain(`platform_backend_calls_total{backend="${urlOf('shop')}",outcome="success"}`)
    const spanOf = () => spans.find(({ name }) => name === 'GET /things/{id}')
    await vi.waitUntil(() => spanOf() !== undefined, SOON)
    const attributes = Object.fromEntries(
      spanOf()!.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
    )
    expect(attributes).toMatchObject({
      'server.address': pathOf('shop'),
      'network.transport': 'unix',
      'url.full': `${urlOf('shop')}/v1/things/{id}`,
    })
    expect(attributes['server.port']).toBeUndefined()
  })
})

describe('a proxied API on a Unix socket', () => {
  let api: RuledApi
  beforeAll(async () => {
    api = await publishRuled(world, 'proxied', `${urlOf('shop')}/base`, null)
  })

  it('is called with path and query, as its tools', async () => {
    const reply = await api.call('/a%20b?c=d')
    expect(JSON.parse(reply.text)).toMatchObject({ url: '/base/a%20b?c=d', host: 'localhost' })
    expect(JSON.parse(reply.text).forwardedHost).toMatch(/^localhost:\d+$/)
    expect((await api.callTool('list', {})).text).toContain('/base/things')
  })

  it('takes a streamed upload and sends a large download', async () => {
    const init = { method: 'POST', body: new Uint8Array(LARGE_BYTES) }
    expect(JSON.parse((await api.call('/up', init)).text)).toMatchObject({ bytes: LARGE_BYTES })
    const response = await fetch(`${api.url}/large`)
    let bytes = 0
    for await (const chunk of response.body!) bytes += (chunk as Uint8Array).byteLength
    expect([response.status, bytes]).toEqual([200, LARGE_BYTES])
  })

  it('gets its part of the calls, fails its health checks and is copied to', async () => {
    const [one, copy] = [await serve('one'), await serve('copy')]
    const copied: string[] = []
    copy.server.on('request', request => copied.push(request.url!))
    const traffic = {
      upstreams: {
        addresses: [{ url: urlOf('one') }, { url: `${urlOf('two')}/x` }],
        health_check: { path: '/healthz', interval_ms: 500, timeout_ms: 300, unhealthy_after: 1 },
      },
      mirror: { url: urlOf('copy'), percent: 100 },
    }
    const ruled = await publishRuled(world, 'ruled', 'http://127.0.0.1:9', traffic)
    const by = async () => (await ruled.call('/y')).text
    // the second address has no server yet
    await vi.waitUntil(async () => {
      const seen = [await by(), await by(), await by(), await by()]
      return seen.every(one => one.includes('"by":"one","method":"GET","url":"/y"'))
    }, SOON)
    await serve('two')
    await vi.waitUntil(async () => (await by()).includes('"by":"two","method":"GET","url":"/x/y"'), SOON)
    await vi.waitUntil(() => copied.includes('/y'), SOON)
    expect(one.connections()).toBeGreaterThan(0)
  })

  it('without a server is unreachable, its circuit opens, and it recovers', async () => {
    // open for longer than six calls take on a busy machine
    const circuit_breaker = { opens_after: 3, open_ms: 2_000, max_open_ms: 2_000 }
    const missing = await publishRuled(world, 'missing', urlOf('missing'), { circuit_breaker })
    const plain = await publishRuled(world, 'plain', urlOf('missing'), null)
    expect((await plain.call()).status).toBe(502)
    const statuses = []
    for (let at = 0; at < 6; at++) statuses.push((await missing.call()).status)
    expect([statuses[0], statuses.at(-1)]).toEqual([502, 503])
    expect((await missing.callTool('list', {})).status).toBe(503)
    const server = await serve('missing')
    for (const api of [missing, plain])
      await vi.waitUntil(async () => (await api.call()).status === 200, SOON)
    await server.close()
    expect((await plain.call()).status).toBe(502)
  })

  it('that is not listed is refused, however it is spelled', async () => {
    const { path } = engine
    const spellings = [unixUrl(path), unixUrl(path).replaceAll('%2F', '%2f'), unixUrl('/run/docker.sock')]
    for (const [at, url] of spellings.entries()) {
      const blocked = await publishRuled(world, `blocked${at}`, url, null)
      const reply = await blocked.call('/containers/json')
      expect([reply.status, reply.text.includes('sock')]).toEqual([502, false])
      expect((await blocked.callTool('list', {})).status).toBe(502)
    }
    expect(engine.connections()).toBe(0)
  })

  it.each([
    ['http+unix:///run/shop.sock', 'names no Unix socket'],
    ['http+unix://shop.sock', 'is not absolute'],
    ['http+unix://%2Frun%2F..%2Fdocker.sock', 'empty segment, "." or ".."'],
    ['http+unix://%2Frun%2Fa%00b', 'NUL'],
    [`http+unix://%2F${'x'.repeat(120)}`, 'the system allows 107'],
    ['http+unix://a:b@%2Frun%2Fshop.sock', 'user name or password'],
    ['http+unix://%2Frun%2Fshop.sock#x', 'without user name, password or fragment'],
  ])('%s is refused when it is registered', async (url, reason) => {
    const upstreams = { addresses: [{ url }] }
    const mirror = { url, percent: 1 }
    for (const [field, body] of [
      ['upstream_url', { upstream_url: url }],
      ['traffic.upstreams.addresses[0].url', { upstream_url: 'http://a.test', traffic: { upstreams } }],
      ['traffic.mirror.url', { upstream_url: 'http://a.test', traffic: { mirror } }],
    ] as const) {
      const asked = { name: 'no', path: '/no', ...body }
      const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, asked)
      expect([reply.status, reply.json.error.details[0].field]).toEqual([400, field])
      expect(reply.json.error.details[0].message).toContain(reason)
    }
  })
})

it('webhooks, callbacks, token endpoints and links may not be Unix sockets', async () => {
  const url = urlOf('shop')
  const before = shop.connections()
  const tenant = `/tenants/${world.beta}`
  const authentication = { type: 'oauth2_client_credentials', token_url: url, client_id: 'c', secret: 's' }
  const api = { name: 'no', path: '/no', upstream_url: 'http://a.test' }
  for (const [path, body, field] of [
    [`${tenant}/webhooks`, { url, events: ['*'] }, 'url'],
    [`${tenant}/subscriptions`, { api_id: 'x', plan: 'gold', callback_url: url }, 'callback_url'],
    [`${tenant}/apis`, { ...api, type: 'mcp', mcp: { authentication } }, 'mcp.authentication.token_url'],
    [`${tenant}/apis`, { ...api, deprecation: { at: null, link: url } }, 'deprecation.link'],
  ] as const) {
    const reply = await world.api('POST', path, world.root, body)
    expect(reply.status, reply.text).toBe(400)
    const fields = reply.json.error.details.map((one: { field: string }) => one.field)
    expect(fields, reply.text).toContain(field)
  }
  expect(shop.connections()).toBe(before)
})
