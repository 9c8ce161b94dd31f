/** Tool search and selections on the wire: three tools in place of the list, in every version and over HTTP+SSE; addresses of a part; the server info. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'

const SEARCH_TOOLS = ['call_tool', 'describe_tools', 'find_tools']
const KEY = 'io.modelcontextprotocol'
const MODERN = '2026-07-28'

/** Its tools are found, not listed; in another language than the shop. */
const LIBRARY = `
apiVersion: toolgate.dev/v1alpha1
kind: ToolSet
metadata: { name: bibliothek, namespace: tenant-acme }
spec:
  displayName: Bibliothek
  listing: search
  baseURL: \${EXAMPLE_URL}
  openAPISpec:
    inline: |
      openapi: 3.1.0
      info: { title: Bibliothek, version: '1' }
      paths:
        /products:
          get:
            operationId: buecherSuchen
            tags: [ausleihe]
            summary: Sucht Bücher im Katalog
            responses: { '200': { description: ok } }
        /products/{nummer}:
          parameters: [{ name: nummer, in: path, required: true, schema: { type: string } }]
          get:
            operationId: buchLesen
            summary: Zeigt ein einzelnes Buch mit seinen Exemplaren
            responses: { '200': { description: ok } }
          delete:
            operationId: buchAussondern
            summary: Sondert ein Buch aus, weil es beschädigt ist
            responses: { '200': { description: ok } }
`

const PRESENTATION = {
  SERVER_TITLE: 'Acme tools',
  SERVER_WEBSITE: 'https://acme.example/tools',
  SERVER_ICON: 'https://acme.example/icon.png',
  SERVER_INSTRUCTIONS: 'Prices are in euros.',
}
const toolsets = join(mkdtempSync(join(tmpdir(), 'toolsets-')), 'toolsets')
let gateway: Deployment
let admin: string
/** May execute, but not write. */
let agent: string
beforeAll(async () => {
  cpSync('toolsets', toolsets, { recursive: true })
  writeFileSync(join(toolsets, 'bibliothek.yaml'), LIBRARY)
  gateway = await deploy({ TOOLSETS: toolsets, SSE_LIMITER_ENABLED: 'false', ...PRESENTATION })
  ;[admin, agent] = await Promise.all([gateway.token('demo-admin'), gateway.token('demo-agent')])
})
afterAll(async () => {
  await gateway.stop()
  rmSync(toolsets, { recursive: true, force: true })
})

type Json = ReadResponse['json']
type Send = (path: string, method: string, params?: object, token?: string) => Promise<Json>

const legacy =
  (version: string): Send =>
  async (path, method, params, token = admin) =>
    (await gateway.post(path, rpc(method, params), token, { 'mcp-protocol-version': version })).json

const modern: Send = async (path, method, params = {}, token = admin) => {
  const { name } = params as { name?: string }
  const _meta = { [`${KEY}/protocolVersion`]: MODERN, [`${KEY}/clientCapabilities`]: {} }
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': method }
  const response = await gateway.post(path, rpc(method, { ...params, _meta }), token, {
    ...headers,
    ...(name === undefined ? {} : { 'mcp-name': name }),
  })
  return response.json
}

const ERAS: [string, Send][] = [
  ...['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'].map((version): [string, Send] => [
    version,
    legacy(version),
  ]),
  [MODERN, modern],
]
const send = legacy('2025-11-25')
const namesOf = (listed: { result: { tools: { name: string }[] } }) =>
  listed.result.tools.map(({ name }) => name)
const found = (reply: { result: { content: { text: string }[] } }) =>
  (JSON.parse(reply.result.content[0]!.text) as { name: string }[]).map(({ name }) => name)
const find = (query: string, more: object = {}) => ({ name: 'find_tools', arguments: { query, ...more } })
const call = (name: string, args: object = {}) => ({
  name: 'call_tool',
  arguments: { name, arguments: args },
})

