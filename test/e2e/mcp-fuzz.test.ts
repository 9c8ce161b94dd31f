/**
 * Malformed bodies and header combinations at the MCP endpoint of a deployment in its own process: no response is a 5xx, the
 * process goes on, and its heap grows by a tenth at most. 1,000 cases, 3,000 in the long check; SOAK=1 sends 100,000. FUZZ_SEED repeats a run.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { importJWK, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { sized } from '../fixtures/check.ts'
import { post, rpc } from '../fixtures/deployment.ts'
import { type FuzzCase, FuzzCases } from '../fixtures/fuzz-cases.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'

const SOAK = process.env.SOAK === '1'
const CASES = SOAK ? 100_000 : sized(1_000, 3_000)
const WARM_UP = SOAK ? 10_000 : 1_000
const SEED = Number(process.env.FUZZ_SEED ?? 20260728)
const AT_ONCE = 16
/** How long a stream without a response is read. */
const STREAM_MS = 30
const MAX_GROWTH = 1.1
/** Sessions and what is kept for resuming live for seconds here; a heap that has not fallen for so long has settled. */
const STILL_MS = SOAK ? 70_000 : 4_000
/** Each has its own limits, so that calls get as far as the backend. */
const CONSUMERS = SOAK ? 512 : 64

const dataDir = mkdtempSync(join(tmpdir(), 'fuzz-'))
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
const sessions: string[] = []
/** Calls that came back with a backend's response. */
let called = 0
let gateway: GatewayProcess
let tokens: string[]
beforeAll(async () => {
  gateway = await startGatewayProcess({
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    SESSION_TTL: '2s',
    SSE_LIMITER_ENABLED: 'false',
  })
  tokens = await mintTokens()
}, 60_000)
afterAll(async () => {
  agent.destroy()
  await gateway?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** With the embedded provider's own key. */
async function mintTokens(): Promise<string[]> {
  const file = join(dataDir, 'dev-provider', 'dev-identity', 'jwks.json')
  const jwk = (JSON.parse(readFileSync(file, 'utf8')) as { keys: JWK[] }).keys[0]!
  const key = await importJWK(jwk, 'RS256')
  return Promise.all(
    Array.from({ length: CONSUMERS }, (_, n) => {
      const claims = {
        iss: gateway.addresses.auth_url,
        sub: `fuzz-${n}`,
        azp: `fuzz-${n}`,
        aud: 'platform-mcp-gateway',
        tenant_id: 'acme',
        scope: n % 4 === 0 ? 'platform:read' : 'platform:read platform:execute',
      }
      const jwt = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: jwk.kid! })
      return jwt.setIssuedAt().setExpirationTime('1h').sign(key)
    }),
  )
}

/** The response body of a bug in the gateway, with any status. */
const BUG = '"code":-32603,"message":"Internal error."'

/** @returns status; 0 when the connection ended without one, 500 for an internal error in the response */
function send(one: FuzzCase): Promise<number> {
  const { method, path, headers, body } = one
  return new Promise(resolve => {
    const length = body === undefined ? {} : { 'content-length': body.length }
    const outgoing = request(
      `${gateway.url}${path}`,
      { agent, method, headers: { ...headers, ...length } },
      response => {
        const minted = response.headers['mcp-session-id']
        if (typeof minted === 'string') sessions.push(minted)
        let text = ''
        const done = (): void => {
          if (text.includes('"isError":false')) called++
          resolve(text.includes(BUG) ? 500 : response.statusCode!)
        }
        const limit = setTimeout(() => outgoing.destroy(), STREAM_MS)
        response.on('close', () => {
          clearTimeout(limit)
          done()
        })
        response.on('error', () => undefined)
        response.setEncoding('latin1').on('data', chunk => {
          if (text.length < 1_000_000) text += chunk
        })
      },
    )
    outgoing.on('error', () => resolve(0))
    outgoing.end(body)
  })
}

function sendRaw(bytes: Buffer): Promise<number> {
  const { hostname, port } = new URL(gateway.url)
  return new Promise(resolve => {
    let response = ''
    const socket = connect(Number(port), hostname)
    const limit = setTimeout(() => socket.destroy(), STREAM_MS * 2)
    socket.on('data', chunk => {
      response += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(limit)
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1] ?? 0))
    })
    socket.end(bytes)
  })
}

