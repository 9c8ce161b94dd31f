/** The pages of a gateway: under their own host name, in each thread, and nothing else there; not without such a name, and not with a damaged key. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deploy } from '../fixtures/deployment.ts'
import { FREE_PORTS, freePort, freePorts } from '../fixtures/free-ports.ts'
import { localFetch } from '../fixtures/local-fetch.ts'
import { processEnv } from '../fixtures/process-env.ts'
import { readSettings } from '../fixtures/settings.ts'

const BIN = join(import.meta.dirname, '../../dist/cli/index.js')
const SOON = { timeout: 60_000, interval: 20 }

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'toolgate-gateway-pages-'))
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
    return await (await localFetch(url)).text()
  } catch {
    return ''
  }
}

it('serves its pages under their own host name alone, while it still waits for its control plane, also for requests that come together', async () => {
  const [port] = await freePorts(1)
  const child = serveGateway({ GATEWAY_PORT: String(port), LOG_LEVEL: 'silent', WORKERS: '2' })
  const end = once(child, 'exit')
  try {
    const url = `http://localhost:${port}`
    const pagesUrl = `http://pages.localhost:${port}`
    await expect.poll(() => textOf(`${url}/health`), SOON).not.toBe('')
    const pages = await Promise.all(Array.from({ length: 8 }, () => textOf(`${pagesUrl}/console/`)))
    for (const page of pages) expect(page).toContain('<title>')
    expect(new Set(pages).size).toBe(1)
    expect(await textOf(`${pagesUrl}/connections/`)).toContain('<title>')
    const leads = async (at: string, accept = '*/*', method = 'GET') => {
      const { status, headers } = await localFetch(at, { redirect: 'manual', method, headers: { accept } })
      return [status, headers.get('location')]
    }
    expect(await leads(`${pagesUrl}/console`)).toEqual([308, 'console/'])
    for (const host of ['localhost', '127.0.0.1', 'other.localhost'])
      for (const path of ['/console', '/console/session', '/connections/list?tool_set=a%2Fb'])
        for (const method of ['GET', 'POST'])
          expect(await leads(`http://${host}:${port}${path}`, '*/*', method)).toEqual([303, pagesUrl + path])
    for (const path of ['/t/acme/api', '//t/acme/api', '/health', '/mcp', '/oauth/register', '/consoles'])
      expect(await leads(pagesUrl + path)).toEqual([404, null])
    expect(await leads(`${pagesUrl}/`)).toEqual([303, `${pagesUrl}/console/`])
    expect(await leads(`${url}/`, 'text/html')).toEqual([302, `${pagesUrl}/console/`])
    expect(JSON.parse(await textOf(`${url}/`))).toMatchObject({ console: `${pagesUrl}/console/` })
    expect(await textOf(`${url}/`)).not.toContain('127.0.0.1:9')
    // not of the console: the gateway, which has no snapshot
    expect(await leads(`${url}/consoles`)).toEqual([503, null])
    const login = await localFetch(`${pagesUrl}/console/login/demo`, {
      method: 'POST',
      body: '{"client":"demo-admin"}',
    })
    expect(login.status).toBe(404)
  } finally {
    child.kill('SIGTERM')
    await end
  }
}, 120_000)

/** @returns status, Location and body of the response to a request with this `Host` */
function ask(
  port: number,
  host: string,
  path: string,
): Promise<readonly [number, string | undefined, string]> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path, headers: { host }, agent: false },
      async response => {
        let body = ''
        for await (const piece of response.setEncoding('utf8')) body += piece
        resolve([response.statusCode!, response.headers.location, body])
      },
    )
    sent.on('error', reject).end()
  })
}

describe.each(['all', 'gateway'])('with a public address and ROLE=%s', ROLE => {
  const follower = {
    ROLE,
    AUTH_ISSUER: 'http://127.0.0.1:9/realms/none',
    CONTROL_PLANE_URL: 'http://127.0.0.1:9',
    GATEWAY_CLIENT_ID: 'gateway',
    GATEWAY_CLIENT_SECRET: 'secret',
  }
  const paths = ROLE === 'all' ? ['/connections/'] : ['/connections/', '/console/']

  async function serve(env: Record<string, string>) {
    const port = await freePort()
    const given = { GATEWAY_URL: 'https://gw.example', GATEWAY_PORT: String(port), ...env }
    return { port, ...(await deploy(ROLE === 'all' ? given : { ...follower, ...given })) }
  }

  it('serves no page without a host name for them, and says what to set', async () => {
    const { port, stop } = await serve({})
    try {
      for (const host of ['gw.example', 'localhost', 'pages.localhost'])
        for (const path of paths)
          expect(await ask(port, host, path)).toEqual([
            404,
            undefined,
            expect.stringContaining('Set PAGES_URL'),
          ])
    } finally {
      await stop()
    }
  })

  it('serves them under the host name, which a proxy may pass with any port, and leads there', async () => {
    const { port, stop } = await serve({ PAGES_URL: 'https://pages.example:8443' })
    try {
      for (const path of paths) {
        for (const host of ['pages.example', 'pages.example:8443', 'Pages.Example:443'])
          expect(await ask(port, host, path)).toEqual([200, undefined, expect.stringContaining('<title>')])
        for (const host of ['gw.example', 'localhost'])
          expect(await ask(port, host, path)).toEqual([303, `https://pages.example:8443${path}`, ''])
      }
      for (const path of ['/t/acme/api', '/health', '/mcp'])
        expect((await ask(port, 'pages.example', path))[0]).toBe(404)
      expect((await ask(port, 'gw.example', '/health'))[0]).toBe(200)
    } finally {
      await stop()
    }
  })
})

it.each(['https://gw.example:444', 'http://127.0.0.1:8080', 'http://[::1]:8080'])(
  'does not start with PAGES_URL=%s, under whose host APIs are served',
  PAGES_URL => {
    const env = { GATEWAY_URL: 'https://gw.example', PAGES_URL }
    expect(() => readSettings(env)).toThrow(/PAGES_URL has the host .*Use another host name/)
  },
)

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
