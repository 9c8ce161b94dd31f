/** ToolViews on the wire: what a model sees of the tools under an address or by its credential, and that everything else sees the tools themselves. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'

const KEY = 'io.modelcontextprotocol'
const MODERN = '2026-07-28'

const view = (name: string, spec: object, namespace = 'tenant-acme') =>
  stringify({ apiVersion: 'toolgate.dev/v1alpha1', kind: 'ToolView', metadata: { name, namespace }, spec })

/** Named by its address. */
const COUNTER = view(
  'counter',
  {
    title: 'Shop counter',
    description: 'What an agent at the counter needs.',
    instructions: 'Prices are in cents.',
    websiteUrl: 'https://shop.example/counter',
    icons: [{ src: 'https://shop.example/counter.png', mimeType: 'image/png' }],
    select: { toolSets: ['shop'], tools: ['shop_list*', 'shop_get*'], exclude: ['*Customer*'] },
    tools: [
      { tool: 'shop_getProduct', name: 'product', title: 'One product', description: 'Shows one product.' },
    ],
    order: ['shop_getProduct', 'shop_listProducts'],
  },
  'platform',
)
/** For demo-agent. */
const AGENT = view('agents', {
  title: 'For agents',
  select: { tools: ['shop_getProduct', 'shop_placeOrder', 'shop_listProducts'] },
  tools: [{ tool: 'shop_getProduct', name: 'look_up' }],
  bindings: [{ consumer: 'demo-agent' }],
})
const SHORT = view('short', { select: { toolSets: ['shop'] }, tokenBudget: 2000 })
const CUT = view('cut', {
  instructions: 'Read only.',
  select: { tools: ['shop_get*', 'shop_list*'] },
  order: ['shop_listOrders'],
  tokenBudget: 1000,
  overBudget: 'leaveOut',
})
const TAKEN = view('shop', { select: {} })

const root = mkdtempSync(join(tmpdir(), 'views-'))
const toolsets = join(root, 'toolsets')
const dataDir = join(root, 'data')
let gateway: Deployment
let admin: string
let agent: string
beforeAll(async () => {
  cpSync('toolsets', toolsets, { recursive: true })
  writeFileSync(join(toolsets, 'views.yaml'), [COUNTER, AGENT, SHORT, CUT, TAKEN].join('---\n'))
  gateway = await deploy({ TOOLSETS: toolsets, DATA_DIR: dataDir, SERVER_INSTRUCTIONS: 'Of the gateway.' })
  ;[admin, agent] = await Promise.all([gateway.token('demo-admin'), gateway.token('demo-agent')])
})
afterAll(async () => {
  await gateway.stop()
  rmSync(root, { recursive: true, force: true })
})

type Json = ReadResponse['json']

const send = async (path: string, method: string, params: object = {}, token = admin): Promise<Json> =>
  (await gateway.post(path, rpc(method, params), token, { 'mcp-protocol-version': '2025-11-25' })).json
const modern = async (path: string, method: string, params: object = {}, token?: string): Promise<Json> => {
  const _meta = { [`${KEY}/protocolVersion`]: MODERN, [`${KEY}/clientCapabilities`]: {} }
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': method }
  return (await gateway.post(path, rpc(method, { ...params, _meta }), token, headers)).json
}
const initialize = (path: string, token = admin): Promise<Json> =>
  send(
    path,
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    token,
  )
const namesOf = (listed: Json): string[] => listed.result.tools.map(({ name }: { name: string }) => name)
const call = (name: string, args: object = {}) => ({ name, arguments: args })

