/** Tasks that a backend or MCP server continues after its first response: one execution when a token is refused, questions put once, states at an interval. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'
import { result, type ScriptedServer, startScriptedServer, text } from '../fixtures/scripted-mcp-server.ts'

const TASKS = 'io.modelcontextprotocol/tasks'
const STATE = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' }
const folder = mkdtempSync(join(tmpdir(), 'tasks-upstream-'))
let oauth: OAuthServer
let gateway: Deployment
let token: string
let legacy: ScriptedServer
let asking: ScriptedServer
/** Executions, and requests for the state with an accepted token. */
const counts = { begun: 0, polled: 0 }
/** Whether a token that is requested meanwhile is accepted. */
let acceptsRenewed = true

const backend = createServer((request, response) => {
  const isAccepted = oauth.accepts((request.headers.authorization ?? '').slice(7)) && acceptsRenewed
  if (request.url === '/start') {
    counts.begun++
    oauth.endAccessTokens()
    return void response.writeHead(202, { location: '/jobs/1', 'retry-after': '0' }).end()
  }
  if (request.url === '/slow') return void setTimeout(() => response.end('Done.'), 2_000)
  if (!isAccepted) return void response.writeHead(401).end()
  counts.polled++
  // the token expires again while the work goes on
  if (counts.polled < 3) {
    oauth.endAccessTokens()
    return void response.writeHead(202).end()
  }
  response.end('Done.')
})

/** 2025-11-25: its tool runs as a task only. */
const startLegacy = () =>
  startScriptedServer(({ method, id, params, request }, response) => {
    const tools = [{ name: 'far', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }]
    if (method === 'tools/list') return result(response, id, { tools })
    if (method === 'tools/call') {
      counts.begun++
      oauth.endAccessTokens()
      return result(response, id, { task: { taskId: 'there', status: 'working', ttl: 60_000, ...STATE } })
    }
    if (method !== 'tasks/result' || params.taskId !== 'there') return undefined
    if (!acceptsRenewed || !oauth.accepts((request.headers.authorization ?? '').slice(7))) {
      response.writeHead(401).end()
      return true
    }
    counts.polled++
    return result(response, id, text('From far.'))
  })

/** What the server of 2026-07-28 asks in its states, one after the other; the last one stays until it ends. */
let states: object[] = []
/** Responses to its questions. */
const updates: object[] = []
const question = (message: string) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { color: { type: 'string' } } } },
})

const startAsking = () =>
  startScriptedServer(({ method, id, params }, response) => {
    const complete = { resultType: 'complete' }
    const capabilities = { tools: {}, extensions: { [TASKS]: {} } }
    if (method === 'server/discover')
      return result(response, id, { ...complete, supportedVersions: ['2026-07-28'], capabilities })
    if (method === 'tools/list')
      return result(response, id, {
        ...complete,
        tools: [{ name: 'paint', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
      })
    const state = { taskId: 'asking', ttlMs: 60_000, pollIntervalMs: 100, ...STATE }
    if (method === 'tools/call')
      return result(response, id, { resultType: 'task', ...state, status: 'working' })
    if (method === 'tasks/update') {
      updates.push(params.inputResponses)
      return result(response, id, complete)
    }
    if (method !== 'tasks/get') return undefined
    const next = states.length > 1 ? states.shift() : states[0]
    return result(response, id, { ...complete, ...state, ...next })
  })

const toolSet = (name: string, spec: object): void =>
  writeFileSync(
    join(folder, `${name}.json`),
    JSON.stringify({
      apiVersion: 'toolgate.dev/v1alpha1',
      kind: 'ToolSet',
      metadata: { name, namespace: 'platform' },
      spec: { displayName: name, ...spec },
    }),
  )

beforeAll(async () => {
  oauth = await startOAuthServer()
  legacy = await startLegacy()
  asking = await startAsking()
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  mkdirSync(join(folder, 'secrets', 'client'), { recursive: true })
  writeFileSync(join(folder, 'secrets', 'client', 'secret'), 'secret\n')
  const authentication = {
    type: 'oauth2_client_credentials',
    tokenUrl: `${oauth.url}/token`,
    clientId: 'gateway',
    secretRef: { name: 'client', key: 'secret' },
  }
  const operation = (operationId: string) => ({
    post: { operationId, responses: { 200: { description: 'Done.' } } },
  })
  const paths = { '/start': operation('start'), '/slow': operation('slow') }
  const document = { openapi: '3.1.0', info: { title: 'Jobs', version: '1' }, paths }
  toolSet('jobs', {
    baseURL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
    openAPISpec: { inline: JSON.stringify(document) },
    toolDefaults: { authentication, timeout: '1s' },
    overrides: ['start', 'slow'].map(name => ({ operation: name, tasks: 'optional' })),
  })
  toolSet('far', { source: { mcp: { url: legacy.url, authentication } } })
  toolSet('asking', { source: { mcp: { url: asking.url } } })
  gateway = await deploy({ TOOLSETS: folder, TASK_TTL_MAX: '1m' })
  token = await gateway.token('demo-admin')
  for (let i = 0; i < 300 && (await ask('tools/list', {})).result.tools.length < 4; i++) await sleep(100)
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  backend.close()
  await legacy?.close()
  await asking?.close()
  await oauth?.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  acceptsRenewed = true
  Object.assign(counts, { begun: 0, polled: 0 })
  updates.length = 0
})

async function ask(method: string, params: object): Promise<ReadResponse['json']> {
  const headers = { 'mcp-protocol-version': '2025-11-25' }
  return (await gateway.post('/mcp', rpc(method, params), token, headers)).json
}

async function runTask(name: string): Promise<ReadResponse['json']> {
  const { task } = (await ask('tools/call', { name, arguments: {}, task: {} })).result
  return (await ask('tasks/result', { taskId: task.taskId })).result
}

/** A request of a client of 2026-07-28 that takes tasks. */
async function modern(
  method: string,
  params: { name?: string; taskId?: string; inputResponses?: object },
  capabilities: object = { elicitation: {} },
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { ...capabilities, extensions: { [TASKS]: {} } },
  }
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': (params.name ?? params.taskId)!,
  }
  return (await gateway.post('/mcp', rpc(method, { ...params, _meta }), token, headers)).json.result
}

