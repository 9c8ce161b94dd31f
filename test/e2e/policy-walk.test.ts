/** The walk in `policies/README.md`, as a new author takes it: its commands after `npm start`, in their order, with what they must say. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { opa, regal } from '../fixtures/policy/author.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const missing = (opa === undefined || regal === undefined) && process.env.REQUIRE_SERVICES !== '1'
const walk = readFileSync(join(ROOT, 'policies/README.md'), 'utf8')
  .split('## The first change')[1]!
  .split('\n## ')[0]!
const commands = [...walk.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(block =>
  block[1]!
    .trim()
    .split('\n')
    .map(line => line.replace(/\s+#.*$/, '')),
)
const snippets = [...walk.matchAll(/```rego\n([\s\S]*?)```/g)].map(match => match[1]!)

/** A clone, as far as the walk touches it: its own policies, the rest by reference. */
const clone = mkdtempSync(join(tmpdir(), 'policy-walk-'))
let gateway: Deployment

interface Said {
  readonly code: number
  readonly text: string
}

function sh(command: string): Promise<Said> {
  const own = command
    .replace('http://localhost:8080', gateway.url)
    // the package's own command, which npx would find in a clone of one's own
    .replace('npx toolgate', 'node dist/cli/index.js')
  const env = { ...process.env, GATEWAY_URL: gateway.url }
  return new Promise(resolve => {
    execFile('bash', ['-c', own], { cwd: clone, env, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({
        code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1,
        text: `${stdout}\n${stderr}`,
      })
    })
  })
}

function edit(path: string, change: (text: string) => string): void {
  const file = join(clone, 'policies', path)
  const before = readFileSync(file, 'utf8')
  const after = change(before)
  expect(after).not.toBe(before)
  writeFileSync(file, after)
}

describe.skipIf(missing)('the walk of a new author (needs opa and regal: npm run policy:test)', () => {
  beforeAll(async () => {
    if (opa === undefined || regal === undefined) throw new Error('opa or regal is not in .tools/bin')
    cpSync(join(ROOT, 'policies'), join(clone, 'policies'), { recursive: true })
    for (const name of ['node_modules', 'package.json', 'dist', 'scripts', 'src', '.tools', 'tsconfig.json'])
      symlinkSync(join(ROOT, name), join(clone, name))
    gateway = await deploy({
      DATA_DIR: join(clone, 'data'),
      POLICY_BUNDLE: join(clone, 'policies/bundle.tar.gz'),
      POLICY_POLL: '50ms',
    })
  }, 60_000)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(clone, { recursive: true, force: true })
  })

  it('has these commands', () => {
    // the first three are what .ci/run and the smoke test begin with
    expect(commands).toEqual([
      'npm ci',
      'npm run build',
      'npm start',
      'npx toolgate demo',
      'npx toolgate policy replay',
      'npm run policy:test',
      'npm run policy:test',
      'npx toolgate policy build --bundle candidate.tar.gz',
      'npx toolgate policy diff candidate.tar.gz',
      'npm run policy:build',
      'curl -s http://localhost:8080/mcp/health',
    ])
    expect(snippets.length).toBe(3)
  })

  it('leads from a change to a gateway that serves it', { timeout: 300_000 }, async () => {
    const [, , , demo, replay, test, again, build, diff, ship, health] = commands
    expect(await sh(demo!)).toMatchObject({ code: 0 })
    await vi.waitFor(async () => {
      const { code, text } = await sh(replay!)
      expect(text).toMatch(/0 of [1-9]\d* decisions differ from the log/)
      expect(code).toBe(0)
    }, 90_000)

    const [exception, rule, fixed] = snippets
    edit('toolgate/rules/scope/scope.rego', text => text.replace(exception!, '').replace(`\n${rule}`, ''))
    const failing = await sh(test!)
    expect(failing.code).toBe(1)
    expect(failing.text).toContain('data.toolgate.rules.scope_test.test_other_tools_do_not')

    const wrong = fixed!.replace('{"write"}', 'set()')
    edit('toolgate/rules/scope/scope_test.rego', text => text.replace(wrong, fixed!))
    const passing = await sh(again!)
    expect(passing.text.match(/^ok {3}/gm)?.length).toBe(7)
    expect(passing.code).toBe(0)

    expect(await sh(build!)).toMatchObject({
      code: 0,
      text: expect.stringContaining('candidate.tar.gz: revision'),
    })
    const preview = await sh(diff!)
    expect(preview.code).toBe(1)
    expect(preview.text).toMatch(
      /allow→deny +\d+ × insufficient_scope tools\.call shop_placeOrder by demo-agent/,
    )
    // and nothing else
    const flips = preview.text.split('\n').filter(line => /→/.test(line))
    expect(
      flips.every(line => /allow→deny.* insufficient_scope tools\.call shop_\w+ by demo-agent/.test(line)),
    ).toBe(true)

    const shipped = await sh(ship!)
    const revision = /revision ([0-9a-f]{32})/.exec(shipped.text)![1]!
    const token = await gateway.token('demo-agent')
    await vi.waitFor(async () => {
      const listed = await gateway.post('/mcp/v1/tools', {}, token)
      expect(listed.headers.get('x-policy-revision')).toBe(revision)
      expect(listed.text).not.toContain('shop_placeOrder')
    }, 90_000)
    expect((await sh(health!)).text).toContain('"status":"healthy"')
  })
})
