/** How `toolgate serve` starts and stops, with real processes and signals: readiness, the delay before the drain, what is served meanwhile, and the snapshot on disk. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type FixedBackend, startFixedBackend } from '../fixtures/fixed-backend.ts'
import { FREE_PORTS, freePorts } from '../fixtures/free-ports.ts'
import { type Planes, type Published, publishApi, startPlanes } from '../fixtures/planes.ts'
import { processEnv } from '../fixtures/process-env.ts'

const BIN = join(import.meta.dirname, '../../dist/cli/index.js')
/** As in `src/app/main.ts`. */
const LISTEN_AFTER_MS = 2_000
const DELAY_MS = 3_000
const SOON = { timeout: 60_000, interval: 20 }

let dataDir: string
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'toolgate-start-stop-'))
})
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

function serve(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [BIN, 'serve'], {
    env: { ...processEnv(), LOG_LEVEL: 'silent', DATA_DIR: dataDir, ...FREE_PORTS, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function endOf(
  child: ChildProcess,
): Promise<{ code: number | null; signal: string | null; stderr: string }> {
  let stderr = ''
  child.stderr!.on('data', text => {
    stderr += text
  })
  const [code, signal] = await once(child, 'exit')
  return { code, signal, stderr }
}

/** Status and body of a GET; 0 without a JSON response. */
async function get(url: string): Promise<readonly [number, Record<string, unknown>]> {
  try {
    const response = await fetch(url)
    return [response.status, (await response.json()) as Record<string, unknown>]
  } catch {
    return [0, {}]
  }
}

async function metrics(port: number): Promise<string> {
  try {
    return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  } catch {
    return ''
  }
}

describe('a signal during the start', () => {
  it.each([['SIGTERM'], ['SIGINT']] as const)(
    '%s ends a gateway that waits for its control plane, with exit code 0',
    async signal => {
      const [port] = await freePorts(1)
      const child = serve({
        ROLE: 'gateway',
        GATEWAY_PORT: String(port),
        AUTH_ISSUER: 'http://127.0.0.1:9/realms/none',
        CONTROL_PLANE_URL: 'http://127.0.0.1:9',
        GATEWAY_CLIENT_ID: 'gateway',
        GATEWAY_CLIENT_SECRET: 'secret',
      })
      const end = endOf(child)
      let printed = ''
      child.stdout!.on('data', text => {
        printed += text
      })
      await expect
        .poll(() => get(`http://127.0.0.1:${port}/ready`), SOON)
        .toEqual([503, { status: 'not_ready', waiting_for: ['snapshot', 'signing_keys'] }])
      const [status, health] = await get(`http://127.0.0.1:${port}/mcp/health`)
      expect([status, health.status, health.waiting_for]).toEqual([
        503,
        'degraded',
        ['snapshot', 'signing_keys'],
      ])
      expect((await get(`http://127.0.0.1:${port}/health`))[0]).toBe(200)
      child.kill(signal)
      expect(await end).toMatchObject({ code: 0 })
      expect(printed).toBe('')
    },
    120_000,
  )

  it('ends a gateway while some of its threads start', async () => {
    const [port] = await freePorts(1)
    const child = serve({
      ROLE: 'gateway',
      WORKERS: '4',
      METRICS_PORT: String(port),
      AUTH_ISSUER: 'http://127.0.0.1:9/realms/none',
      CONTROL_PLANE_URL: 'http://127.0.0.1:9',
      GATEWAY_CLIENT_ID: 'gateway',
      GATEWAY_CLIENT_SECRET: 'secret',
    })
    const end = endOf(child)
    // the first thread chooses the port, then the others start
    await expect.poll(() => metrics(port!), SOON).toMatch(/^platform_workers 1$/m)
    child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 0, stderr: '' })
  }, 120_000)

  it('ends a control plane that waits for its database, which health and readiness report', async () => {
    const [port] = await freePorts(1)
    const child = serve({
      ROLE: 'control-plane',
      API_PORT: String(port),
      DATABASE_URL: 'postgres://toolgate@127.0.0.1:9/toolgate',
    })
    const end = endOf(child)
    const url = `http://127.0.0.1:${port}`
    await expect
      .poll(() => get(`${url}/health`), SOON)
      .toMatchObject([
        200,
        { status: 'degraded', database: { status: 'unavailable', reason: 'ECONNREFUSED' } },
      ])
    expect(await get(`${url}/ready`)).toEqual([
      503,
      { status: 'not_ready', waiting_for: ['database', 'first_publication'] },
    ])
    const refused = await fetch(`${url}/v1/tenants`)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 0 })
  }, 120_000)

  it('Ctrl-C in a terminal where npm runs it ends all processes, without a report of an error', async () => {
    // a terminal sends SIGINT to each process of the foreground group; `npm start` would build first, while other tests run what is built
    const child = spawn('npm', ['exec', '--no', '--', 'toolgate', 'serve'], {
      cwd: join(import.meta.dirname, '../..'),
      env: { ...process.env, LOG_LEVEL: 'silent', DATA_DIR: join(dataDir, 'npm'), ...FREE_PORTS },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const end = endOf(child)
    let out = ''
    child.stdout!.on('data', chunk => {
      out += chunk
    })
    await vi.waitFor(() => expect(out).toContain('{"ready":true'), SOON)
    process.kill(-child.pid!, 'SIGINT')
    expect((await end).stderr).not.toMatch(/npm (ERR!|error)/)
    // no process of the group is left
    await vi.waitFor(() => expect(() => process.kill(-child.pid!, 0)).toThrow('ESRCH'), SOON)
  }, 120_000)

  it('a database address that is malformed ends the start with exit code 78', async () => {
    const end = await endOf(serve({ ROLE: 'control-plane', DATABASE_URL: 'mysql://nowhere' }))
    expect(end).toMatchObject({ code: 78, stderr: expect.stringContaining('DATABASE_URL') })
  }, 120_000)
})

describe.each([['1'], ['2']])('with WORKERS=%s', workers => {
  let planes: Planes
  let backend: FixedBackend
  let published: Published

  beforeAll(async () => {
    backend = await startFixedBackend('served')
    planes = await startPlanes({ WORKERS: workers, SHUTDOWN_DELAY: `${DELAY_MS}ms` })
    published = await publishApi(planes, 'acme-life', backend.url)
    await vi.waitFor(async () => expect(await call()).toBe(200), SOON)
  }, 180_000)
  afterAll(async () => {
    await planes?.stop()
    await backend?.close()
  })

  let lastText = ''

  async function call(): Promise<number> {
    try {
      const response = await fetch(`${planes.url}/t/acme-life/echo`, {
        headers: { 'x-api-key': published.key },
      })
      lastText = await response.text()
      return response.status
    } catch {
      return 0
    }
  }
  const ready = (url = planes.url) => get(`${url}/ready`)

  it('a gateway serves every call during SHUTDOWN_DELAY while it reports that it is draining, and ends its streams with a retry time', async () => {
    const token = await planes.token('demo-agent')
    const stream = await fetch(`${planes.url}/mcp/sse`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` },
    })
    expect(stream.status).toBe(200)
    const events = stream.text()
    const signalledAt = performance.now()
    // a response that has come by then was sent before the delay was over
    const isDelayed = () => performance.now() - signalledAt < DELAY_MS
    const endedAt = planes.gateway.end('SIGTERM').then(() => performance.now())
    let served = 0
    let shown: Awaited<ReturnType<typeof get>>[] = []
    for (;;) {
      const status = await call()
      if (!isDelayed()) break
      expect(status).toBe(200)
      served++
      if (shown.length === 0) {
        const seen = [await ready(), await get(`${planes.url}/mcp/health`)]
        if (seen[0]![0] === 503 && isDelayed()) shown = seen
      } else await sleep(20)
    }
    expect(served).toBeGreaterThan(0)
    expect(shown).toMatchObject([
      [503, { status: 'draining', waiting_for: ['draining'] }],
      [503, { status: 'draining' }],
    ])
    expect((await endedAt) - signalledAt).toBeGreaterThan(DELAY_MS)
    expect(await events).toMatch(/^retry: \d+$/m)
  }, 120_000)

  it('a gateway that starts again applies the snapshot on disk before its port opens', async () => {
    const beganAt = performance.now()
    const starting = planes.gateway.start()
    const seen = new Set<string>()
    let isReady = false
    void starting.then(() => {
      isReady = true
    })
    const look = async () => {
      const status = await call()
      // without what differs from call to call
      const { request_id: _, ...shown } = status === 0 || status === 200 ? {} : JSON.parse(lastText)
      seen.add(`call ${status} ${JSON.stringify(shown)}`)
    }
    while (!isReady) await look()
    await starting
    await look()
    // a start that takes very long opens the port before, so that an orchestrator gets a response
    if (performance.now() - beganAt > LISTEN_AFTER_MS)
      for (const one of seen) if (one.startsWith('call 503 {"error":"not_ready"')) seen.delete(one)
    expect([...seen].sort()).toEqual(['call 0 {}', 'call 200 {}'])
  }, 120_000)

  it('a flipped bit in the snapshot on disk is reported, and nothing is served from it', async () => {
    await planes.gateway.end('SIGKILL')
    const path = join(planes.gateway.dataDir, 'control-share.ndjson')
    const bytes = readFileSync(path)
    bytes[Math.floor(bytes.length / 2)]! ^= 4
    writeFileSync(path, bytes)
    await planes.control.end('SIGKILL')
    const starting = planes.gateway.start()
    await expect.poll(ready, SOON).toMatchObject([503, { waiting_for: ['snapshot'] }])
    expect(await call()).toBe(503)
    const health = () => get(`${planes.url}/mcp/health`)
    // a start that takes very long opens the port before it reads the snapshot
    await expect.poll(async () => (await health())[1].parts ?? [], SOON).toContain('saved snapshot')
    const [status, shown] = await health()
    expect([status, shown.status]).toEqual([503, 'degraded'])
    // the health is public
    expect(JSON.stringify(shown)).not.toContain('control-share.ndjson')
    await planes.control.start()
    await starting
    const metrics = await (await fetch(`${planes.gateway.addresses.metrics_url}/metrics`)).text()
    expect(metrics).toMatch(/^platform_snapshot_file_damaged_total 1$/m)
    expect(await call()).toBe(200)
    await expect.poll(async () => (await get(`${planes.url}/mcp/health`))[1].status, SOON).toBe('healthy')
  }, 180_000)

  it('a second signal ends the process at once', async () => {
    const { pid } = planes.gateway
    const ended = planes.gateway.end('SIGTERM')
    const startedAt = performance.now()
    await expect.poll(ready, SOON).toMatchObject([503, { status: 'draining' }])
    await sleep(600)
    process.kill(pid!, 'SIGTERM')
    await ended
    expect(performance.now() - startedAt).toBeLessThan(DELAY_MS)
  }, 60_000)

  it('a control plane reports that it is draining and serves until the delay is over', async () => {
    const url = planes.control.addresses.api_url
    const ended = planes.control.end('SIGTERM')
    await expect
      .poll(() => ready(url), SOON)
      .toEqual([503, { status: 'draining', waiting_for: ['draining'] }])
    expect((await planes.api('GET', '/tenants')).status).toBe(200)
    await ended
    await planes.control.start()
    expect(await ready(url)).toEqual([200, { status: 'ready' }])
  }, 120_000)
})
