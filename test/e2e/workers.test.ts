/** Several threads on one port behave as one gateway: calls, limits, sessions, streams, administration, crashes and the end. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { type FreshResponse, fresh, open } from '../fixtures/fresh-connection.ts'
import { signedToken } from '../fixtures/tokens.ts'

const THREADS = 3
const PER_MINUTE = 40
const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
const BOTH = { accept: 'application/json, text/event-stream' }

/** Every thread that this process starts; those that serve calls are among them. */
const started: Worker[] = []
process.on('worker', worker => started.push(worker))
/** Only a thread that serves calls has a bound of its young generation, as in `src/app/main/workers/worker-threads.ts`. */
const isServing = ({ threadId, resourceLimits }: Worker): boolean =>
  threadId > 0 && resourceLimits?.maxYoungGenerationSizeMb === 12

describe(`a gateway of ${THREADS} threads`, () => {
  let gateway: Deployment
  let token: string
  let dir: string
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'threads-'))
    const plans = join(dir, 'plans.yaml')
    const limited = {
      plans: { limited: { perMinute: PER_MINUTE } },
      consumers: { 'limited-agent': 'limited', 'demo-admin': 'enterprise' },
    }
    writeFileSync(plans, JSON.stringify(limited))
    gateway = await deploy({
      DATA_DIR: join(dir, 'data'),
      WORKERS: String(THREADS),
      TEST_HOOKS: '1',
      PLANS: plans,
      RATE_LIMIT_PER_MIN: '1000',
      MAX_PER_IP: '10',
    })
    token = await gateway.token('demo-admin')
  }, 120_000)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  const tokenOf = (consumer: string): Promise<string> =>
    signedToken(join(dir, 'data'), gateway.running.addresses.auth_url, { id: consumer, tenant: 'acme' })
  const call = (with_: string = token): Promise<FreshResponse> =>
    fresh(`${gateway.url}/mcp/tools/call`, { method: 'POST', token: with_, body: CALL })
  const mcp = (body: object, headers: Record<string, string> = {}): Promise<FreshResponse> =>
    fresh(`${gateway.url}/mcp`, { method: 'POST', token, body, headers: { ...BOTH, ...headers } })
  const many = <T>(count: number, what: (at: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => what(at)))
  async function initialize(): Promise<string> {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    }
    return (await mcp(rpc('initialize', params))).header('mcp-session-id')
  }
  const metric = async (name: string): Promise<number> => {
    const { text } = await fresh(`${gateway.running.addresses.metrics_url}/metrics`)
    return text
      .split('\n')
      .filter(line => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  it('responds to calls on every connection, and counts them all', async () => {
    expect(await metric('platform_workers')).toBe(THREADS)
    const before = await metric('platform_requests_total{consumer="demo-admin",status="200"}')
    const responses = await many(60, () => call())
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await metric('platform_requests_total{consumer="demo-admin",status="200"}')).toBe(before + 60)
    expect(await metric('platform_tools')).toBe(30)
  })

  it('admits exactly the limit, whichever thread is asked', async () => {
    const agent = await tokenOf('limited-agent')
    const responses = await many(3 * PER_MINUTE, () => call(agent))
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(PER_MINUTE)
    expect(statuses.filter(status => status === 429)).toHaveLength(2 * PER_MINUTE)
  })

  it('knows a session on every thread, and none of them once it has ended', async () => {
    const id = await initialize()
    expect(id).not.toBe('')
    const session = { 'mcp-session-id': id }
    // every thread is asked, and says the same: it is one session
    await expect.poll(() => metric('platform_sessions'), { timeout: 20_000 }).toBe(1)
    const calls = await many(20, () => mcp(rpc('tools/call', CALL), session))
    expect(calls.every(({ status, text }) => status === 200 && text.includes('P-1001'))).toBe(true)
    const ended = await fresh(`${gateway.url}/mcp`, { method: 'DELETE', token, headers: session })
    expect(ended.status).toBeLessThan(300)
    const after = await many(20, () => mcp(rpc('ping'), session))
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([404]))
    await expect.poll(() => metric('platform_sessions'), { timeout: 20_000 }).toBe(0)
  })

  it('sends to a stream on one thread what calls on others cause', async () => {
    const stream = await open(`${gateway.url}/mcp/sse`, { token, headers: { accept: 'text/event-stream' } })
    expect(stream.statusCode).toBe(200)
    let text = ''
    stream.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    stream.on('error', () => {})
    await expect.poll(() => text, { timeout: 20_000 }).toContain('event: endpoint')
    const path = /data: (\S+)/.exec(text)![1]!
    const posts = await many(12, at =>
      fresh(gateway.url + path, {
        method: 'POST',
        token,
        body: { ...rpc('tools/call', CALL), id: `call-${at}` },
      }),
    )
    expect(new Set(posts.map(({ status }) => status))).toEqual(new Set([202]))
    for (let at = 0; at < 12; at++)
      await expect.poll(() => text, { timeout: 20_000 }).toContain(`"call-${at}"`)
    stream.destroy()
  })

  it('counts event streams for the whole process', async () => {
    const opening = () => open(`${gateway.url}/mcp/sse`, { token, headers: { accept: 'text/event-stream' } })
    // the stream of the test before gives its place back in a moment
    await expect.poll(() => metric('platform_streams'), { timeout: 20_000 }).toBe(0)
    const streams = await many(14, opening)
    for (const stream of streams) stream.on('error', () => {})
    const statuses = streams.map(({ statusCode }) => statusCode)
    expect(statuses.filter(status => status === 200)).toHaveLength(10)
    expect(statuses.filter(status => status === 429)).toHaveLength(4)
    for (const stream of streams) stream.destroy()
    await expect.poll(() => metric('platform_streams'), { timeout: 20_000 }).toBe(0)
  })

  it('clears what an administrator clears, on all threads', async () => {
    await many(20, () => call())
    const post = (path: string) => fresh(gateway.url + path, { method: 'POST', token })
    expect((await post('/admin/cache/clear')).json).toMatchObject({ status: 'ok' })
    expect((await post('/admin/quotas/limited-agent/reset')).json).toMatchObject({ daily_count: 0 })
    const rows = await many(10, () => fresh(`${gateway.url}/admin/quotas/limited-agent`, { token }))
    expect(new Set(rows.map(({ json }) => json.daily_count))).toEqual(new Set([0]))
  })

  it('replaces threads that crash; a session goes on', async () => {
    const id = await initialize()
    const serving = started.filter(isServing)
    expect(serving).toHaveLength(THREADS)
    const ended = serving.map(worker => once(worker, 'exit'))
    for (const worker of serving) worker.postMessage('crash')
    // the code of an unexpected error
    expect((await Promise.all(ended)).map(([code]) => code)).toEqual(Array(THREADS).fill(70))
    await expect.poll(() => metric('platform_workers'), { timeout: 60_000 }).toBe(THREADS)
    const calls = await many(30, () => mcp(rpc('tools/call', CALL), { 'mcp-session-id': id }))
    expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200]))
  }, 120_000)

  it('refuses connections once it has stopped', async () => {
    await gateway.stop()
    // several addresses of localhost are refused in one error without a message
    await expect(call()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  }, 60_000)
})
