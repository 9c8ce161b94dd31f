/**
 * The official conformance suite: all scenarios for 2025-06-18, 2025-11-25 and 2026-07-28, and those of tasks. Each version has a baseline of
 * expected failures with their reasons.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOpa, OPA_VERSION } from '../../src/policy/workshop/opa.ts'
import { deployConformance } from '../fixtures/conformance/deploy.ts'
import type { Deployment } from '../fixtures/deployment.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { startTokenProxy, type TokenProxy } from '../fixtures/token-proxy.ts'

const TOOLS = resolve('.tools/conformance/node_modules')
const NODE = join(TOOLS, 'node/bin/node')
const COMMAND = join(TOOLS, '@modelcontextprotocol/conformance/dist/index.js')
const opa = await findOpa(resolve('.tools/bin'), process.env)
const missing = (!existsSync(COMMAND) || opa === undefined) && !servicesRequired()
const HINT = `needs the suite (scripts/services.sh conformance) and opa ${OPA_VERSION} (npm run policy:test)`

/** `id: status, message` of each check with FAILURE or WARNING; the suite writes them to a file for each scenario. */
function failedChecks(results: string): readonly string[] {
  return readdirSync(results)
    .flatMap(scenario => JSON.parse(readFileSync(join(results, scenario, 'checks.json'), 'utf8')))
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, status, errorMessage }) => `${id}: ${status}, ${errorMessage}`)
}

describe.skipIf(missing)(`conformance: ${HINT}`, () => {
  let gateway: Deployment
  let proxy: TokenProxy
  const output = mkdtempSync(join(tmpdir(), 'conformance-'))
  beforeAll(async () => {
    if (opa === undefined) throw new Error(HINT)
    gateway = await deployConformance(opa)
    proxy = await startTokenProxy(gateway.url, await gateway.token('demo-admin'))
  }, 300_000)
  afterAll(async () => {
    await proxy?.close()
    await gateway?.stop()
    rmSync(output, { recursive: true, force: true })
  })

  async function runSuite(args: readonly string[]): Promise<{ code: unknown; text: string; why: string }> {
    const results = mkdtempSync(join(output, 'run-'))
    const child = spawn(NODE, [COMMAND, 'server', '--url', `${proxy.url}/mcp`, ...args, '-o', results], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const pipe of [child.stdout, child.stderr]) pipe.on('data', chunk => (text += chunk))
    const code = await new Promise(done => child.once('close', done))
    return { code, text, why: [...failedChecks(results), text.slice(-2000)].join('\n') }
  }

  // the suite counts extensions to no version
  it.each([
    'lifecycle',
    'capability-negotiation',
    'wire-fields',
    'request-state-removal',
    'mrtr-input',
    'request-headers',
    'dispatch-and-envelope',
    'required-task-error',
    'mrtr-composition',
  ])(
    'passes the scenario of tasks: %s',
    async scenario => {
      const { code, text, why } = await runSuite(['--scenario', `tasks-${scenario}`, '--timeout', '100000'])
      expect(text, why).toMatch(/Passed: [1-9]/)
      expect(code, why).toBe(0)
    },
    120_000,
  )

  it.each(['2025-06-18', '2025-11-25', '2026-07-28'])(
    'passes all of %s but for the baseline',
    async version => {
      const baseline = `test/services/conformance-baseline-${version}.yaml`
      const all = ['--suite', 'all', '--spec-version', version, '--expected-failures', baseline]
      const { code, text, why } = await runSuite(all)
      expect(code, why).toBe(0)
      if (version !== '2026-07-28') return
      // the scenario of the version itself is not skipped
      const [, passed] = /server-stateless: (\d+) passed, 0 failed/.exec(text) ?? []
      expect(Number(passed), why).toBeGreaterThanOrEqual(29)
    },
    600_000,
  )
})
