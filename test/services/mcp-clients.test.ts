/** The official TypeScript clients with each transport, era and path: what a client does from connecting to ending, and a call whose connection breaks. */
import { existsSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { connectClient, type McpClient, SECOND_GENERATION } from '../fixtures/mcp-clients.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { type RunningRequests, watchRequests } from '../fixtures/running-requests.ts'

const REPORT = 'shop_runSalesReport'
const PATHS = ['/mcp', '/mcp/sse']

/** What a client of this kind can expect when its connection breaks in mid-call. */
type AfterDrop = 'resumes' | 'loses the call and lets go of the backend' | 'works on in a new session'

type Connect = (url: string, token: string) => Promise<McpClient>
const FIRST: readonly (readonly [string, AfterDrop, Connect])[] = [
  ['v1 streamable', 'resumes', (url, token) => connectClient(1, 'streamable', url, token)],
  ['v1 SSE', 'works on in a new session', (url, token) => connectClient(1, 'sse', url, token)],
]
const SECOND: readonly (readonly [string, AfterDrop, Connect])[] = [
  ['v2 streamable legacy', 'resumes', (url, token) => connectClient(2, 'streamable', url, token, 'legacy')],
  [
    'v2 streamable auto',
    'loses the call and lets go of the backend',
    (url, token) => connectClient(2, 'streamable', url, token, 'auto'),
  ],
  [
    'v2 streamable pinned to 2026-07-28',
    'loses the call and lets go of the backend',
    (url, token) => connectClient(2, 'streamable', url, token, { pin: '2026-07-28' }),
  ],
  ['v2 SSE', 'works on in a new session', (url, token) => connectClient(2, 'sse', url, token)],
]

let gateway: Deployment
let proxy: FaultyLink
let token: string
let client: McpClient | undefined
let reports: RunningRequests

beforeAll(async () => {
  reports = watchRequests('report')
  gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
  token = await gateway.token('demo-agent')
})
afterAll(async () => {
  reports.stop()
  await gateway.stop()
})
beforeEach(async () => {
  client = undefined
  proxy = await startFaultyLink(gateway.url)
})
afterEach(async () => {
  await client?.end().catch(() => undefined)
  await proxy.close()
})

/** Four steps of a report; it ends by itself after them. */
const LONG_STEP_MS = 2000

/** A report that would take long enough to be lost. */
function longReport(
  options: Parameters<McpClient['call']>[2],
  stepMs = LONG_STEP_MS,
): ReturnType<McpClient['call']> {
  return client!.call(REPORT, { stepMs }, options)
}

async function life(connect: Connect, path: string): Promise<void> {
  client = await connect(`${proxy.url}${path}`, token)
  expect(await client.list()).toContain(REPORT)
  expect(await client.call('shop_listProducts', { limit: 1 })).toMatchObject({ isError: false })
  await expect(client.call('shop_noSuchTool', {})).rejects.toMatchObject({ code: -32602 })

  const steps: number[] = []
  const report = await client.call(
    REPORT,
    { stepMs: 50 },
    { onprogress: ({ progress }) => steps.push(progress) },
  )
  expect(report.isError).toBe(false)
  expect(steps.length).toBeGreaterThanOrEqual(3)
  expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b))

  const cancel = new AbortController()
  const cancelled = longReport({ signal: cancel.signal })
  const outcome = expect(cancelled).rejects.toThrow()
  await vi.waitFor(() => expect(reports.count).toBe(1), 15_000)
  cancel.abort()
  await outcome
  // the report itself would take eight
  await vi.waitFor(() => expect(reports.count).toBe(0), 5000)

  const sessionId = client.sessionId()
  await client.end()
  if (sessionId === undefined) return
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  expect((await gateway.post(path, ping, token, { 'mcp-session-id': sessionId })).status).toBe(404)
}

async function drop(connect: Connect, path: string, after: AfterDrop): Promise<void> {
  client = await connect(`${proxy.url}${path}`, token)
  let reported = 0
  const isLetGo = after === 'loses the call and lets go of the backend'
  // neither the end of the report nor that of the call may be what lets go of the backend
  const [stepMs, timeout] = isLetGo ? [LONG_STEP_MS, 6500] : [400, after === 'resumes' ? 15_000 : 4000]
  const call = longReport({ onprogress: () => reported++, timeout }, stepMs)
  const outcome = call.then(
    result => result,
    (error: unknown) => error,
  )
  await vi.waitFor(() => expect(reported).toBeGreaterThan(0), 15_000)
  proxy.reset()
  if (after === 'resumes') {
    expect(await outcome).toMatchObject({ isError: false })
    expect(JSON.stringify(await outcome)).toContain('report')
    return
  }
  if (isLetGo) await vi.waitFor(() => expect(reports.count).toBe(0), 3000)
  expect(await outcome).toBeInstanceOf(Error)
  // an EventSource comes back after three seconds, to a session that was never initialized
  await vi.waitFor(async () => expect(await client!.list()).toContain(REPORT), {
    timeout: 8000,
    interval: 300,
  })
}

for (const [generation, missing, rows] of [
  ['the first generation (@modelcontextprotocol/sdk)', false, FIRST],
  [
    'the second generation (@modelcontextprotocol/client, brought by scripts/services.sh conformance)',
    !existsSync(SECOND_GENERATION) && !servicesRequired(),
    SECOND,
  ],
] as const) {
  describe.skipIf(missing)(generation, { timeout: 90_000 }, () => {
    for (const [name, after, connect] of rows) {
      for (const path of PATHS) {
        it(`${name} at ${path} connects, lists, calls, hears progress, cancels and ends`, () =>
          life(connect, path))
        it(`${name} at ${path}: after a drop in mid-call it ${after}`, () => drop(connect, path, after))
      }
    }
  })
}