describe('a view that an address names', () => {
  it('lists its tools in its order, under its names and with its descriptions', async () => {
    const listed = await send('/mcp/counter', 'tools/list')
    expect(namesOf(listed)).toEqual([
      'product',
      'shop_listProducts',
      ...['shop_getCart', 'shop_getCategoryTree', 'shop_getOrder', 'shop_listOrders', 'shop_listReviews'],
    ])
    expect(listed.result.tools[0]).toMatchObject({ title: 'One product', description: 'Shows one product.' })
  })

  it('is named by every spelling of the address', async () => {
    const names = namesOf(await send('/mcp/counter', 'tools/list'))
    for (const path of ['/mcp/%63ounter', '/mcp/counte%72/', '/%6dcp/counter'])
      expect([path, ...namesOf(await send(path, 'tools/list'))]).toEqual([path, ...names])
    const all = namesOf(await send('/mcp/sse', 'tools/list'))
    expect(namesOf(await send('/mcp/%73se', 'tools/list'))).toEqual(all)
  })

  it('calls a tool by the name that it gave it, and no other', async () => {
    const called = await send('/mcp/counter', 'tools/call', call('product', { productId: 'P-1008' }))
    const direct = await send('/mcp', 'tools/call', call('shop_getProduct', { productId: 'P-1008' }))
    expect(called.result.isError).toBe(false)
    expect(called.result.content).toEqual(direct.result.content)
    for (const name of ['shop_getProduct', 'shop_placeOrder', 'shop_getCustomer'])
      expect(JSON.stringify(await send('/mcp/counter', 'tools/call', call(name)))).toContain('Tool not found')
    expect(JSON.stringify(await send('/mcp/counter', 'tools/call', call('produkt')))).toContain(
      'Similar names: product',
    )
  })

  it('introduces the server in every era, without a credential too', async () => {
    const info = {
      name: 'toolgate',
      title: 'Shop counter',
      description: 'What an agent at the counter needs.',
      websiteUrl: 'https://shop.example/counter',
      icons: [{ src: 'https://shop.example/counter.png', mimeType: 'image/png' }],
    }
    const { result } = await initialize('/mcp/counter')
    expect(result.serverInfo).toMatchObject(info)
    expect(result.instructions).toBe('Prices are in cents.')
    for (const token of [admin, undefined]) {
      const discovered = (await modern('/mcp/counter', 'server/discover', {}, token)).result
      expect(discovered._meta[`${KEY}/serverInfo`]).toMatchObject(info)
      expect(discovered.instructions).toBe('Prices are in cents.')
      expect(discovered.cacheScope).toBe(token === undefined ? 'public' : 'private')
    }
    expect((await initialize('/mcp')).result.instructions).toBe('Of the gateway.')
  })

  it('is narrowed by tags, and searched', async () => {
    expect(namesOf(await send('/mcp/counter?tags=nothing', 'tools/list'))).toEqual([])
    expect(namesOf(await send('/mcp/counter?tools=search', 'tools/list')).sort()).toEqual([
      'call_tool',
      'describe_tools',
      'find_tools',
    ])
    const find = call('find_tools', { query: 'show one product', limit: 20 })
    const found = await send('/mcp/counter?tools=search', 'tools/call', find)
    expect(found.result.content[0].text).toContain('"name":"product"')
    expect(found.result.content[0].text).not.toContain('shop_getProduct')
    const described = await send(
      '/mcp/counter?tools=search',
      'tools/call',
      call('describe_tools', { names: ['product'] }),
    )
    expect(described.result.content[0].text).toContain('Shows one product.')
    const called = await send(
      '/mcp/counter?tools=search',
      'tools/call',
      call('call_tool', call('product', { productId: 'P-1008' })),
    )
    expect(called.result.isError).toBe(false)
  })
})

