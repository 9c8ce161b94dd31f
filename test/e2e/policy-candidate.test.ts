/** A candidate that is evaluated beside the live bundle of a running gateway, its promotion, and a tenant's bundle on top. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { unpack } from '../../src/policy/archive.ts'
import { BUNDLE_LIMITS, readBundle } from '../../src/policy/bundle.ts'
import { type Deployment, deploy, type ReadResponse, read, shownFaults } from '../fixtures/deployment.ts'
import { altered, manifestWith, SHIPPED } from '../fixtures/policy/inputs.ts'

const dir = mkdtempSync(join(tmpdir(), 'policy-candidate-'))
const live = join(dir, 'bundle.tar.gz')
const candidate = join(dir, 'candidate.tar.gz')
const tenants = join(dir, 'tenants')
let gateway: Deployment
let admin: string
let viewer: string
let agent: string

/** The shipped bundle with other data. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the policies' data hold
function changed(revision: string, change: (data: any) => void): Buffer {
  const data = JSON.parse(
    Buffer.from(unpack(readFileSync(SHIPPED), BUNDLE_LIMITS).get('data.json')!).toString(),
  )
  change(data.toolgate)
  const manifest = manifestWith(content => {
    content.revision = revision
  })
  return altered({ '.manifest': manifest, 'data.json': JSON.stringify(data) })
}

const status = async () =>
  (await read(await fetch(`${gateway.url}/admin/policy`, { headers: { authorization: `Bearer ${admin}` } })))
    .json
const promote = () => gateway.post('/admin/policy/promote', {}, admin)
/** The plans of these callers take five a second, which a quick machine uses up: then it waits for `Retry-After`. */
async function product(token: string): Promise<ReadResponse> {
  const call = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
  const response = await gateway.post('/mcp/v1/tools/invoke', call, token)
  if (response.status !== 429) return response
  await sleep(Number(response.headers.get('retry-after')) * 1000)
  return product(token)
}
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 50 })

beforeAll(async () => {
  cpSync(fileURLToPath(SHIPPED), live)
  mkdirSync(tenants)
  gateway = await deploy({
    POLICY_BUNDLE: live,
    POLICY_SHADOW: candidate,
    POLICY_TENANTS: tenants,
    POLICY_MAX_FLIPS: '1',
    POLICY_POLL: '20ms',
  })
  admin = await gateway.token('demo-admin')
  viewer = await gateway.token('demo-viewer')
  agent = await gateway.token('demo-agent')
})
afterAll(async () => {
  await gateway?.stop()
  rmSync(dir, { recursive: true, force: true })
})

describe('a candidate', { timeout: 60_000 }, () => {
  it('that is not there is not promoted', async () => {
    expect(await promote()).toMatchObject({ status: 409, json: { error: 'not_promoted' } })
  })

  it('decides aside and only counts; with too many flips it is not promoted', async () => {
    writeFileSync(
      candidate,
      changed('lenient', ({ operations }) => {
        operations['tools.call'] = { all: ['read'] }
      }),
    )
    await eventually(async () => expect((await status()).candidate.revision).toBe('lenient'))
    for (let n = 0; n < 3; n++) expect((await product(viewer)).status).toBe(403)
    await eventually(async () =>
      expect((await status()).candidate).toMatchObject({
        flipped: 3,
        failed: 0,
        flips: [
          {
            direction: 'deny→allow',
            rule: 'insufficient_scope',
            resource: 'shop_getProduct',
            consumer: 'demo-viewer',
            count: 3,
          },
        ],
      }),
    )
    const refused = await promote()
    expect(refused.status).toBe(409)
    expect(refused.json.message).toMatch(/3 of \d+ decisions would change; POLICY_MAX_FLIPS allows 1\./)
    expect((await product(viewer)).status).toBe(403)
  })

  it('that changes little enough is promoted, and is the file from then on', async () => {
    writeFileSync(
      candidate,
      changed('careful', ({ roles }) => roles.viewer.push('audit')),
    )
    await eventually(async () => expect((await status()).candidate.revision).toBe('careful'))
    expect((await product(agent)).status).toBe(200)
    await eventually(async () => expect((await status()).candidate.compared).toBeGreaterThan(0))
    expect(await promote()).toMatchObject({ status: 200, json: { revision: 'careful' } })
    expect((await product(agent)).headers.get('x-policy-revision')).toBe('careful')
    expect(readBundle(readFileSync(live)).revision).toBe('careful')
  })

  it('can be promoted by an administrator only', async () => {
    expect((await gateway.post('/admin/policy/promote', {}, agent)).status).toBe(403)
  })
})

describe('the bundle of a tenant', { timeout: 60_000 }, () => {
  const own = join(tenants, 'acme.tar.gz')

  it('denies its callers more, and lists no tools for them', async () => {
    writeFileSync(
      own,
      changed('strict', ({ operations }) => {
        operations['tools.call'] = { all: ['nobody'] }
      }),
    )
    await eventually(async () =>
      expect((await status()).tenants).toEqual([{ tenant: 'acme', revision: 'strict' }]),
    )
    expect(await product(agent)).toMatchObject({ status: 403, json: { policy_revision: 'careful+strict' } })
    // listed by the same rules: nothing that its callers could not call
    const listed = await gateway.post('/mcp/v1/tools', {}, agent)
    expect(listed.json.tools).toEqual([])
  })

  it('cannot allow what the platform denies', async () => {
    writeFileSync(
      own,
      changed('generous', ({ roles, operations }) => {
        roles.viewer.push('execute', 'write', 'admin')
        operations['tools.call'] = { all: ['read'] }
      }),
    )
    await eventually(async () =>
      expect((await status()).tenants).toEqual([{ tenant: 'acme', revision: 'generous' }]),
    )
    expect((await product(agent)).status).toBe(200)
    expect((await product(viewer)).status).toBe(403)
  })

  it('that is bad leaves its last one deciding, and shows in the health', async () => {
    writeFileSync(own, 'nonsense')
    const health = async () => (await read(await fetch(`${gateway.url}/mcp/health`))).json
    await eventually(async () =>
      expect(await health()).toMatchObject({ status: 'degraded', parts: ['policies of tenants'] }),
    )
    // the health is public
    expect((await health()).reason).not.toMatch(/acme|gzip/)
    expect(await shownFaults(gateway.url, admin)).toMatchObject({
      'policies of tenants': expect.stringMatching(/policy of tenant acme: .*gzip/),
    })
    expect((await product(agent)).headers.get('x-policy-revision')).toBe('careful+generous')
    rmSync(own)
    await eventually(async () => expect((await health()).status).toBe('healthy'))
    expect((await product(agent)).headers.get('x-policy-revision')).toBe('careful')
  })
})
