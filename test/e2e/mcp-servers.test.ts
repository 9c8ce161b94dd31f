/** Tools of an MCP server through the gateway: list, call, policy, sessions of callers, questions, a changed list, and a server that is unavailable. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ElicitRequestSchema,
  ToolListChangedNotificationSchema as ListChanged,
} from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { result, type ScriptedServer, startScriptedServer, text } from '../fixtures/scripted-mcp-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'mcp-servers-'))
const toolsets = join(folder, 'toolsets')
const dataDir = join(folder, 'data')
const VERSION = { 'mcp-protocol-version': '2025-11-25' }
let server: ServedMcp
let modern: ScriptedServer
let gateway: Deployment
let agent: string
let admin: string

const toolSet = (name: string, source: object, rest: object = {}): string =>
  JSON.stringify({
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name, namespace: 'platform' },
    spec: { displayName: name, source: { mcp: source }, ...rest },
  })

/** 2026-07-28: asks for a color before it executes, and compares its state. */
const askingServer: Parameters<typeof startScriptedServer>[0] = ({ method, id, params }, response) => {
  const complete = { resultType: 'complete' }
  if (method === 'server/discover')
    return result(response, id, {
      ...complete,
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
    })
  const annotations = { readOnlyHint: true }
  if (method === 'tools/list')
    return result(response, id, {
      ...complete,
      tools: [{ name: 'ask', inputSchema: { type: 'object' }, annotations }],
    })
  if (method !== 'tools/call') return undefined
  const { inputResponses, requestState } = params
  if (inputResponses !== undefined && requestState === 'state-1') {
    const { action, content } = inputResponses.color
    return result(response, id, { ...complete, ...text(`${action} ${content.color}`) })
  }
  const question = {
    message: 'Which color?',
    requestedSchema: { type: 'object', properties: { color: { type: 'string' } } },
  }
  const inputRequests = { color: { method: 'elicitation/create', params: question } }
  return result(response, id, { resultType: 'input_required', inputRequests, requestState: 'state-1' })
}

beforeAll(async () => {
  server = await startMcpServer()
  mkdirSync(join(toolsets, 'secrets', 'server'), { recursive: true })
  writeFileSync(join(toolsets, 'secrets', 'server', 'token'), 'the-gateways-own-token\n')
  const authentication = { type: 'bearer', secretRef: { name: 'server', key: 'token' } }
  const source = { url: server.url, headers: { 'X-Team': 'tools' }, authentication }
  writeFileSync(
    join(toolsets, 'test.json'),
    toolSet('test', source, {
      naming: { prefix: 'test_' },
      overrides: [{ operation: 'echo', arguments: { text: { description: 'What to repeat.' } } }],
    }),
  )
  modern = await startScriptedServer(askingServer)
  writeFileSync(
    join(toolsets, 'modern.json'),
    toolSet('modern', { url: modern.url }, { naming: { prefix: 'modern_' } }),
  )
  gateway = await deploy({ TOOLSETS: toolsets, DATA_DIR: dataDir, SSE_LIMITER_ENABLED: 'false' })
  agent = await gateway.token('demo-agent')
  admin = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  await server?.close()
  await modern?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** @param onStream called when its stream for notifications is open */
async function client(token: string, capabilities: object = {}, onStream = () => {}): Promise<Client> {
  const made = new Client({ name: 'test', version: '1' }, { capabilities })
  const options = {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    async fetch(url: string | URL, init?: RequestInit) {
      const response = await fetch(url, init)
      if (init?.method === 'GET' && response.ok) onStream()
      return response
    },
  }
  await made.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), options) as never)
  return made
}

const call = async (name: string, args: object = {}, token = admin) =>
  (await gateway.post('/mcp', rpc('tools/call', { name, arguments: args }), token, VERSION)).json

const list = async (token = admin) =>
  (await gateway.post('/mcp', rpc('tools/list'), token, VERSION)).json.result.tools

it('lists the tools under the names of the tool set', async () => {
  const tools = (await list()).filter((tool: { name: string }) => tool.name.startsWith('test_'))
  expect(tools.map((tool: { name: string }) => tool.name)).toEqual(
    ['add', 'ask', 'count', 'echo', 'erase', 'fail', 'slow'].map(name => `test_${name}`),
  )
  expect(tools.find((tool: { name: string }) => tool.name === 'test_echo')).toMatchObject({
    title: 'Echo',
    description: 'Repeats a text.',
    inputSchema: {
      type: 'object',
      properties: { text: { description: 'What to repeat.' } },
      required: ['text'],
    },
    annotations: { readOnlyHint: true },
  })
  expect(tools.find((tool: { name: string }) => tool.name === 'test_add').outputSchema).toMatchObject({
    properties: { sum: { type: 'number' } },
  })
})

it('calls them with the credential of the gateway, never with that of the caller', async () => {
  expect((await call('test_echo', { text: 'hello' })).result).toMatchObject({
    content: [{ type: 'text', text: 'hello' }],
    isError: false,
  })
  expect((await call('test_add', { a: 1, b: 2 })).result.structuredContent).toEqual({ sum: 3 })
  expect((await call('test_fail')).result).toMatchObject({ content: [{ text: 'it failed' }], isError: true })
  const rest = await gateway.post(
    '/mcp/tools/call',
    { name: 'test_echo', arguments: { text: 'rest' } },
    admin,
  )
  expect([rest.status, rest.json.content[0].text]).toEqual([200, 'rest'])
  for (const headers of server.requests) {
    expect(headers.authorization).toBe('Bearer the-gateways-own-token')
    expect(headers['x-team']).toBe('tools')
  }
  expect(JSON.stringify(server.requests)).not.toContain(admin.slice(-40))
})