it.each([
  ['accepted work of a backend', 'start', 'Done.', 3],
  ['a task of an MCP server', 'far', 'From far.', 1],
])(
  'asks for %s with another token when the first is refused, and executes it once',
  async (_, tool, said, polls) => {
    expect((await runTask(tool)).content[0].text).toBe(said)
    expect(counts).toEqual({ begun: 1, polled: polls })
  },
  60_000,
)

it.each([
  ['a backend', 'start'],
  ['an MCP server', 'far'],
])(
  'executes a task of %s once when every further token is refused',
  async (_, tool) => {
    acceptsRenewed = false
    const called = await runTask(tool)
    expect(called.isError).toBe(true)
    expect(JSON.stringify(called)).toContain('401')
    expect(counts).toEqual({ begun: 1, polled: 0 })
  },
  60_000,
)

it('lets a task with an access token take longer than its tool', async () => {
  expect((await runTask('slow')).content[0].text).toBe('Done.')
}, 60_000)

it('puts a question of a task once while the server is late to take its response', async () => {
  const waiting = { status: 'input_required', inputRequests: { color: question('Which color?') } }
  const done = { status: 'completed', result: text('Painted.') }
  states = [waiting, waiting, waiting, waiting, done]
  const { taskId } = await modern('tools/call', { name: 'paint' })
  let shown: ReadResponse['json']
  for (let i = 0; i < 600 && shown?.status !== 'input_required'; i++) {
    await sleep(50)
    shown = await modern('tasks/get', { taskId })
  }
  const [name] = Object.keys(shown.inputRequests)
  await modern('tasks/update', {
    taskId,
    inputResponses: { [name!]: { action: 'accept', content: { color: 'blue' } } },
  })
  for (let i = 0; i < 600 && shown.status !== 'completed'; i++) {
    await sleep(50)
    shown = await modern('tasks/get', { taskId })
    if (shown.status !== 'completed') expect(shown.inputRequests).toBeUndefined()
  }
  expect(shown.result.content[0].text).toBe('Painted.')
  expect(updates).toEqual([{ color: { action: 'accept', content: { color: 'blue' } } }])
}, 60_000)

it('reads the state of a task at its interval while its questions are declined', async () => {
  let asked = 0
  const waiting = () => ({
    status: 'input_required',
    inputRequests: { [`color-${asked++}`]: question('Which color?') },
  })
  states = Array.from({ length: 12 }, waiting)
  states.push({ status: 'completed', result: text('Painted.') })
  const startedAtMs = performance.now()
  const { taskId } = await modern('tools/call', { name: 'paint' }, {})
  let shown: ReadResponse['json']
  for (let i = 0; i < 600 && shown?.status !== 'completed'; i++) {
    await sleep(50)
    shown = await modern('tasks/get', { taskId }, {})
  }
  expect(shown.result.content[0].text).toBe('Painted.')
  expect(updates).toEqual(Array.from({ length: 12 }, (_, at) => ({ [`color-${at}`]: { action: 'decline' } })))
  expect(performance.now() - startedAtMs).toBeGreaterThan(1_200)
}, 60_000)
