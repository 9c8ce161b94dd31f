/** Calls that run as tasks in 2025-11-25, over HTTP: results of later requests, accepted work, tasks of a server, cancellation, other callers, bounds. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { result, type ScriptedServer, startScriptedServer } from '../fixtures/scripted-mcp-server.ts'

const VERSION = { 'mcp-protocol-version': '2025-11-25' }
const OPERATION = (operationId: string) => ({
  get: {
    operationId,
    summary: 'Runs for a while.',
    parameters: [{ name: 'ms', in: 'query', schema: { type: 'integer' } }],
    responses: { 200: { description: 'Done.' } },
  },
})

describe('tasks of 2025-11-25', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tasks-'))
  let gateway: Deployment
  let token: string
  let server: ScriptedServer
  let calls = 0
  let asked = 0
  const backend = createServer((request, response) => {
    calls++
    const { searchParams, pathname } = new URL(request.url!, 'http://localhost')
    if (pathname === '/accept')
      return void response.writeHead(202, { location: '/jobs/1', 'retry-after': '0' }).end()
    if (pathname === '/astray')
      return void response.writeHead(202, { location: 'http://192.0.2.1/' }).end('Accepted.')
    if (pathname === '/jobs/1') {
      asked++
      if (asked < 3) return void response.writeHead(202).end()
      return void response.writeHead(303, { location: '/jobs/1/result' }).end()
    }
    setTimeout(() => response.end('Done.'), Number(searchParams.get('ms') ?? 0)).unref()
  })

  beforeAll(async () => {
    await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
    mkdirSync(join(folder, 'configmaps/jobs'), { recursive: true })
    const paths = {
      '/run': OPERATION('run'),
      '/only': OPERATION('only'),
      '/plain': OPERATION('plain'),
      '/accept': OPERATION('accept'),
      '/astray': OPERATION('astray'),
    }
    const document = { openapi: '3.1.0', info: { title: 'Jobs', version: '1' }, paths }
    writeFileSync(join(folder, 'configmaps/jobs/api.json'), JSON.stringify(document))
    const { port } = backend.address() as AddressInfo
    const spec = {
      displayName: 'Jobs',
      openAPISpec: { configMapRef: { name: 'jobs', key: 'api.json' } },
      baseURL: `http://127.0.0.1:${port}`,
      toolDefaults: { timeout: '1s' },
      overrides: [
        { operation: 'run', tasks: 'optional' },
        { operation: 'only', tasks: 'required' },
        { operation: 'accept', tasks: 'optional' },
        { operation: 'astray', tasks: 'optional' },
      ],
    }
    const metadata = { name: 'jobs', namespace: 'platform' }
    const resource = { apiVersion: 'toolgate.dev/v1alpha1', kind: 'ToolSet', metadata, spec }
    writeFileSync(join(folder, 'jobs.json'), JSON.stringify(resource))
    server = await startScriptedServer(({ method, id, params }, response) => {
      if (method === 'tools/list')
        return result(response, id, {
          tools: [
            {
              name: 'far',
              description: 'Runs far away.',
              inputSchema: { type: 'object' },
              execution: { taskSupport: 'required' },
            },
          ],
        })
      const state = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z', ttl: 60_000 }
      if (method === 'tools/call')
        return params.task === undefined
          ? undefined
          : result(response, id, { task: { taskId: 'there', status: 'working', ...state } })
      if (method === 'tasks/result' && params.taskId === 'there')
        return result(response, id, { content: [{ type: 'text', text: 'From far.' }] })
      return undefined
    })
    writeFileSync(
      join(folder, 'far.json'),
      JSON.stringify({
        apiVersion: 'toolgate.dev/v1alpha1',
        kind: 'ToolSet',
        metadata: { name: 'far', namespace: 'platform' },
        spec: { displayName: 'Far', source: { mcp: { url: server.url } } },
      }),
    )
    gateway = await deploy({ TOOLSETS: folder, TASKS_PER_CALLER: '30', TASK_TTL_MAX: '1m' })
    token = await gateway.token('demo-admin')
    for (let i = 0; i < 300 && (await ask('tools/list', {})).result.tools.length < 6; i++) await sleep(100)
  }, 120_000)
  afterAll(async () => {
    await gateway?.stop()
    backend.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = async (method: string, params: object, by = token): Promise<ReadResponse['json']> =>
    (await gateway.post('/mcp', rpc(method, params), by, VERSION)).json
  const begin = async (ms: number, ttl?: number) =>
    (await ask('tools/call', { name: 'run', arguments: { ms }, task: { ttl } })).result.task

  it('are declared, listed with their tools, and run past the timeout of the tool', async () => {
    const { result } = await ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    })
    expect(result.capabilities.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } })
    const { tools } = (await ask('tools/list', {})).result
    const support = (name: string) => tools.find((tool: { name: string }) => tool.name === name).execution
    expect([support('run'), support('only'), support('plain')]).toEqual([
      { taskSupport: 'optional' },
      { taskSupport: 'required' },
      undefined,
    ])
    const before = calls
    const task = await begin(2_000, 30_000)
    expect(task).toMatchObject({ status: 'working', ttl: 30_000 })
    const { result: ended } = await ask('tasks/result', { taskId: task.taskId })
    expect(ended.content[0].text).toBe('Done.')
    expect(ended._meta['io.modelcontextprotocol/related-task']).toEqual({ taskId: task.taskId })
    expect((await ask('tasks/get', { taskId: task.taskId })).result.status).toBe('completed')
    expect(calls).toBe(before + 1)
  }, 30_000)

  it('wait for work that the backend has only accepted, at its address', async () => {
    const call = async (name: string): Promise<string> => {
      const { task } = (await ask('tools/call', { name, arguments: {}, task: {} })).result
      const { content } = (await ask('tasks/result', { taskId: task.taskId })).result
      return content[0].text
    }
    expect(await call('accept')).toBe('Done.')
    expect(asked).toBe(3)
    expect(await call('astray')).toBe('Accepted.')
  }, 30_000)

  it('of a server are those of the gateway; a caller without tasks waits', async () => {
    const { task } = (await ask('tools/call', { name: 'far', arguments: {}, task: {} })).result
    expect(task.taskId).not.toBe('there')
    const { content } = (await ask('tasks/result', { taskId: task.taskId })).result
    expect(content[0].text).toBe('From far.')
    const old = { 'mcp-protocol-version': '2025-06-18' }
    const { json } = await gateway.post('/mcp', rpc('tools/call', { name: 'far', arguments: {} }), token, old)
    expect(json.result.content[0].text).toBe('From far.')
    expect(server.seen.filter(method => method === 'tools/call')).toHaveLength(2)
  }, 30_000)

  it('are cancelled once, and have no result then', async () => {
    const { taskId } = await begin(20_000)
    expect((await ask('tasks/cancel', { taskId })).result.status).toBe('cancelled')
    expect((await ask('tasks/cancel', { taskId })).error.code).toBe(-32602)
    expect((await ask('tasks/result', { taskId })).error).toBeDefined()
  }, 30_000)

  it('are not found by another caller', async () => {
    const { taskId } = await begin(0)
    const other = await gateway.token('demo-agent')
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect((await ask(method, { taskId }, other)).error?.code).toBe(-32602)
    expect((await ask('tasks/list', {}, other)).result.tasks).toEqual([])
  }, 30_000)

  it('are refused where the tool does not run as one, and required where it only does', async () => {
    const plain = await ask('tools/call', { name: 'plain', arguments: {}, task: {} })
    expect(plain.error.code).toBe(-32601)
    expect((await ask('tools/call', { name: 'only', arguments: {} })).error.code).toBe(-32601)
    // an older client knows no tasks
    const old = { 'mcp-protocol-version': '2025-06-18' }
    const { json } = await gateway.post(
      '/mcp',
      rpc('tools/call', { name: 'only', arguments: {} }),
      token,
      old,
    )
    expect(json.result.content[0].text).toBe('Done.')
  }, 30_000)

  it('are listed in pages, and bounded for each caller', async () => {
    let refused: ReadResponse['json']
    for (let i = 0; i < 31 && refused === undefined; i++) {
      const { result } = await ask('tools/call', { name: 'run', arguments: { ms: 0 }, task: {} })
      if (result.isError === true) refused = result
    }
    expect(refused._meta['toolgate.dev/error'].error).toBe('too_many_tasks')
    const first = (await ask('tasks/list', {})).result
    const second = (await ask('tasks/list', { cursor: first.nextCursor })).result
    expect([first.tasks.length, second.tasks.length, second.nextCursor]).toEqual([25, 5, undefined])
    expect((await ask('tasks/list', { cursor: 'x' })).error.code).toBe(-32602)
  }, 60_000)
})
