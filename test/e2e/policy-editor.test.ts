/** Drafts of the policy at a running control plane with the real compiler: errors at their line, tests, recorded decisions, candidate, promotion, return. */
import { execFileSync } from 'node:child_process'
import { constants, cpSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readBundle } from '../../src/policy/bundle.ts'
import { type Deployment, deploy, type ReadResponse, read } from '../fixtures/deployment.ts'
import { opa } from '../fixtures/policy/author.ts'
import { inputOf, SHIPPED } from '../fixtures/policy/inputs.ts'

const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'
const OPERATIONS = 'toolgate/operations/data.yaml'
const MODULE = 'toolgate/rules/night/night.rego'

describe.skipIf(missing)('the policy editor (needs opa: npm run policy:test)', { timeout: 600_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'policy-editor-'))
  const bundle = join(dir, 'bundle.tar.gz')
  let deployment: Deployment
  let api: string
  let admin: string
  let first: string

  beforeAll(async () => {
    cpSync(fileURLToPath(SHIPPED), bundle)
    deployment = await deploy({ POLICY_BUNDLE: bundle, POLICY_MAX_FLIPS: '50', POLICY_POLL: '100ms' })
    api = deployment.running.addresses.api_url!
    admin = await deployment.token('demo-admin')
  }, 600_000)
  afterAll(async () => {
    await deployment?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  async function ask(method: string, path: string, body?: unknown, token = admin): Promise<ReadResponse> {
    const response = await fetch(`${api}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return read(response)
  }
  type Files = { path: string; content: string }[]
  async function sources(): Promise<Files> {
    return (await ask('GET', '/policy')).json.files
  }
  const changed = (files: Files, path: string, change: (text: string) => string): Files =>
    files.map(file => (file.path === path ? { path, content: change(file.content) } : file))
  /** Readers may call: the scope that the denial names is no longer required. */
  const lenient = (files: Files): Files =>
    changed(files, OPERATIONS, text =>
      text.replace('tools.call: {all: [execute]}', 'tools.call: {all: [read]}'),
    )
  async function call(): Promise<number> {
    const viewer = await deployment.token('demo-viewer')
    const body = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
    const { status, headers } = await deployment.post('/mcp/v1/tools/invoke', body, viewer)
    if (status !== 429) return status
    await sleep(Number(headers.get('retry-after')) * 1000)
    return call()
  }

  it('shows what the bundle in force was built from, and that the compiler is there', async () => {
    const { status, json } = await ask('GET', '/policy')
    expect(status, JSON.stringify(json)).toBe(200)
    first = readBundle(readFileSync(bundle)).revision
    expect(json).toMatchObject({ revision: first, read_only: null, candidate: null })
    expect(json.compiler).toMatchObject({ available: true, hint: null })
    const paths = json.files.map(({ path }: Files[number]) => path)
    expect(paths).toEqual(expect.arrayContaining([OPERATIONS, 'toolgate/toolgate_test.rego']))
  })

  it('places errors at their line, and refuses functions of the network', async () => {
    const files = await sources()
    const broken = [...files, { path: MODULE, content: 'package toolgate.rules.night\n\ndeny if {\n' }]
    const { json } = await ask('POST', '/policy/check', { files: broken })
    expect(json).toMatchObject({ revision: null, comparison: null })
    expect(json.errors[0]).toMatchObject({ file: MODULE, row: 4 })
    for (const expression of [
      'http.send({"method": "GET", "url": "http://127.0.0.1/"}).status_code == 200',
      'opa.runtime().env.PATH != ""',
      'net.lookup_ip_addr("localhost") != set()',
    ]) {
      const content = `package toolgate.rules.night\n\nx if ${expression}\n`
      const refused = await ask('POST', '/policy/check', { files: [...files, { path: MODULE, content }] })
      expect(refused.json.errors).toEqual([
        expect.objectContaining({
          file: MODULE,
          row: 3,
          message: expect.stringContaining('undefined function'),
        }),
      ])
    }
  })

  it('opens no file for a draft', async () => {
    // the open of a pipe for reading waits for a writer
    const pipe = join(dir, 'pipe')
    execFileSync('mkfifo', [pipe])
    const files = await sources()
    const schema = `{"$ref": "file://${pipe}"}`
    const metadata = (text: string) => `# METADATA\n# title: x\n# description: x\n# schemas:\n#   - ${text}\n`
    const before = performance.now()
    for (const content of [
      `package toolgate.rules.night\n\nx if json.verify_schema(${schema})[0]\n`,
      `package toolgate.rules.night\n\nx if json.match_schema(input, ${schema})[0]\n`,
      `${metadata(`input: ${schema}`)}package toolgate.rules.night\n\nx if input.subject.id == "a"\n`,
      `package toolgate.rules.night\n\n${metadata(`input.subject: {"items": [${schema}]}`)}x if input.subject.id == "a"\n`,
    ]) {
      const { json } = await ask('POST', '/policy/check', { files: [...files, { path: MODULE, content }] })
      expect(json.errors[0], content).toMatchObject({
        file: MODULE,
        message: expect.stringMatching(/undefined function json|METADATA contains its own schema/),
      })
    }
    expect(performance.now() - before).toBeLessThan(15_000)
    expect(() => openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)).toThrow('ENXIO')
  })

  it('takes no path outside of the policies', async () => {
    for (const path of ['../x.rego', '/etc/x.rego', 'a/../../x.rego', 'data.txt', 'schemas/input.json']) {
      const { status, json } = await ask('POST', '/policy/check', { files: [{ path, content: '' }] })
      expect([path, status]).toEqual([path, 400])
      expect(json.error.details[0].field).toContain('path')
    }
  })

  it('runs the tests, and makes recorded decisions again', async () => {
    expect(await call()).toBe(403)
    const { json } = await ask('POST', '/policy/check', {
      files: changed(lenient(await sources()), 'toolgate/rules/scope/scope_test.rego', text => {
        return `${text}\ntest_never if 1 == 2\n`
      }),
    })
    expect(json.errors).toEqual([])
    expect(json.tests.length).toBeGreaterThan(50)
    const failed = json.tests.filter(({ passed }: { passed: boolean }) => !passed)
    expect(failed).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'test_never', file: 'toolgate/rules/scope/scope_test.rego' }),
      ]),
    )
    expect(json.comparison).toMatchObject({ revision: first, failed: 0 })
    expect(json.comparison.flips).toEqual([
      expect.objectContaining({
        direction: 'deny→allow',
        rule: 'insufficient_scope',
        resource: 'shop_getProduct',
        consumer: 'demo-viewer',
      }),
    ])
  })

  it('evaluates an input with the draft, and with the policy in force', async () => {
    const input = inputOf({ caller: { scopes: ['read'] } })
    const now = (await ask('POST', '/policy/check', { input })).json
    expect(now.decision).toMatchObject({ allow: false, reasons: [{ code: 'insufficient_scope' }] })
    expect(now.decision.reasons[0].rules[0].file).toBe('toolgate/rules/scope/scope.rego')
    const next = (await ask('POST', '/policy/check', { input, files: lenient(await sources()) })).json
    expect(next.decision).toMatchObject({ allow: true, revision: next.revision })
  })

  it('compares a draft on live traffic, promotes it, and returns to the revision before', async () => {
    const { revision } = (await ask('POST', '/policy/check', { files: lenient(await sources()) })).json
    expect((await ask('POST', '/policy/promote', { revision })).status).toBe(409)
    expect((await ask('POST', '/policy/candidate', { revision: 'unknown' })).status).toBe(409)
    expect((await ask('POST', '/policy/candidate', { revision })).json).toEqual({ revision })
    expect(await call()).toBe(403)
    await expect.poll(async () => (await ask('GET', '/policy')).json.candidate.compared).toBeGreaterThan(0)

    const promoted = await ask('POST', '/policy/promote', { revision })
    expect([promoted.status, promoted.json]).toEqual([200, { revision }])
    expect(await call()).toBe(200)
    expect(readBundle(readFileSync(bundle)).revision).toBe(revision)
    const after = (await ask('GET', '/policy')).json
    expect(after).toMatchObject({ revision, candidate: null })
    expect(after.history.map((kept: { revision: string }) => kept.revision)).toEqual([revision, first])

    expect((await ask('POST', '/policy/rollback', { revision: 'unknown' })).status).toBe(409)
    const returned = await ask('POST', '/policy/rollback', { revision: first })
    expect([returned.status, returned.json]).toEqual([200, { revision: first }])
    expect(await call()).toBe(403)
    expect(readBundle(readFileSync(bundle)).revision).toBe(first)

    const { items } = (await ask('GET', '/audit?action=control.policy.change')).json
    expect(items.map(({ before, after }: { before: object; after: object }) => ({ before, after }))).toEqual([
      { before: { revision }, after: { revision: first } },
      { before: { revision: first }, after: { revision } },
      { before: null, after: { candidate: revision } },
    ])
  })

  it('is not for others than administrators of all tenants', async () => {
    const viewer = await deployment.token('demo-viewer')
    for (const [method, path, body] of [
      ['GET', '/policy', undefined],
      ['POST', '/policy/check', {}],
      ['POST', '/policy/promote', { revision: first }],
      ['POST', '/policy/rollback', { revision: first }],
    ] as const)
      expect((await ask(method, path, body, viewer)).status, path).toBe(403)
  })

  it('leaves no temporary file of a promotion behind', () => {
    expect(existsSync(join(dir, 'bundle.tar.gz.promoted'))).toBe(false)
  })
})
