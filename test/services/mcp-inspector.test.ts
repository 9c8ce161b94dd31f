/** The Inspector's command line over HTTP and SSE, at both paths: it lists the tools and calls one. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'

const NODE = resolve('.tools/conformance/node_modules/node/bin/node')
const INSPECTOR = resolve(
  '.tools/inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
)
const missing = (!existsSync(INSPECTOR) || !existsSync(NODE)) && !servicesRequired()

describe.skipIf(missing)('the Inspector (brought by scripts/services.sh conformance inspector)', () => {
  let gateway: Deployment
  let token: string
  const home = mkdtempSync(join(tmpdir(), 'inspector-'))
  beforeAll(async () => {
    gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
    token = await gateway.token('demo-agent')
  })
  afterAll(async () => {
    await gateway?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  async function inspect(path: string, transport: string, ...args: readonly string[]): Promise<string> {
    const target = [INSPECTOR, '--cli', `${gateway.url}${path}`, '--transport', transport]
    const header = ['--header', `Authorization: Bearer ${token}`]
    const child = spawn(NODE, [...target, ...header, ...args], {
      env: { ...process.env, HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    let errors = ''
    child.stdout.on('data', chunk => (out += chunk))
    child.stderr.on('data', chunk => (errors += chunk))
    const code = await new Promise(done => child.once('close', done))
    expect(code, `${errors}${out}`.slice(-3000)).toBe(0)
    return out
  }

  it.each([
    ['/mcp', 'http'],
    ['/mcp/sse', 'http'],
    ['/mcp', 'sse'],
    ['/mcp/sse', 'sse'],
  ])(
    'at %s over %s lists the tools and calls one',
    async (path, transport) => {
      const listed = JSON.parse(await inspect(path, transport, '--method', 'tools/list'))
      expect(listed.tools.map((tool: { name: string }) => tool.name)).toContain('shop_listProducts')
      const call = ['--method', 'tools/call', '--tool-name', 'shop_listProducts', '--tool-arg', 'limit=1']
      const called = JSON.parse(await inspect(path, transport, ...call))
      expect(called).toMatchObject({ isError: false, content: [{ type: 'text' }] })
    },
    60_000,
  )
})
