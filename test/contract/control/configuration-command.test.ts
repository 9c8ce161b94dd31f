/** `toolgate config` against a control plane over HTTP: files in, YAML out, and what the exit codes mean. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { runToolgate } from '../../fixtures/command.ts'
import { openPlane, type Plane, populate } from './plane.ts'
import { type Served, serve } from './serve.ts'

const TREE = `apiVersion: toolgate.dev/v1
kind: Configuration
owner: team-orders
tenants:
  acme:
    apis:
      /stock:
        name: Stock
        upstream_url: http://127.0.0.1:9
        spec: {from_file: specs/stock.yaml}
    webhooks:
      billing:
        url: https://hooks.example/billing
        events: ["*"]
        secret: {from: BILLING_SECRET}
`
const SPEC = 'openapi: 3.1.0\ninfo: {title: Stock, version: "1"}\nx-exact: 12345678901234567890\npaths: {}\n'
const SECRET = 'a secret of thirty-two characters or more'

describe('toolgate config', () => {
  let plane: Plane
  let served: Served
  let dir: string
  let file: string
  let env: Record<string, string>
  const run = (line: string, more: Record<string, string> = {}) =>
    runToolgate(['config', ...line.split(' ')], { ...env, ...more })

  beforeAll(async () => {
    plane = await openPlane()
    await populate(plane)
    served = await serve(plane.control)
    dir = mkdtempSync(join(tmpdir(), 'toolgate-config-'))
    mkdirSync(join(dir, 'specs'))
    file = join(dir, 'orders.yaml')
    writeFileSync(file, TREE)
    writeFileSync(join(dir, 'specs/stock.yaml'), SPEC)
    env = { API_URL: served.url, TOOLGATE_TOKEN: 'platform', BILLING_SECRET: SECRET }
  })
  afterAll(async () => {
    expect(plane.faults).toEqual([])
    await served.close()
    await plane.close()
    rmSync(dir, { recursive: true, force: true })
  })

  it('follows no cluster that cannot be listed: a message without a stack, and 1', async () => {
    const kubeconfig = join(dir, 'kubeconfig')
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }]
    // nothing listens on port 9
    const clusters = [{ name: 'c', cluster: { server: 'https://127.0.0.1:9' } }]
    const users = [{ name: 'u', user: {} }]
    const content = { apiVersion: 'v1', kind: 'Config', clusters, users, contexts, 'current-context': 'c' }
    writeFileSync(kubeconfig, JSON.stringify(content))
    const followed = await run('follow', {
      KUBECONFIG: kubeconfig,
      POD_NAMESPACE: 'toolgate',
      POD_NAME: 'one',
    })
    expect(followed.code).toBe(1)
    expect(followed.err).toMatch(/gatewayinstances cannot be listed: .*Check KUBECONFIG/)
    expect(followed.err).not.toContain('    at ')
    writeFileSync(kubeconfig, 'clusters: [')
    const broken = await run('follow', { KUBECONFIG: kubeconfig, POD_NAMESPACE: 'toolgate', POD_NAME: 'one' })
    expect(broken.code).toBe(1)
    expect(broken.err).toContain('KUBECONFIG')
    expect(broken.err).not.toContain('    at ')
  })

  it('refuses an address with a password, and does not repeat it', async () => {
    const { host } = new URL(served.url)
    for (const [line, more] of [
      [`diff ${file} --url http://user:canary@${host}`, {}],
      [`diff ${file}`, { API_URL: `http://canary@${host}` }],
    ] as const) {
      const { code, out, err } = await run(line, more)
      expect(code).toBe(1)
      expect(err).toContain('contains a user name or password. Remove them from --url or API_URL')
      expect(out + err).not.toContain('canary')
    }
  })

  it('shows, applies and exports a tree', async () => {
    const before = await run(`diff ${dir} --exit-code`)
    expect([before.code, before.err]).toEqual([1, ''])
    expect(before.out).toContain('+ tenants/acme/apis/stock\n    name: "Stock"\n')
    expect(before.out).toContain('2 to create, 0 to change, 0 to delete.')
    const applied = await run(`apply ${dir}`)
    expect([applied.code, applied.err]).toEqual([0, ''])
    expect(applied.out).not.toContain(SECRET)
    expect(await run(`diff ${file} --exit-code`)).toMatchObject({
      code: 0,
      out: '0 to create, 0 to change, 0 to delete.\n',
    })
    const exported = await run('export --owner team-orders')
    expect(exported.out).toContain('x-exact: 12345678901234567890\n')
    expect(parse(exported.out).tenants.acme.webhooks).toEqual({
      billing: { url: 'https://hooks.example/billing', events: ['*'], secret: { from: 'BILLING_SECRET' } },
    })
    const copy = join(dir, 'specs/copy.yaml')
    writeFileSync(copy, exported.out)
    expect((await run(`diff ${copy} --exit-code`)).code).toBe(0)
  })

  it('shows what was changed outside of `config apply`, and what is not in the files', async () => {
    await run(`apply ${file}`)
    const list = await plane.call('admin', 'GET', '/v1/tenants/acme/apis?q=/stock')
    await plane.call('admin', 'PATCH', `/v1/tenants/acme/apis/${list.body.items[0].id}`, { version: 'v7' })
    const { out } = await run(`diff ${file}`)
    expect(out).toContain('~ tenants/acme/apis/stock\n    version: "v7" → "v1"\n')
    expect(out).toContain(
      '! tenants/acme/apis/stock version was changed outside of `config apply`: "v1" → "v7"',
    )
    const refused = await run(`apply ${file}`)
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('tenants/acme/apis/stock/version was changed outside of `config apply`.'),
    ])
    expect((await run(`apply ${file} --overwrite-drift`)).code).toBe(0)
    const empty = join(dir, 'specs/empty.yaml')
    writeFileSync(empty, TREE.split('tenants:')[0]!)
    expect((await run(`diff ${empty}`)).out).toContain(
      '? tenants/acme/apis/stock is not in the files and stays unchanged; use --prune to delete this resource',
    )
    const pruned = await run(`apply ${empty} --prune --json`)
    expect(JSON.parse(pruned.out).changes).toHaveLength(2)
  })

  it.each([
    [
      'a field that is not known',
      'tenants: {acme: {apis: {/x: {nam: X}}}}',
      'tenants.acme.apis./x.nam is not a known field.',
    ],
    ['a path without slash', 'tenants: {acme: {apis: {x: {name: X}}}}', 'tenants.acme.apis.x'],
    ['two keys of one name', 'plans: {a: {name: A}, a: {name: B}}', ':3: Map keys must be unique'],
    [
      'a secret in the clear',
      'tenants: {acme: {webhooks: {w: {secret: abc}}}}',
      'tenants.acme.webhooks.w.secret',
    ],
    [
      'a document that does not exist',
      'tenants: {acme: {apis: {/x: {spec: {from_file: no.yaml}}}}}',
      'no.yaml cannot be read: ENOENT. Check the path and its permissions.',
    ],
  ])('refuses %s, naming it', async (_, text, message) => {
    const wrong = join(dir, 'specs/wrong.yaml')
    writeFileSync(wrong, `apiVersion: toolgate.dev/v1\nkind: Configuration\n${text}\n`)
    const { code, err } = await run(`validate ${wrong}`)
    expect(code).toBe(1)
    expect(err).toContain(message)
    expect(JSON.parse((await run(`validate ${wrong} --json`)).out)).toMatchObject({ valid: false })
  })

  it('refuses two files with the same resource, and files of two owners', async () => {
    const other = join(dir, 'specs/other.yaml')
    writeFileSync(other, TREE.replace('specs/', ''))
    expect((await run(`validate ${file} ${other}`)).err).toContain(
      'and an earlier file both define tenants/acme/apis//stock. Remove one of the two definitions.',
    )
    writeFileSync(other, 'apiVersion: toolgate.dev/v1\nkind: Configuration\nowner: team-b\n')
    expect((await run(`validate ${file} ${other}`)).err).toContain(
      'differs from the owner in the other files',
    )
    expect((await run(`validate ${file}`)).code).toBe(0)
  })

  it('says what is missing: token, control plane, right', async () => {
    expect(await runToolgate(['config', 'export'], {})).toMatchObject({
      code: 78,
      err: expect.stringContaining('TOOLGATE_TOKEN'),
    })
    expect(await runToolgate(['config', 'export'], { TOOLGATE_CLIENT_ID: 'ci' })).toMatchObject({
      code: 78,
      err: expect.stringContaining('(missing: TOOLGATE_CLIENT_SECRET, AUTH_ISSUER)'),
    })
    expect(await run('export', { API_URL: 'http://127.0.0.1:9' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('http://127.0.0.1:9 did not respond: '),
    })
    expect(await run('export', { TOOLGATE_TOKEN: 'devops' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('403 forbidden'),
    })
  })

  it('ships the schema of the tree, which accepts what the endpoint accepts', async () => {
    const { out } = await run('schema')
    expect(JSON.parse(readFileSync('deploy/configuration.schema.json', 'utf8'))).toEqual(JSON.parse(out))
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(out))
    expect(validate(parse(TREE)), JSON.stringify(validate.errors)).toBe(true)
    expect(validate(parse(TREE.replace('owner: team', 'team: team')))).toBe(false)
    const exported = parse((await run('export')).out)
    expect(validate(exported), JSON.stringify(validate.errors)).toBe(true)
  })
})