describe('a view that is bound to the caller', () => {
  it('is what the caller gets at every address, over MCP and REST', async () => {
    const seen = ['look_up', 'shop_listProducts', 'shop_placeOrder']
    expect(namesOf(await send('/mcp', 'tools/list', {}, agent)).sort()).toEqual(seen)
    expect(namesOf(await send('/mcp/shop', 'tools/list', {}, agent)).sort()).toEqual(seen)
    // an address that names another view offers what is in both
    expect(namesOf(await send('/mcp/counter', 'tools/list', {}, agent))).toEqual([
      'product',
      'shop_listProducts',
    ])
    const rest = await gateway.post('/mcp/v1/tools', {}, agent)
    expect(rest.json.tools.map(({ name }: { name: string }) => name).sort()).toEqual(seen)
    expect(namesOf(await send('/mcp', 'tools/list'))).toContain('shop_getCustomer')
  })

  it('makes every other tool unknown', async () => {
    for (const path of ['/mcp', '/mcp/shop', '/mcp/counter', '/mcp?tools=search'])
      expect(
        JSON.stringify(await send(path, 'tools/call', call('shop_getCart', { cartId: 'c' }), agent)),
      ).toContain('Tool not found')
    const refused = await gateway.post('/mcp/v1/tools/invoke', call('shop_getCart'), agent)
    expect(refused.status).toBe(404)
    const look = call('look_up', { productId: 'P-1008' })
    // its plan admits five calls in a second
    await expect.poll(async () => (await gateway.post('/mcp/v1/tools/invoke', look, agent)).status).toBe(200)
  })

  it('introduces the server to that caller', async () => {
    expect((await initialize('/mcp', agent)).result.serverInfo.title).toBe('For agents')
    expect((await initialize('/mcp', admin)).result.serverInfo.title).toBeUndefined()
    const { result } = await modern('/mcp', 'server/discover', {}, agent)
    expect(result._meta[`${KEY}/serverInfo`].title).toBe('For agents')
    expect(result.cacheScope).toBe('private')
  })

  it('leaves the tool its own name in recorded calls', async () => {
    const look = call('look_up', { productId: 'P-1008' })
    await expect.poll(async () => (await send('/mcp', 'tools/call', look, agent)).result?.isError).toBe(false)
    const response = await fetch(`${gateway.url}/admin/calls?consumer=demo-agent&limit=1`, {
      headers: { authorization: `Bearer ${admin}` },
    })
    const json = (await response.json()) as Json
    expect(json.calls[0].tool).toBe('shop_getProduct')
  })

  it('is what a simulated call meets', async () => {
    const body = {
      consumer: 'demo-agent',
      tenant: 'acme',
      roles: ['agent'],
      scopes: ['platform:read', 'platform:execute'],
    }
    for (const tool of ['shop_getProduct', 'look_up']) {
      const asked = { ...body, tool, arguments: { productId: 'P-1008' } }
      const { json } = await gateway.post('/admin/simulate', asked, admin)
      expect(json.outcome).not.toBe('tool_not_found')
    }
    const { json } = await gateway.post('/admin/simulate', { ...body, tool: 'shop_getCart' }, admin)
    expect(json.outcome).toBe('tool_not_found')
    const listed = await gateway.post('/admin/simulate', { ...body, action: 'tools.list' }, admin)
    expect(listed.json.tools.map(({ name }: { name: string }) => name)).toContain('look_up')
    expect(JSON.stringify(listed.json.hidden)).toContain('not_in_view')
  })
})