describe.each(ERAS)('?tools=search in %s', (version, request) => {
  it('lists three tools, finds, describes and calls', async () => {
    const listed = await request('/mcp?tools=search', 'tools/list')
    expect(namesOf(listed)).toEqual(SEARCH_TOOLS)
    expect(JSON.stringify(listed)).toContain('Tools: 33, of shop (30), bibliothek (3).')

    const query = find('reduce the number of pieces of an article in the basket')
    expect(found(await request('/mcp?tools=search', 'tools/call', query))).toContain('shop_setCartItem')

    const described = await request('/mcp?tools=search', 'tools/call', {
      name: 'describe_tools',
      arguments: { names: ['shop_getProduct'] },
    })
    const [definition] = JSON.parse(described.result.content[0].text)
    const whole = await request('/mcp?tools=list', 'tools/list')
    expect(definition).toEqual(
      whole.result.tools.find(({ name }: { name: string }) => name === 'shop_getProduct'),
    )

    const called = await request(
      '/mcp?tools=search',
      'tools/call',
      call('shop_getProduct', { productId: 'P-1008' }),
    )
    const direct = await request('/mcp', 'tools/call', {
      name: 'shop_getProduct',
      arguments: { productId: 'P-1008' },
    })
    expect(called.result).toMatchObject({ isError: false })
    expect(called.result).toEqual(direct.result)
  })

  it('refuses as a direct call', async () => {
    const [wrapped, direct] = await Promise.all(
      [
        call('shop_getProduct', { productId: 7 }),
        { name: 'shop_getProduct', arguments: { productId: 7 } },
      ].map(params => request('/mcp?tools=search', 'tools/call', params)),
    )
    expect(wrapped!.error?.message ?? wrapped!.result.content[0].text).toContain(
      'Invalid arguments for shop_getProduct',
    )
    expect(wrapped!.error).toEqual(direct!.error && { ...direct!.error, data: expect.anything() })
    const unknown = await request('/mcp?tools=search', 'tools/call', call('shop_getProducts'))
    expect(unknown.error).toMatchObject({ code: -32602 })
    expect(unknown.error.message).toContain('Tool not found: shop_getProducts')
    const wrong = await request('/mcp?tools=search', 'tools/call', find(''))
    if (version < '2025-11-25') expect(wrong.error).toMatchObject({ code: -32602 })
    else expect(wrong.result).toMatchObject({ isError: true })
  })
})

it('names the tools in the instructions of initialize and server/discover', async () => {
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  }
  expect((await send('/mcp?tools=search', 'initialize', initialize)).result.instructions).toContain(
    'find_tools',
  )
  expect((await send('/mcp', 'initialize', initialize)).result.instructions).toBe('Prices are in euros.')
  expect((await modern('/mcp?tools=search', 'server/discover')).result.instructions).toContain('find_tools')
})

