/** Resources, prompts and completion of an MCP server in every version of the protocol; its notifications, log messages and sampling. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'mcp-features-'))
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
let server: ServedMcp
let gateway: Deployment
let agent: string

const toolSet = (name: string, source: object, rest: object = {}): string =>
  JSON.stringify({
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name, namespace: 'platform' },
    spec: { displayName: name, source: { mcp: source }, ...rest },
  })

beforeAll(async () => {
  server = await startMcpServer()
  const toolsets = join(folder, 'toolsets')
  mkdirSync(toolsets)
  writeFileSync(join(toolsets, 'plain.json'), toolSet('plain', { url: server.url }))
  writeFileSync(
    join(toolsets, 'named.json'),
    toolSet('named', { url: server.url }, { naming: { prefix: 'named_' } }),
  )
  writeFileSync(
    join(toolsets, 'tools-only.json'),
    toolSet('tools-only', { url: server.url, features: ['tools'] }, { naming: { prefix: 'only_' } }),
  )
  gateway = await deploy({ TOOLSETS: toolsets, SSE_LIMITER_ENABLED: 'false' })
  agent = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

const post = async (method: string, params: object = {}, version = '2025-11-25', path = '/mcp') => {
  const isModern = version === '2026-07-28'
  const { uri, name } = params as { uri?: string; name?: string }
  return gateway.post(path, rpc(method, isModern ? { ...params, _meta: META } : params), agent, {
    'mcp-protocol-version': version,
    ...(isModern ? { 'mcp-method': method, 'mcp-name': uri ?? name ?? '' } : {}),
  })
}

it('lists them under the prefix of the tool set, without those of a tool set that takes tools only', async () => {
  const { resources } = (await post('resources/list')).json.result
  expect(resources).toEqual(
    ['demo://note', 'named+demo://note'].map(uri => ({
      uri,
      name: 'note',
      title: 'Note',
      description: 'A note.',
      mimeType: 'text/plain',
    })),
  )
  const { resourceTemplates } = (await post('resources/templates/list')).json.result
  expect(resourceTemplates.map((entry: { uriTemplate: string }) => entry.uriTemplate)).toEqual([
    'demo://items/{id}',
    'named+demo://items/{id}',
  ])
  const { prompts } = (await post('prompts/list')).json.result
  expect(prompts).toEqual(
    expect.arrayContaining(
      ['greet', 'named_greet'].map(name => ({
        name,
        title: 'Greeting',
        description: 'Greets a city.',
        arguments: [{ name: 'city', required: true }],
      })),
    ),
  )
  const old = (await post('prompts/list', {}, '2025-03-26')).json.result.prompts
  expect(old[0].title).toBeUndefined()
  const { tools } = (await post('tools/list')).json.result
  expect(tools.some((tool: { name: string }) => tool.name.includes(':'))).toBe(false)
  const part = (await post('resources/list', {}, '2025-11-25', '/mcp/named')).json.result.resources
  expect(part.map((entry: { uri: string }) => entry.uri)).toEqual(['named+demo://note'])
})

it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'])(
  'reads resources and gets prompts in %s',
  async version => {
    const note = (await post('resources/read', { uri: 'named+demo://note' }, version)).json.result
    expect(note.contents).toEqual([{ uri: 'named+demo://note', mimeType: 'text/plain', text: 'a note' }])
    if (version === '2026-07-28')
      expect(note).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' })
    const item = (await post('resources/read', { uri: 'demo://items/7' }, version)).json.result
    expect(Buffer.from(item.contents[0].blob, 'base64').toString()).toBe('item 7')
    const greeting = (
      await post('prompts/get', { name: 'named_greet', arguments: { city: 'Lima' } }, version)
    ).json.result
    expect(greeting.messages).toMatchObject([
      { role: 'user', content: { type: 'text', text: 'Hello Lima' } },
      { role: 'assistant', content: { type: 'resource', resource: { uri: 'named+demo://note' } } },
    ])
    const ref = { type: 'ref/prompt', name: 'greet' }
    const completed = (
      await post('completion/complete', { ref, argument: { name: 'city', value: 'Li' } }, version)
    ).json
    expect(completed.result.completion.values).toEqual(['Lisbon', 'Lima'])
  },
)

it('completes variables of templates', async () => {
  const ref = { type: 'ref/resource', uri: 'named+demo://items/{id}' }
  const argument = { name: 'id', value: '1' }
  const { completion } = (await post('completion/complete', { ref, argument })).json.result
  expect(completion.values).toEqual(['1', '12'])
})

it('refuses what does not exist, and arguments that do not fit', async () => {
  const unknown = { uri: 'demo://nothing' }
  expect((await post('resources/read', unknown)).json.error).toMatchObject({ code: -32002, data: unknown })
  const modern = await post('resources/read', unknown, '2026-07-28')
  expect([modern.status, modern.json.error]).toMatchObject([200, { code: -32602, data: unknown }])
  expect((await post('prompts/get', { name: 'nothing' })).json.error.code).toBe(-32602)
  expect((await post('prompts/get', { name: 'greet' })).json.error.message).toContain('city')
  expect((await post('resources/read', {})).json.error.code).toBe(-32602)
  expect((await post('completion/complete', { ref: {} })).json.error.code).toBe(-32602)
})

it('asks quota and policy for a read, and records it under its own name', async () => {
  const limited = await gateway.token('demo-agent')
  const read = await gateway.post('/mcp', rpc('resources/read', { uri: 'demo://items/9' }), limited)
  expect(read.headers.get('x-ratelimit-limit')).not.toBeNull()
  expect(read.headers.get('x-policy-revision')).not.toBeNull()
  const response = await fetch(`${gateway.url}/admin/calls?limit=20`, {
    headers: { authorization: `Bearer ${agent}` },
  })
  const { calls } = (await response.json()) as { calls: object[] }
  expect(calls).toContainEqual(
    expect.objectContaining({ action: 'resources.read', tool: 'resource:demo://items/{id}' }),
  )
})

async function connected(capabilities: object = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  const requestInit = { headers: { authorization: `Bearer ${agent}` } }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }) as never,
  )
  return client
}

it('serves the official client, which reads the capabilities first', async () => {
  const client = await connected()
  expect(client.getServerCapabilities()).toMatchObject({
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    completions: {},
  })
  expect((await client.readResource({ uri: 'demo://note' })).contents).toMatchObject([{ text: 'a note' }])
  const { messages } = await client.getPrompt({ name: 'greet', arguments: { city: 'Lima' } })
  expect(messages).toHaveLength(2)
  await client.close()
})

it('notifies a session of changed resources, and refuses a subscription to an unknown one', async () => {
  const client = await connected()
  const updated: string[] = []
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void updated.push(params.uri),
  )
  await client.subscribeResource({ uri: 'named+demo://note' })
  await vi.waitUntil(() => server.calls.includes('subscribe demo://note'), { timeout: 10_000 })
  await vi.waitUntil(
    async () => {
      await server.updateResource('demo://note')
      return updated.length > 0
    },
    { timeout: 10_000, interval: 200 },
  )
  expect(updated[0]).toBe('named+demo://note')
  await client.unsubscribeResource({ uri: 'named+demo://note' })
  await expect(client.subscribeResource({ uri: 'demo://nothing' })).rejects.toThrow('Resource not found')
  await client.close()
})

it('notifies a listener of 2026-07-28', async () => {
  const notifications = { resourceSubscriptions: ['demo://note', 'demo://nothing'], promptsListChanged: true }
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${agent}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify(rpc('subscriptions/listen', { notifications, _meta: META })),
  })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const first = (await reader.read()).value!
  expect(first).toContain('"promptsListChanged":true')
  expect(first).toContain('"resourceSubscriptions":["demo://note"]')
  const updates = setInterval(() => void server.updateResource('demo://note'), 200)
  let text = ''
  while (!text.includes('resources/updated')) text += (await reader.read()).value
  clearInterval(updates)
  expect(text).toContain('"uri":"demo://note"')
  await reader.cancel()
})

it('passes log messages of the level that a session asked for', async () => {
  const client = await connected()
  const logged: unknown[] = []
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params))
  await client.setLoggingLevel('info')
  await client.getPrompt({ name: 'named_log' })
  expect(logged).toEqual([{ level: 'warning', logger: 'named', data: 'a warning' }])
  await client.close()
})

it('asks the model of a client with a session, if the client has declared one', async () => {
  const client = await connected({ sampling: {} })
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant' as const,
    model: 'test',
    content: { type: 'text' as const, text: 'Lima' },
  }))
  const { messages } = await client.getPrompt({ name: 'sample' })
  expect(messages[0]!.content).toMatchObject({ text: 'sampled Lima' })
  await client.close()
  const without = await connected()
  await expect(without.getPrompt({ name: 'sample' })).rejects.toThrow()
  await without.close()
})