describe('a token budget', () => {
  it('lists what fits, with the search tools for the rest', async () => {
    const names = namesOf(await send('/mcp/short', 'tools/list'))
    expect(names.slice(0, 3)).toEqual(['find_tools', 'describe_tools', 'call_tool'])
    expect(names.length).toBeGreaterThan(3)
    expect(names.length).toBeLessThan(30)
    const listed = await send('/mcp/short', 'tools/list')
    expect(JSON.stringify(listed.result.tools).length).toBeLessThan(8_100)
    const find = call('find_tools', { query: 'ship an order' })
    expect((await send('/mcp/short', 'tools/call', find)).result.content[0].text).toContain('shop_shipOrder')
    expect((await initialize('/mcp/short')).result.instructions).toContain(
      'more tools than the list contains',
    )
    expect(namesOf(await send('/mcp/short?tools=list', 'tools/list'))).toHaveLength(30)
  })

  it('names what it leaves out, where the view says so', async () => {
    const names = namesOf(await send('/mcp/cut', 'tools/list'))
    expect(names[0]).toBe('shop_listOrders')
    const { instructions } = (await initialize('/mcp/cut')).result
    expect(instructions).toMatch(/^Read only\.\n\nThe tool list contains only the first tools of this view\./)
    const all = namesOf(await send('/mcp/cut?tools=list', 'tools/list'))
    const leftOut = all.filter(name => !names.includes(name))
    expect(leftOut.length).toBeGreaterThan(0)
    for (const name of leftOut) expect(instructions).toContain(name)
    const status = parse(readFileSync(join(dataDir, 'view-status/tenant-acme/cut.yaml'), 'utf8'))
    expect(status).toMatchObject({ phase: 'Ready', tokenBudget: 1000, tools: all, leftOut })
    // without a credential nothing is named
    const { result } = await modern('/mcp/cut', 'server/discover')
    expect(JSON.stringify(result)).not.toContain('shop_')
  })
})

describe('operators', () => {
  it('see tools, tokens, warnings and status of each view', async () => {
    const response = await fetch(`${gateway.url}/admin/toolsets`, {
      headers: { authorization: `Bearer ${admin}` },
    })
    const { views } = (await response.json()) as Json
    const byName = new Map<string, Json>(views.map((row: { name: string }) => [row.name, row]))
    expect([...byName.keys()]).toEqual(['counter', 'agents', 'cut', 'shop', 'short'])
    expect(byName.get('counter')).toMatchObject({
      path: '/mcp/counter',
      tools: 7,
      listed: 7,
      warnings: [],
      status: { phase: 'Ready' },
    })
    const short = byName.get('short')
    expect(short).toMatchObject({ tools: 30, token_budget: 2000, over_budget: 'search' })
    expect(short.listed).toBeLessThan(30)
    expect(short.listed_tokens).toBeLessThanOrEqual(2000)
    expect(short.warnings[0]).toMatch(/tokenBudget is 2000; tools that models find only by search: \d+ \(/)
    expect(byName.get('shop')).toMatchObject({ path: null, status: { phase: 'Error' } })
  })
})

describe('a view with the name of a tool set', () => {
  it('is refused, and the tool set keeps the address', () => {
    const status = parse(readFileSync(join(dataDir, 'view-status/tenant-acme/shop.yaml'), 'utf8'))
    expect(status).toMatchObject({
      phase: 'Error',
      lastError:
        'ToolSet tenant-acme/shop has the same name as this view, and /mcp/shop can lead to only one of them: rename the view',
    })
  })
})

describe('a change of the file', () => {
  it('changes what is served, and an invalid one does not', async () => {
    const narrow = { select: { tools: ['shop_getProduct'] } }
    writeFileSync(join(toolsets, 'more.yaml'), view('more', narrow))
    await expect
      .poll(async () => namesOf(await send('/mcp/more', 'tools/list')), { timeout: 10_000 })
      .toEqual(['shop_getProduct'])
    writeFileSync(join(toolsets, 'more.yaml'), view('more', { ...narrow, tokenBudget: 5 }))
    const path = join(dataDir, 'view-status/tenant-acme/more.yaml')
    await expect
      .poll(() => parse(readFileSync(path, 'utf8')).lastError, { timeout: 10_000 })
      .toContain('spec.tokenBudget is below 1000')
    expect(namesOf(await send('/mcp/more', 'tools/list'))).toEqual(['shop_getProduct'])
    rmSync(join(toolsets, 'more.yaml'))
    await expect
      .poll(async () => namesOf(await send('/mcp/more', 'tools/list')), { timeout: 10_000 })
      .toEqual([])
  })
})