it('works on an HTTP+SSE stream, whose address keeps the selection', async () => {
  const response = await fetch(`${gateway.url}/mcp/sse?tools=search`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${admin}` },
  })
  const stream = new EventReader(response)
  const endpoint = (await stream.message())!.data
  expect(endpoint).toMatch(/^\/mcp\/sse\?sessionId=[^&]+&tools=search$/)
  const ask = async (method: string, params: object): Promise<Json> => {
    expect((await gateway.post(endpoint, rpc(method, params), admin)).status).toBe(202)
    return stream.json()
  }
  expect(namesOf(await ask('tools/list', {}))).toEqual(SEARCH_TOOLS)
  expect(found(await ask('tools/call', find('who wrote reviews of a product')))).toContain('shop_listReviews')
  const called = await ask('tools/call', call('shop_getProduct', { productId: 'P-1008' }))
  expect(called.result).toMatchObject({ isError: false })
  await stream.close()
})

it('finds what the caller may call, and nothing else', async () => {
  const query = find('remove a product from the shop', { limit: 20 })
  expect(found(await send('/mcp?tools=search', 'tools/call', query))).toContain('shop_deleteProduct')
  const seen = found(await send('/mcp?tools=search', 'tools/call', query, agent))
  const listed = namesOf(await send('/mcp?tools=list', 'tools/list', {}, agent))
  expect(listed).not.toContain('shop_deleteProduct')
  for (const name of seen) expect(listed).toContain(name)
  const described = await send(
    '/mcp?tools=search',
    'tools/call',
    { name: 'describe_tools', arguments: { names: ['shop_deleteProduct'] } },
    agent,
  )
  expect(described.error).toMatchObject({ code: -32602 })
  const denied = await send(
    '/mcp?tools=search',
    'tools/call',
    call('shop_deleteProduct', { productId: 'P-1' }),
    agent,
  )
  const direct = await send(
    '/mcp',
    'tools/call',
    { name: 'shop_deleteProduct', arguments: { productId: 'P-1' } },
    agent,
  )
  expect({ ...denied, id: 0 }).toMatchObject({
    error: { code: direct.error.code, message: direct.error.message },
  })
})

it('shows the policy the target tool, and metrics no search tool', async () => {
  const denied = await gateway.post(
    '/mcp?tools=search',
    rpc('tools/call', call('shop_deleteProduct', { productId: 'P-1' })),
    agent,
  )
  const { decision_id } = denied.json.error.data
  const read = await fetch(`${gateway.url}/admin/policy/decisions/${decision_id}`, {
    headers: { authorization: `Bearer ${admin}` },
  })
  expect(await read.text()).toContain('"id":"shop_deleteProduct"')

  const metrics = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
  for (const name of SEARCH_TOOLS) expect(metrics).not.toContain(name)
})

it('takes a unit of quota for the call, and none for find', async () => {
  const remaining = async (params: object) => {
    const response = await gateway.post('/mcp?tools=search', rpc('tools/call', params), agent)
    return response.headers.get('x-ratelimit-remaining')
  }
  expect(await remaining(find('products'))).toBeNull()
  expect(await remaining(call('shop_listProducts'))).toMatch(/^\d+$/)
})

describe('a tool set with listing: search', () => {
  it('is found beside tools that are listed', async () => {
    const names = namesOf(await send('/mcp', 'tools/list'))
    expect(names).toHaveLength(30 + 3)
    expect(names).toEqual(expect.arrayContaining([...SEARCH_TOOLS, 'shop_getProduct']))
    expect(names).not.toContain('buchLesen')
    expect(found(await send('/mcp', 'tools/call', find('ein beschädigtes Buch aussondern')))[0]).toBe(
      'buchAussondern',
    )
    expect(found(await send('/mcp', 'tools/call', find('Bücher suchen')))[0]).toBe('buecherSuchen')
    expect((await send('/mcp', 'tools/call', call('buecherSuchen'))).result).toMatchObject({ isError: false })
  })

  it('is listed where the address asks for the list', async () => {
    expect(namesOf(await send('/mcp?tools=list', 'tools/list'))).toEqual(
      expect.arrayContaining(['buchLesen']),
    )
  })
})

describe('an address of a part', () => {
  it('offers one tool set, by its name', async () => {
    for (const path of ['/mcp/shop', '/mcp/shop/'])
      expect(namesOf(await send(path, 'tools/list'))).toHaveLength(30)
    expect(namesOf(await send('/mcp/bibliothek', 'tools/list'))).toEqual(SEARCH_TOOLS)
    expect(namesOf(await send('/mcp/bibliothek?tools=list', 'tools/list'))).toHaveLength(3)
    const other = await send('/mcp/bibliothek', 'tools/call', {
      name: 'shop_getProduct',
      arguments: { productId: 'P-1008' },
    })
    expect(other.error).toMatchObject({ code: -32602 })
    expect(
      found(await send('/mcp/shop?tools=search', 'tools/call', find('Bücher suchen products'))),
    ).not.toContain('buecherSuchen')
  })

  it('offers the tools with a tag', async () => {
    const carts = namesOf(await send('/mcp?tags=cart', 'tools/list'))
    expect(carts).toContain('shop_getCart')
    expect(carts).not.toContain('shop_getProduct')
    expect(namesOf(await send('/mcp?tags=cart,ausleihe&tools=list', 'tools/list'))).toEqual(
      [...carts, 'buecherSuchen'].sort(),
    )
  })

  it('is empty for an unknown tool set, and says so', async () => {
    const listed = await send('/mcp/nothing', 'tools/list')
    expect(listed.result.tools).toEqual([])
    expect(listed.result._meta['toolgate.dev/empty']).toContain('this address')
  })

  it('is refused when it cannot be read', async () => {
    const response = await gateway.post('/mcp?tools=some', rpc('tools/list'), admin)
    expect(response.status).toBe(400)
    expect(response.json.error.message).toContain('?tools=')
  })

  it('has a challenge and a document about itself', async () => {
    const challenged = await gateway.post('/mcp/shop', rpc('tools/list'))
    expect(challenged.status).toBe(401)
    const document = /resource_metadata="([^"]+)"/.exec(challenged.headers.get('www-authenticate')!)![1]!
    expect(document).toBe(`${gateway.url}/.well-known/oauth-protected-resource/mcp/shop`)
    const { resource } = (await (await fetch(document)).json()) as { resource: string }
    expect(resource).toBe(`${gateway.url}/mcp/shop`)
  })

  it('keeps sessions to their owner', async () => {
    const initialize = rpc('initialize', { protocolVersion: '2025-06-18', capabilities: {} })
    const opened = await gateway.post('/mcp/shop', initialize, admin)
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
    expect((await gateway.post('/mcp/shop', rpc('tools/list'), admin, session)).status).toBe(200)
    expect((await gateway.post('/mcp/shop', rpc('tools/list'), agent, session)).status).toBe(404)
  })
})

describe('how the server presents itself', () => {
  const info = async (protocolVersion: string) =>
    (await send('/mcp', 'initialize', { protocolVersion, capabilities: {} })).result.serverInfo

  it('has the members that each version knows', async () => {
    expect(await info('2025-03-26')).toEqual({ name: 'toolgate', version: expect.any(String) })
    expect(await info('2025-06-18')).toEqual({ ...(await info('2025-03-26')), title: 'Acme tools' })
    const shown = {
      websiteUrl: 'https://acme.example/tools',
      icons: [{ src: 'https://acme.example/icon.png' }],
    }
    expect(await info('2025-11-25')).toEqual({ ...(await info('2025-06-18')), ...shown })
    const discovered = await modern('/mcp', 'server/discover')
    expect(discovered.result._meta[`${KEY}/serverInfo`]).toEqual(await info('2025-11-25'))
  })

  it('has a card and a registry entry that every page may read', async () => {
    const documents = ['server-card.json', 'server.json'].map(name =>
      fetch(`${gateway.url}/.well-known/mcp/${name}`),
    )
    const [card, entry] = await Promise.all(documents)
    for (const document of [card!, entry!])
      expect(document.headers.get('access-control-allow-origin')).toBe('*')
    expect(await card!.json()).toMatchObject({
      name: 'localhost/toolgate',
      remotes: [
        { type: 'streamable-http', url: `${gateway.url}/mcp`, supportedProtocolVersions: expect.any(Array) },
      ],
      serverInfo: await info('2025-11-25'),
    })
    const { $schema, description, remotes } = (await entry!.json()) as Record<string, string>
    expect($schema).toContain('server.schema.json')
    expect(description!.length).toBeLessThanOrEqual(100)
    expect(remotes).toHaveLength(2)
  })
})
