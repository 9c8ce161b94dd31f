/**
 * A caller has one session with a stateful MCP server, whichever thread or instance serves the next request: two
 * gateways on one Redis, and two threads of one process. Kills and restarts on both sides lose and repeat no call.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { rpc } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'
import { fresh } from '../fixtures/fresh-connection.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { connectClient } from '../fixtures/mcp-clients.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../fixtures/redis-server.ts'
import { type RoundRobin, startRoundRobin } from '../fixtures/round-robin.ts'
import { clientToken } from '../fixtures/tokens.ts'

const CALLERS = 8
const root = mkdtempSync(join(tmpdir(), 'server-sessions-'))
/** Calls that the server executed, in all its lives. */
let executed = 0
/** Sessions of calls; the gateways open others for the list of tools. */
const used = new Set<string>()
const openSessions = (): number => [...server.sessions].filter(id => used.has(id)).length

/** Counts the calls of a session, and asks its user on the stream of the session. */
function countingServer(): McpServer {
  const server = new McpServer({ name: 'counting', version: '1' }, { capabilities: { logging: {} } })
  let counted = 0
  const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  server.registerTool(
    'count',
    { description: 'Counts.', annotations: { readOnlyHint: true } },
    ({ sessionId }) => {
      executed++
      used.add(sessionId!)
      return said(String(++counted))
    },
  )
  server.registerTool(
    'askBeside',
    { description: 'Asks.', annotations: { readOnlyHint: true } },
    async () => {
      const { action, content } = await server.server.elicitInput({
        message: 'Which color?',
        requestedSchema: { type: 'object', properties: { color: { type: 'string' } } },
      })
      return said(`${action} ${content?.color} ${++counted}`)
    },
  )
  return server
}

function writeToolSet(url: string): string {
  const directory = join(root, 'toolsets')
  mkdirSync(directory, { recursive: true })
  const toolSet = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'counting', namespace: 'platform' },
    spec: { displayName: 'Counting', source: { mcp: { url } }, naming: { prefix: 'c_' } },
  }
  writeFileSync(join(directory, 'counting.json'), JSON.stringify(toolSet))
  return directory
}

function environment(provider: DevProvider): Record<string, string> {
  const plans = join(root, 'plans.yaml')
  writeFileSync(plans, 'plans: { free: { name: Free } }\nconsumers: { demo-admin: free }\n')
  return {
    AUTH_ISSUER: provider.issuer,
    TOOLSETS: join(root, 'toolsets'),
    PLANS: plans,
    SSE_LIMITER_ENABLED: 'false',
  }
}

const VERSION = { 'mcp-protocol-version': '2025-11-25', accept: 'application/json, text/event-stream' }

/** A session with the gateway; each request takes a fresh connection, which any thread or instance may get. */
class Caller {
  readonly url: () => string
  readonly token: string
  id = ''
  counted = 0
  constructor(url: () => string, token: string) {
    this.url = url
    this.token = token
  }

  async open(): Promise<this> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    const asked = { method: 'POST', token: this.token, headers: VERSION, body: rpc('initialize', params) }
    this.id = (await fresh(`${this.url()}/mcp`, asked)).header('mcp-session-id')
    return this
  }

  /** The number that the server has counted for this caller. */
  async count(): Promise<number> {
    const headers = { ...VERSION, 'mcp-session-id': this.id }
    const body = rpc('tools/call', { name: 'c_count', arguments: {} })
    const asked = { method: 'POST', token: this.token, headers, body }
    const { status, text } = await fresh(`${this.url()}/mcp`, asked)
    expect(status, text).toBe(200)
    const { result } = JSON.parse(/^data: (\{.*\})$/m.exec(text)?.[1] ?? text)
    expect(result.isError, text).not.toBe(true)
    return Number(result.content[0].text)
  }

  /** @param from the number that the first of the calls has to return */
  async countOn(calls: number, from = this.counted + 1): Promise<void> {
    for (let n = 0; n < calls; n++) expect(await this.count()).toBe(from + n)
    this.counted = from + calls - 1
  }

  async end(): Promise<void> {
    const headers = { ...VERSION, 'mcp-session-id': this.id }
    const end = async () =>
      (await fresh(`${this.url()}/mcp`, { method: 'DELETE', token: this.token, headers })).status
    let status = await end()
    // a gateway that has just started responds 503 until it has read Redis; it may have ended the session all the same, which the repetition finds
    for (let attempt = 0; status === 503 && attempt < 100; attempt++) {
      await sleep(200)
      const repeated = await end()
      status = repeated === 404 ? 200 : repeated
    }
    expect(status).toBe(200)
  }
}

