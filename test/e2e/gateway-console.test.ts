/** The console of a gateway without a control plane in its process: served from its own listener, in each thread, and refused with a damaged key. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FREE_PORTS, freePorts } from '../fixtures/free-ports.ts'
import { processEnv } from '../fixtures/process-env.ts'

const BIN = join(import.meta.dirname, '../../dist/cli/index.js')
const SOON = { timeout: 60_000, interval: 20 }

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'toolgate-gateway-console-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

function serveGateway(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [BIN, 'serve'], {
    env: {
      ...processEnv(),
      DATA_DIR: dataDir,
      ...FREE_PORTS,
      ROLE: 'gateway',
      AUTH_ISSUER: 'http://127.0.0.1:9/realms/none',
      CONTROL_PLANE_URL: 'http://127.0.0.1:9',
      GATEWAY_CLIENT_ID: 'gateway',
      GATEWAY_CLIENT_SECRET: 'secret',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function textOf(url: string): Promise<string> {
  try {
    return await (await fetch(url)).text()
  } catch {
    return ''
  }
}

it('serves the console while the gateway still waits for its control plane, also for requests that come together', async () => {
  const [port] = await freePorts(1)
  const child = serveGateway({ GATEWAY_PORT: String(port), LOG_LEVEL: 'silent', WORKERS: '2' })
  const end = once(child, 'exit')
  try {
    const url = `http://127.0.0.1:${port}`
    await expect.poll(() => textOf(`${url}/health`), SOON).not.toBe('')
    const pages = await Promise.all(Array.from({ length: 8 }, () => textOf(`${url}/console/`)))
    for (const page of pages) expect(page).toContain('<title>')
    expect(new Set(pages).size).toBe(1)
    const redirect = await fetch(`${url}/console`, { redirect: 'manual' })
    expect(redirect.headers.get('location')).toBe('console/')
    const root = await fetch(`${url}/`, { redirect: 'manual', headers: { accept: 'text/html' } })
    expect([root.status, root.headers.get('location')]).toEqual([302, './console/'])
    expect(JSON.parse(await textOf(`${url}/`))).toMatchObject({
      console: `http://localhost:${port}/console/`,
    })
    expect(await textOf(`${url}/`)).not.toContain('127.0.0.1:9')
    // not of the console: the gateway, which has no snapshot
    expect((await fetch(`${url}/consoles`)).status).toBe(503)
    const login = await fetch(`${url}/console/login/demo`, {
      method: 'POST',
      body: '{"client":"demo-admin"}',
    })
    expect(login.status).toBe(404)
  } finally {
    child.kill('SIGTERM')
    await end
  }
}, 120_000)

it('does not start with a damaged key, and names the file', async () => {
  writeFileSync(join(dataDir, 'console.key'), 'not a key')
  const [port] = await freePorts(1)
  const child = serveGateway({ GATEWAY_PORT: String(port) })
  let printed = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', text => (printed += text))
  const [code] = await once(child, 'exit')
  // EX_CONFIG of sysexits(3)
  expect(code).toBe(78)
  expect(printed).toMatch(/console\.key is damaged or contains no key/)
}, 120_000)