interface Tally {
  readonly statuses: Map<number, number>
  /** Cases with a 5xx, or whole requests without any response. */
  readonly faults: string[]
}

/** The listener closes on a body that is larger than it takes, or comes with a method that has none (its contract). */
function mayBeClosed({ method, body }: FuzzCase): boolean {
  if (body === undefined) return false
  return body.length > 1_000_000 || !['POST', 'PUT', 'PATCH'].includes(method)
}

async function run(cases: FuzzCases, count: number, tally: Tally): Promise<void> {
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const one = cases.next()
      const status = one.raw === undefined ? await send(one) : await sendRaw(one.raw)
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
      const lost = status === 0 && one.raw === undefined && !mayBeClosed(one)
      // the newer native build responds so to a request line that is not HTTP/1.1
      const isOfLine = status === 505 && one.raw !== undefined
      if ((status >= 500 && !isOfLine) || lost) {
        const body = one.body?.subarray(0, 600).toString('latin1')
        const { authorization, ...headers } = one.headers
        const caller = authorization === undefined ? 'anonymous' : authorization.slice(0, 16)
        tally.faults.push(`${status} ${one.method} ${one.path} ${caller} ${JSON.stringify(headers)} ${body}`)
      }
      if (sessions.length > 4096) sessions.splice(0, 2048)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** Waits until sessions have ended and buffers are gone. @returns the heap once it is small enough, or falls no more */
async function settledHeap(enoughBytes: number): Promise<number> {
  let smallest = Number.POSITIVE_INFINITY
  let fellAt = Date.now()
  while (smallest > enoughBytes && Date.now() - fellAt < STILL_MS) {
    const { heapBytes } = await gateway.memory()
    if (heapBytes < smallest * 0.998) fellAt = Date.now()
    smallest = Math.min(smallest, heapBytes)
    await sleep(300)
  }
  return smallest
}

/** Nothing that changes the shop, which lives in the same process. */
async function readOnlyTools(): Promise<string[]> {
  const listed = await post(`${gateway.url}/mcp`, rpc('tools/list'), tokens[1])
  const tools: { name: string; annotations?: { readOnlyHint?: boolean } }[] = listed.json.result.tools
  expect(tools.length, listed.text.slice(0, 500)).toBeGreaterThan(10)
  return tools.filter(tool => tool.annotations?.readOnlyHint).map(tool => tool.name)
}

it(
  `${CASES} malformed requests: no 5xx, no crash, no leak`,
  async () => {
    const tools = await vi.waitFor(readOnlyTools, { timeout: 20_000, interval: 500 })
    const world = { tokens, sessions, tools: [...tools, 'shop_noSuchTool', '__proto__', ''] }
    const cases = new FuzzCases(SEED, world)
    const tally: Tally = { statuses: new Map(), faults: [] }
    await run(cases, WARM_UP, tally)
    const before = await settledHeap(0)
    const startedAt = performance.now()
    await run(cases, CASES, tally)
    const perSecond = CASES / ((performance.now() - startedAt) / 1000)
    const after = await settledHeap(before * MAX_GROWTH)
    const statuses = [...tally.statuses].sort(([a], [b]) => a - b).map(([status, n]) => `${status}: ${n}`)
    console.info(
      `seed ${SEED}, ${perSecond.toFixed(0)} a second; ${statuses.join(', ')}; ${called} calls got a response; heap ${before} → ${after} bytes (${(after / before).toFixed(3)})`,
    )
    expect(tally.faults.slice(0, 5), `${tally.faults.length} faults`).toEqual([])
    expect(tally.statuses.get(200)).toBeGreaterThan(CASES / 20)
    expect(called).toBeGreaterThan(CASES / 1000)
    expect((await post(`${gateway.url}/mcp`, rpc('ping'), tokens[1])).status).toBe(200)
    expect(after).toBeLessThanOrEqual(before * MAX_GROWTH)
  },
  SOAK ? 900_000 : 120_000,
)