it('checks arguments before the server sees them', async () => {
  const before = server.calls.length
  const { result } = await call('test_echo', { text: 7 })
  expect(result).toMatchObject({ isError: true })
  expect(result.content[0].text).toMatch(/text/)
  expect(server.calls.length).toBe(before)
})

it('asks the policy: a tool without hints is destructive, as MCP says', async () => {
  const names = (await list(agent)).map((tool: { name: string }) => tool.name)
  expect(names).toContain('test_echo')
  expect(names).not.toContain('test_erase')
})

describe('sessions', () => {
  it('belong to one session of a caller, and end with it', async () => {
    const before = new Set(server.sessions)
    const [a, b] = [await client(admin), await client(admin)]
    const count = async (by: Client) =>
      ((await by.callTool({ name: 'test_count' })).content as { text: string }[])[0]!.text
    expect([await count(a), await count(a), await count(b)]).toEqual(['1', '2', '1'])
    const open = (): number => [...server.sessions].filter(id => !before.has(id)).length
    expect(open()).toBe(2)
    await (a.transport as StreamableHTTPClientTransport).terminateSession()
    await expect.poll(open).toBe(1)
    await Promise.all([a.close(), b.close()])
  })

  it('pass progress on', async () => {
    const progress: unknown[] = []
    const by = await client(admin)
    await by.callTool({ name: 'test_slow', arguments: { steps: 3 } }, undefined, {
      onprogress: step => progress.push(step),
    })
    expect(progress).toEqual([1, 2, 3].map(step => ({ progress: step, total: 3, message: `step ${step}` })))
    await by.close()
  })
})

describe('questions of a server', () => {
  const META = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  }
  const textOf = (called: object): string => (called as { content: { text: string }[] }).content[0]!.text

  async function modernCall(name: string, params: object = {}, capabilities: object = { elicitation: {} }) {
    const _meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': capabilities }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
    const body = rpc('tools/call', { name, arguments: {}, ...params, _meta })
    return (await gateway.post('/mcp', body, admin, headers)).json.result
  }

  it.each(['test_ask', 'modern_ask'])(
    'of %s reach the user of a client with sessions, with the name of the tool set',
    async name => {
      const by = await client(admin, { elicitation: {} })
      const asked: string[] = []
      let response: object = { action: 'accept', content: { color: 'red' } }
      by.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        asked.push(params.message)
        return response as { action: 'accept' }
      })
      expect(textOf(await by.callTool({ name }))).toBe('accept red')
      expect(asked).toEqual([`${name.split('_')[0]}: Which color?`])
      response = { action: 'decline' }
      expect(textOf(await by.callTool({ name }))).toMatch(/decline/)
      await by.close()
    },
  )

  it('of 2026-07-28 are questions to a client of 2026-07-28, which repeats the call', async () => {
    const asked = await modernCall('modern_ask')
    expect(asked).toMatchObject({
      resultType: 'input_required',
      inputRequests: { color: { method: 'elicitation/create', params: { message: 'modern: Which color?' } } },
    })
    const inputResponses = { color: { action: 'accept', content: { color: 'blue' } } }
    const { requestState } = asked
    const result = await modernCall('modern_ask', { inputResponses, requestState })
    expect([result.resultType, textOf(result)]).toEqual(['complete', 'accept blue'])
  })

  it('are refused with the reason where the client cannot be asked', async () => {
    expect((await call('modern_ask')).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('cannot ask this client for input') }],
    })
    expect((await call('test_ask')).result).toMatchObject({ isError: true })
    expect(await modernCall('test_ask')).toMatchObject({ isError: true })
    expect(await modernCall('modern_ask', {}, {})).toMatchObject({ isError: true })
  })
})

it('serves a changed list, and reports it to clients', async () => {
  let onStream = () => {}
  const isOpen = new Promise<void>(resolve => {
    onStream = resolve
  })
  const by = await client(admin, {}, onStream)
  const changed = new Promise(resolve => by.setNotificationHandler(ListChanged, resolve))
  await isOpen
  server.addTool('later')
  await changed
  expect((await call('test_later')).result.content[0].text).toBe('later')
  await by.close()
})

it('serves the last list while the server is unavailable, and calls it when it is back', async () => {
  const port = Number(new URL(server.url).port)
  await server.close()
  const failed = await call('test_echo', { text: 'x' })
  expect(failed.result).toMatchObject({ isError: true })
  const status = () => readFileSync(join(dataDir, 'status', 'platform', 'test.yaml'), 'utf8')
  await expect.poll(status).toMatch(/lastError: [\s\S]*cannot connect/)
  expect((await list()).map((tool: { name: string }) => tool.name)).toContain('test_later')
  server = await startMcpServer({ port })
  await expect
    .poll(async () => (await call('test_echo', { text: 'back' })).result.content[0].text, { timeout: 10_000 })
    .toBe('back')
  await expect.poll(status).toMatch(/phase: Ready/)
})