const all = <T>(callers: readonly Caller[], work: (caller: Caller) => Promise<T>): Promise<T[]> =>
  Promise.all(callers.map(work))

async function eventually(is: () => boolean, ms = 20_000): Promise<void> {
  const untilMs = performance.now() + ms
  while (!is() && performance.now() < untilMs) await sleep(50)
}

let provider: DevProvider
let server: ServedMcp
let token: string
beforeAll(async () => {
  provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(root, 'idp'), log: SILENT })
  server = await startMcpServer({ make: countingServer })
  writeToolSet(server.url)
  token = await clientToken(provider.issuer, 'demo-admin')
}, 60_000)
afterAll(async () => {
  await provider?.close()
  await server?.close()
  rmSync(root, { recursive: true, force: true })
})

/** A new server at the same address, as after a restart: it has no session. */
async function restartServer(): Promise<void> {
  const port = Number(new URL(server.url).port)
  await server.close()
  server = await startMcpServer({ make: countingServer, port })
}

describe.skipIf(!hasRedis())(`two gateways behind one Redis (${REDIS_HINT})`, () => {
  let redis: RedisServer
  let front: RoundRobin
  let gateways: GatewayProcess[]
  let starts: (() => Promise<GatewayProcess>)[]
  const callers: Caller[] = []

  beforeAll(async () => {
    redis = await RedisServer.start()
    front = await startRoundRobin()
    const env = { ...environment(provider), REDIS_URL: redis.url, GATEWAY_URL: front.url }
    const ports = [await freePort(), await freePort()]
    starts = ports.map((port, at) => async () => {
      const own = { GATEWAY_NAME: `g${at}`, GATEWAY_PORT: String(port) }
      return startGatewayProcess({ ...env, ...own })
    })
    gateways = await Promise.all(starts.map(start => start()))
    front.direct(gateways.map(({ listenerUrl }) => listenerUrl))
    for (let n = 0; n < CALLERS; n++) callers.push(await new Caller(() => front.url, token).open())
  }, 120_000)
  afterAll(async () => {
    await Promise.all((gateways ?? []).map(gateway => gateway.stop()))
    await front?.close()
    await redis?.stop()
  })

  it('use one session of the server for each caller', async () => {
    await all(callers, caller => caller.countOn(10))
    expect(Math.min(...front.responded)).toBeGreaterThan(30)
    expect(openSessions()).toBe(CALLERS)
  }, 60_000)

  it('keep it when calls of a caller arrive at both at the same time', async () => {
    const caller = await new Caller(() => front.url, token).open()
    const counted = await Promise.all(Array.from({ length: 20 }, () => caller.count()))
    expect(counted.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    await caller.end()
    await eventually(() => openSessions() === CALLERS)
    expect(openSessions()).toBe(CALLERS)
  }, 60_000)

  it('continue it after one of them was killed, and after both have restarted', async () => {
    const executedBefore = executed
    await gateways[0]!.kill()
    front.direct([gateways[1]!.listenerUrl])
    await all(callers, caller => caller.countOn(3))
    gateways[0] = await starts[0]!()
    front.direct([gateways[0].listenerUrl])
    await gateways[1]!.stop()
    await all(callers, caller => caller.countOn(3))
    gateways[1] = await starts[1]!()
    front.direct(gateways.map(({ listenerUrl }) => listenerUrl))
    await all(callers, caller => caller.countOn(4))
    expect(executed - executedBefore).toBe(CALLERS * 10)
    expect(openSessions()).toBe(CALLERS)
  }, 120_000)

  it('open one for each caller after the server has ended them, and after it has restarted', async () => {
    const executedBefore = executed
    server.endSessions()
    await all(callers, caller => caller.countOn(6, 1))
    expect(openSessions()).toBe(CALLERS)
    await restartServer()
    await all(callers, caller => caller.countOn(6, 1))
    expect(openSessions()).toBe(CALLERS)
    expect(executed - executedBefore).toBe(CALLERS * 12)
  }, 60_000)

  it('end it with the session of the caller, at whichever of them that ends', async () => {
    // unknown to both processes: only Redis knows them
    await Promise.all(gateways.map(gateway => gateway.kill()))
    gateways = await Promise.all(starts.map(start => start()))
    await all(callers, caller => caller.end())
    // at the moment when they are to be ended, Redis does not respond
    redis.process.kill('SIGSTOP')
    await sleep(1_500)
    redis.process.kill('SIGCONT')
    await eventually(() => openSessions() === 0)
    expect(openSessions()).toBe(0)
  }, 120_000)

  it('ask the user about a call of one, when the other receives the stream of the session', async () => {
    const asked: string[] = []
    const client = await connectClient(1, 'streamable', `${front.url}/mcp`, token, undefined, question => {
      asked.push(question.message)
      return { action: 'accept', content: { color: `red${asked.length}` } }
    })
    for (let n = 1; n <= 6; n++) {
      const { content } = await client.call('c_askBeside', {})
      expect(content[0]?.text).toBe(`accept red${n} ${n}`)
    }
    expect(asked).toHaveLength(6)
    await client.end()
  }, 60_000)

  it('serve a caller while Redis is unavailable, and after it has restarted empty', async () => {
    const caller = await new Caller(() => front.url, token).open()
    await caller.countOn(4)
    const executedBefore = executed
    const { port } = redis
    await redis.stop()
    await caller.countOn(6)
    redis = await RedisServer.start(port)
    await caller.countOn(6)
    expect(executed - executedBefore).toBe(12)
  }, 60_000)
})

describe('two threads of one process', () => {
  let gateway: GatewayProcess
  let env: Record<string, string>
  const callers: Caller[] = []
  const url = (): string => gateway.listenerUrl

  beforeAll(async () => {
    const port = String(await freePort())
    const dataDir = join(root, 'data')
    env = { ...environment(provider), WORKERS: '2', GATEWAY_PORT: port, DATA_DIR: dataDir }
    gateway = await startGatewayProcess(env)
    for (let n = 0; n < CALLERS; n++) callers.push(await new Caller(url, token).open())
  }, 120_000)
  afterAll(() => gateway?.stop())

  const resumed = async (): Promise<number> =>
    Number(/^platform_mcp_server_resumed_total\S* (\d+)/m.exec(await gateway.metrics())?.[1])

  it('use one session of the server for each caller', async () => {
    used.clear()
    await all(callers, caller => caller.countOn(12))
    expect(openSessions()).toBe(CALLERS)
    // both threads have served it
    expect(await resumed()).toBeGreaterThan(CALLERS / 2)
  }, 60_000)

  it('continue it after a kill and after a restart', async () => {
    const executedBefore = executed
    await gateway.kill()
    gateway = await startGatewayProcess(env)
    await all(callers, caller => caller.countOn(5))
    await gateway.stop()
    gateway = await startGatewayProcess(env)
    await all(callers, caller => caller.countOn(5))
    expect(executed - executedBefore).toBe(CALLERS * 10)
    expect(openSessions()).toBe(CALLERS)
  }, 120_000)

  it('open another one after the server has restarted, and end it with the caller', async () => {
    await restartServer()
    await all(callers, caller => caller.countOn(8, 1))
    expect(openSessions()).toBe(CALLERS)
    await all(callers, caller => caller.end())
    await eventually(() => openSessions() === 0)
    expect(openSessions()).toBe(0)
  }, 60_000)
})
