/**
 * Load test of the started gateway under autocannon: health, tools/list, tools/call over REST and JSON-RPC, all checks on,
 * beside a bare uWS POST of the same body in the same run. Every answer is checked; a run with one wrong answer does not count.
 * `npx tsx bench/http/gateway-load.ts [rounds] [seconds]` prints the table; `npm run build` comes first.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import autocannon from 'autocannon'
import { BODY, HEADERS, startEchoServer } from './listener-process.ts'

interface Gateway {
  readonly url: string
  readonly token: string
  stop(): Promise<void>
}

interface LoadCase {
  readonly name: string
  readonly request: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: string }
  /** What every answer must hold. */
  readonly holds: string
}

const CONNECTIONS = 16
const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
const rpc = (method: string, params?: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

const CASES: readonly LoadCase[] = [
  { name: 'GET /health', request: { method: 'GET', path: '/health' }, holds: '"ok"' },
  { name: 'ping', request: { method: 'POST', path: '/mcp', body: rpc('ping') }, holds: '"result":{}' },
  {
    name: 'tools/list',
    request: { method: 'POST', path: '/mcp', body: rpc('tools/list') },
    holds: 'shop_getProduct',
  },
  {
    name: 'tools/call, JSON-RPC',
    request: { method: 'POST', path: '/mcp', body: rpc('tools/call', CALL) },
    holds: 'P-1001',
  },
  {
    name: 'tools/call, REST',
    request: { method: 'POST', path: '/mcp/tools/call', body: JSON.stringify(CALL) },
    holds: 'P-1001',
  },
]

async function startGateway(): Promise<Gateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const ports = { GATEWAY_PORT: '0', API_PORT: '0', AUTH_PORT: '0', METRICS_PORT: '0', EXAMPLE_PORT: '0' }
  const child = spawn(process.execPath, ['dist/cli/index.js', 'serve'], {
    env: { ...process.env, ...ports, DATA_DIR: dataDir, DATABASE_URL: 'pglite:memory', LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let ready: { gateway_url: string; auth_url: string } | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{')) {
      ready = JSON.parse(line)
      break
    }
  }
  if (ready === undefined)
    throw new Error('the gateway ended before it was ready; npm run build, then try serve by hand')
  child.stdout.resume()
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-admin',
    client_secret: 'demo-admin-secret',
  })
  const answer = await fetch(`${ready.auth_url}/protocol/openid-connect/token`, {
    method: 'POST',
    body: form,
  })
  return {
    url: ready.gateway_url,
    token: ((await answer.json()) as { access_token: string }).access_token,
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

interface Figures {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

async function shoot(options: autocannon.Options, name: string): Promise<Figures> {
  const result = await autocannon(options)
  const wrong = result.mismatches + result.non2xx + result.errors + result.timeouts
  if (wrong > 0) throw new Error(`${name}: ${wrong} wrong answers, the run does not count`)
  return { requestsPerSecond: result.requests.average, p50Ms: result.latency.p50, p99Ms: result.latency.p99 }
}

async function loadCase(
  gateway: Gateway,
  { name, request, holds }: LoadCase,
  seconds: number,
): Promise<Figures> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` }
  const options = {
    url: `${gateway.url}${request.path}`,
    method: request.method,
    headers,
    connections: CONNECTIONS,
  }
  const body = request.body === undefined ? {} : { body: request.body }
  const verifyBody = (text: unknown): boolean => String(text).includes(holds)
  await shoot({ ...options, ...body, duration: 1, verifyBody }, name)
  return shoot({ ...options, ...body, duration: seconds, verifyBody }, name)
}

async function loadBare(seconds: number): Promise<Figures> {
  const server = await startEchoServer('bare')
  try {
    const options = {
      url: `http://127.0.0.1:${server.port}/`,
      method: 'POST',
      headers: HEADERS,
      body: BODY,
      connections: CONNECTIONS,
    } as const
    await shoot({ ...options, duration: 1, expectBody: BODY }, 'bare')
    return await shoot({ ...options, duration: seconds, expectBody: BODY }, 'bare')
  } finally {
    server.stop()
  }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!
}

async function main(): Promise<void> {
  const [rounds = '3', seconds = '3'] = process.argv.slice(2)
  const gateway = await startGateway()
  const runs = new Map<string, Figures[]>()
  const note = (name: string, figures: Figures): void =>
    void runs.set(name, [...(runs.get(name) ?? []), figures])
  try {
    for (let round = 0; round < Number(rounds); round++) {
      note('bare uWS POST', await loadBare(Number(seconds)))
      for (const one of CASES) note(one.name, await loadCase(gateway, one, Number(seconds)))
    }
  } finally {
    await gateway.stop()
  }
  const bare = median(runs.get('bare uWS POST')!.map(run => run.requestsPerSecond))
  console.log(
    `${'case'.padEnd(24)}${'req/s'.padStart(10)}${'of bare'.padStart(9)}${'p50 ms'.padStart(9)}${'p99 ms'.padStart(9)}`,
  )
  for (const [name, figures] of runs) {
    const rate = median(figures.map(run => run.requestsPerSecond))
    const p50 = median(figures.map(run => run.p50Ms))
    const p99 = median(figures.map(run => run.p99Ms))
    console.log(
      `${name.padEnd(24)}${rate.toFixed(0).padStart(10)}${(rate / bare).toFixed(2).padStart(9)}${p50.toFixed(2).padStart(9)}${p99.toFixed(2).padStart(9)}`,
    )
  }
}

await main()
