/** The official conformance suite, every scenario, for the versions it knows. Failures that are meant stand in the baseline with their reason. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { startTokenProxy, type TokenProxy } from '../fixtures/token-proxy.ts'

const TOOLS = resolve('.tools/conformance/node_modules')
const NODE = join(TOOLS, 'node/bin/node')
const COMMAND = join(TOOLS, '@modelcontextprotocol/conformance/dist/index.js')
const missing = !existsSync(COMMAND) && !servicesRequired()

describe.skipIf(missing)('conformance (needs the suite: scripts/services.sh conformance)', () => {
  let gateway: Deployment
  let proxy: TokenProxy
  const output = mkdtempSync(join(tmpdir(), 'conformance-'))
  beforeAll(async () => {
    gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
    proxy = await startTokenProxy(gateway.url, await gateway.token('demo-admin'))
  })
  afterAll(async () => {
    await proxy.close()
    await gateway.stop()
    rmSync(output, { recursive: true, force: true })
  })

  it.each(['2025-06-18', '2025-11-25', '2026-07-28'])(
    'passes all of %s but for the baseline',
    async version => {
      const args = [
        COMMAND,
        'server',
        '--url',
        `${proxy.url}/mcp`,
        '--suite',
        'all',
        '--spec-version',
        version,
      ]
      const baseline = `test/services/conformance-baseline-${version}.yaml`
      const child = spawn(NODE, [...args, '--expected-failures', baseline, '-o', output], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let text = ''
      for (const pipe of [child.stdout, child.stderr]) pipe.on('data', chunk => (text += chunk))
      const code = await new Promise(done => child.once('exit', done))
      expect(code, text.slice(-6000)).toBe(0)
    },
    180_000,
  )
})
