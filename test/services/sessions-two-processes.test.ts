/**
 * Two gateways in separate processes on one Redis, behind a load balancer that takes them in turn: each serves, resumes, cancels and ends
 * what the other began, and when one is killed, no session is lost.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { post, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { freePort } from '../fixtures/free-ports.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { connectClient } from '../fixtures/mcp-clients.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../fixtures/redis-server.ts'
import { type RoundRobin, startRoundRobin } from '../fixtures/round-robin.ts'
import { clientToken } from '../fixtures/tokens.ts'

const root = mkdtempSync(join(tmpdir(), 'two-'))
const toolsets = join(root, 'toolsets')

describe.skipIf(!hasRedis())(`two gateways behind one Redis (${REDIS_HINT})`, () => {
  let redis: RedisServer
  let provider: DevProvider
  let front: RoundRobin
  let one: GatewayProcess
  let other: GatewayProcess
  let token: string
  let foreign: string

  beforeAll(async () => {
    cpSync('toolsets', toolsets, { recursive: true })
    const plans = join(root, 'plans.yaml')
    writeFileSync(
      plans,
      'plans: { free: { name: Free } }\nconsumers: { demo-admin: free, demo-agent: free }\n',
    )
    redis = await RedisServer.start()
    front = await startRoundRobin()
    provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(root, 'idp'), log: SILENT })
    const env = {
      REDIS_URL: redis.url,
      AUTH_ISSUER: provider.issuer,
      GATEWAY_URL: front.url,
      TOOLSETS: toolsets,
      PLANS: plans,
      SSE_LIMITER_ENABLED: 'false',
    }
    ;[one, other] = await Promise.all([
      startGatewayProcess({ ...env, GATEWAY_NAME: 'one', GATEWAY_PORT: String(await freePort()) }),
      startGatewayProcess({ ...env, GATEWAY_NAME: 'other', GATEWAY_PORT: String(await freePort()) }),
    ])
    front.direct([one.listenerUrl, other.listenerUrl])
    token = await clientToken(provider.issuer, 'demo-admin')
    foreign = await clientToken(provider.issuer, 'demo-agent')
  }, 120_000)
  afterAll(async () => {
    await Promise.all([one?.stop(), other?.stop()])
    await front?.close()
    await provider?.close()
    await redis?.stop()
    rmSync(root, { recursive: true, force: true })
  })

  const headersOf = (session: string) => ({
    accept: 'application/json, text/event-stream',
    'mcp-session-id': session,
    'mcp-protocol-version': '2025-11-25',
    'x-tenant-id': 'acme',
  })
  const send = (gateway: GatewayProcess, session: string, body: object, as = token) =>
    post(`${gateway.listenerUrl}/mcp`, body, as, headersOf(session))

  /** Polls: a session whose state Redis does not return within 50 ms continues, and on a busy machine it may not. */
  async function expectEnded(session: string): Promise<void> {
    for (const gateway of [one, other])
      await expect.poll(async () => (await send(gateway, session, rpc('ping'))).status).toBe(404)
  }

  async function initialize(gateway: GatewayProcess): Promise<string> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    const response = await post(`${gateway.listenerUrl}/mcp`, rpc('initialize', params), token)
    return response.headers.get('mcp-session-id')!
  }

  /** A GET stream, or with a body the stream of a POST. */
  async function stream(
    gateway: GatewayProcess,
    headers: Record<string, string>,
    body?: object,
  ): Promise<EventReader> {
    const response = await fetch(`${gateway.listenerUrl}/mcp`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        'x-tenant-id': 'acme',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    expect(response.status).toBe(200)
    return new EventReader(response)
  }

  const report = (id: string, stepMs: number): object => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'shop_runSalesReport', arguments: { stepMs }, _meta: { progressToken: id } },
  })

  it('serves an official client whose every request reaches the other one', async () => {
    const client = await connectClient(1, 'streamable', `${front.url}/mcp`, token)
    for (let round = 0; round < 6; round++) expect(await client.list()).toContain('shop_runSalesReport')
    const steps: number[] = []
    const result = await client.call(
      'shop_runSalesReport',
      { stepMs: 50 },
      { onprogress: ({ progress }) => steps.push(progress) },
    )
    expect(result.isError).not.toBe(true)
    expect(steps.length).toBeGreaterThanOrEqual(3)
    const session = client.sessionId()!
    await client.end()
    for (const responded of front.responded) expect(responded).toBeGreaterThanOrEqual(3)
    await expectEnded(session)
  })

  it('knows a session that the other one opened, and whose it is', async () => {
    const session = await initialize(one)
    // as many as there are, whichever instance or thread of it is asked
    const shown = () =>
      Promise.all(
        [one, other].map(async gateway => /^platform_sessions (\d+)$/m.exec(await gateway.metrics())?.[1]),
      )
    await expect.poll(shown, { timeout: 20_000 }).toEqual(['1', '1'])
    expect((await send(other, session, rpc('tools/list'))).json.result.tools).not.toEqual([])
    expect((await send(other, session, rpc('tools/list'), foreign)).status).toBe(404)
    expect((await send(one, session, rpc('tools/list'))).status).toBe(200)
  })

  it('brings what a call at the other one causes to the HTTP+SSE stream that is open here', async () => {
    const events = await stream(one, {})
    const address = (await events.message())!.data
    const call = () =>
      post(`${other.listenerUrl}${address}`, report('sse', 30), token, { 'x-tenant-id': 'acme' })
    let accepted = await call()
    // nothing was executed: on a busy machine Redis may take longer than the 50 ms of a command
    for (let tries = 0; accepted.status === 503 && tries < 10; tries++) {
      expect(accepted.headers.get('retry-after')).toBe('1')
      await sleep(1_000)
      accepted = await call()
    }
    expect(accepted.status).toBe(202)
    const steps: number[] = []
    for (;;) {
      const message = await events.json(15_000)
      if (message.method === 'notifications/progress') steps.push(message.params.progress)
      else {
        expect(message).toMatchObject({ id: 'sse', result: { isError: false } })
        break
      }
    }
    expect(steps.length).toBeGreaterThanOrEqual(3)
    expect(steps).toEqual(steps.toSorted((a, b) => a - b))
    await events.close()
  })

  it('resumes at the other one what was begun here, in mid-call and after it', async () => {
    const session = await initialize(one)
    const begun = await stream(one, headersOf(session), report('cut', 150))
    const [priming, first] = [await begun.message(), await begun.message()]
    expect(JSON.parse(first!.data).params.progress).toBe(1)
    await begun.close()

    const resumed = await stream(other, { ...headersOf(session), 'last-event-id': first!.id! })
    const rest: { method?: string; id?: string; params?: { progress: number } }[] = []
    while (rest.at(-1)?.id === undefined) rest.push(await resumed.json(15_000))
    const steps = rest.flatMap(message => message.params?.progress ?? [])
    expect(steps).toEqual(Array.from({ length: steps.length }, (_, at) => at + 2))
    expect(rest.at(-1)).toMatchObject({ id: 'cut', result: { isError: false } })
    expect(await resumed.message(5000)).toBeUndefined()

    const again = await stream(other, { ...headersOf(session), 'last-event-id': priming!.id! })
    for (const progress of [1, ...steps]) expect(await again.json()).toMatchObject({ params: { progress } })
    expect(await again.json()).toMatchObject({ id: 'cut', result: { isError: false } })
    expect(await again.message()).toBeUndefined()
  })

  it('cancels here what is called at the other one', async () => {
    const session = await initialize(one)
    const running = await stream(one, headersOf(session), report('long', 2000))
    await running.message()
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'long' } }
    expect((await send(other, session, cancelled)).status).toBe(202)
    for (;;) {
      const event = await running.message(10_000)
      if (event === undefined) break
      expect(JSON.parse(event.data || '{}')).not.toHaveProperty('result')
    }
  })

  it('ends here, for both, a session whose stream is open at the other one', async () => {
    const session = await initialize(one)
    const events = await stream(one, headersOf(session))
    const ended = await fetch(`${other.listenerUrl}/mcp`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${token}`, ...headersOf(session) },
    })
    expect(ended.status).toBe(200)
    expect(await events.message(10_000)).toBeUndefined()
    await expectEnded(session)
  })

  it('notifies the streams of both of a changed list', async () => {
    const streams = await Promise.all(
      [one, other].map(async gateway => stream(gateway, headersOf(await initialize(gateway)))),
    )
    writeFileSync(join(toolsets, 'extra.yaml'), EXTRA)
    for (const events of streams)
      expect(await events.json(20_000)).toMatchObject({ method: 'notifications/tools/list_changed' })
    await Promise.all(streams.map(events => events.close()))
  })

  it('reports the same counts of sessions at any instance', async () => {
    const countsAt = async ({ listenerUrl }: GatewayProcess) => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${listenerUrl}/admin/sessions/stats`, { headers })
      // a busy machine does not respond within the 50 ms that a call waits for Redis
      if (response.status === 503) return undefined
      return (await response.json()) as { active_sessions: number; total_created: number }
    }
    const read: Awaited<ReturnType<typeof countsAt>>[] = []
    await expect
      .poll(async () => {
        read.splice(0, 2, await countsAt(one), await countsAt(other))
        return read.includes(undefined)
      })
      .toBe(false)
    const counts = read.map(each => each!)
    expect(counts[0]).toEqual(counts[1])
    expect(counts[0]!.active_sessions).toBeGreaterThan(0)
    expect(counts[0]!.total_created).toBeGreaterThan(counts[0]!.active_sessions)
  })

  it('loses no session when one is killed', async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => initialize(one)))
    const client = await connectClient(1, 'streamable', `${front.url}/mcp`, token)
    const [session] = sessions
    const events = await stream(one, headersOf(session!))
    await one.kill()
    await expect(drained(events)).resolves.toBeUndefined()

    for (const id of sessions) expect((await send(other, id, rpc('tools/list'))).status).toBe(200)
    const reopened = await stream(other, headersOf(session!))
    for (let round = 0; round < 4; round++) expect(await client.list()).toContain('shop_runSalesReport')
    expect((await send(other, session!, rpc('tools/list'), foreign)).status).toBe(404)
    await reopened.close()
    await client.end()
  })
})

/** Until the stream ends, however it ends. */
async function drained(events: EventReader): Promise<void> {
  try {
    while ((await events.next(10_000)) !== undefined);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('no event')) throw error
  }
}

const EXTRA = `apiVersion: toolgate.dev/v1alpha1
kind: ToolSet
metadata: { name: extra, namespace: tenant-acme }
spec:
  displayName: Extra
  baseURL: http://127.0.0.1:9
  openAPISpec:
    inline: |
      openapi: 3.1.0
      info: { title: Extra, version: '1' }
      paths: { /extra: { get: { operationId: extra, summary: One more. } } }
`
