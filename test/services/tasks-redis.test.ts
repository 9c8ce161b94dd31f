/** Tasks whose store is a Redis that stops responding: a running task is not said to be unknown, and its result arrives afterwards. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, post, type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../fixtures/redis-server.ts'

const VERSION = { 'mcp-protocol-version': '2025-11-25' }
const UNAVAILABLE = { code: 503, data: { error: 'tasks_unavailable' } }
const SOON = { timeout: 10_000, interval: 50 }

describe.skipIf(!hasRedis())(`tasks in a Redis that stops responding (${REDIS_HINT})`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'tasks-redis-'))
  let redis: RedisServer
  let link: FaultyLink
  let gateway: Deployment
  let token: string
  const finish: (() => void)[] = []
  const backend = createServer((_, response) => void finish.push(() => response.end('Done.')))

  beforeAll(async () => {
    redis = await RedisServer.start()
    link = await startFaultyLink(redis.url)
    await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
    const paths = {
      '/run': { get: { operationId: 'run', summary: 'Runs.', responses: { 200: { description: 'Done.' } } } },
    }
    const tools = join(folder, 'tools')
    mkdirSync(join(tools, 'configmaps/jobs'), { recursive: true })
    writeFileSync(
      join(tools, 'configmaps/jobs/api.json'),
      JSON.stringify({ openapi: '3.1.0', info: { title: 'Jobs', version: '1' }, paths }),
    )
    const spec = {
      displayName: 'Jobs',
      openAPISpec: { configMapRef: { name: 'jobs', key: 'api.json' } },
      baseURL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
      overrides: [{ operation: 'run', tasks: 'optional' }],
    }
    const metadata = { name: 'jobs', namespace: 'platform' }
    writeFileSync(
      join(tools, 'jobs.json'),
      JSON.stringify({ apiVersion: 'toolgate.dev/v1alpha1', kind: 'ToolSet', metadata, spec }),
    )
    const env = { TOOLSETS: tools, TEST_HOOKS: 'true', REDIS_URL: `redis://127.0.0.1:${link.port}` }
    gateway = await deploy(env)
    token = await gateway.token('demo-admin')
    for (let i = 0; i < 300 && (await ask('tools/list', {})).result?.tools.length !== 1; i++) await sleep(100)
  }, 120_000)
  afterAll(async () => {
    await link?.recover()
    await gateway?.stop()
    await link?.close()
    await redis?.stop()
    backend.closeAllConnections()
    backend.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = async (method: string, params: object): Promise<ReadResponse['json']> =>
    (await gateway.post('/mcp', rpc(method, params), token, VERSION)).json

  /** A busy machine may not read within the 50 ms of a command. */
  const askUntilAvailable = async (method: string, params: object): Promise<ReadResponse['json']> => {
    const untilMs = Date.now() + 10_000
    for (;;) {
      const got = await ask(method, params)
      if (got.error === undefined || Date.now() > untilMs) return got
      expect(got.error).toMatchObject(UNAVAILABLE)
      await sleep(20)
    }
  }

  it('are unavailable meanwhile, and the request that waits for a result gets it', async () => {
    const { task } = (await ask('tools/call', { name: 'run', arguments: {}, task: {} })).result
    const { taskId } = task
    await expect.poll(() => finish.length, SOON).toBe(1)
    let reads = 0
    link.watch(sent => {
      reads += sent.split(/hmget/i).filter(command => command.includes(`:task:${taskId}`)).length
    })
    const begin = () => {
      const request = { ended: false, response: ask('tasks/result', { taskId }) }
      void request.response.finally(() => {
        request.ended = true
      })
      return request
    }
    let waiting = begin()
    // the first read of the request is done when it reads again
    for (let before = 0; reads < before + 2; await sleep(10)) {
      if (!waiting.ended) continue
      // a busy machine may not read the first time within the 50 ms of a command
      expect((await waiting.response).error).toMatchObject(UNAVAILABLE)
      before = reads
      waiting = begin()
    }
    link.hang()
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list'])
      expect([method, (await ask(method, { taskId })).error]).toMatchObject([method, UNAVAILABLE])
    for (const run of finish.splice(0)) run()
    // several looks at the store
    await sleep(3_000)
    expect(waiting.ended ? await waiting.response : undefined).toBeUndefined()
    await link.recover()
    expect((await waiting.response).result.content[0].text).toBe('Done.')
    expect((await askUntilAvailable('tasks/get', { taskId })).result.status).toBe('completed')
    expect((await askUntilAvailable('tasks/list', {})).result.tasks).toHaveLength(1)
  }, 60_000)

  it('are not lost when Redis is back after an outage that was longer than their renewal', async () => {
    const { task } = (await ask('tools/call', { name: 'run', arguments: {}, task: {} })).result
    const { taskId } = task
    await expect.poll(() => finish.length, SOON).toBe(1)
    link.hang()
    // a renewal fails
    await sleep(6_000)
    await post(`${gateway.running.addresses.api_url}/test/clock`, { advance: '20s' }, token)
    await link.recover()
    expect((await askUntilAvailable('tasks/get', { taskId })).result).toMatchObject({ status: 'working' })
    for (const run of finish.splice(0)) run()
    expect((await askUntilAvailable('tasks/result', { taskId })).result.content[0].text).toBe('Done.')
    expect((await askUntilAvailable('tasks/get', { taskId })).result.status).toBe('completed')
  }, 60_000)
})
