/** A policy that cannot be evaluated denies with 503 and `Retry-After`, on both planes: clients repeat a 503, never a 403. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, type ReadResponse, read } from '../fixtures/deployment.ts'
import { costly } from '../fixtures/policy/inputs.ts'

const dir = mkdtempSync(join(tmpdir(), 'policy-unavailable-'))
const bundle = join(dir, 'bundle.tar.gz')
// hundreds of milliseconds each, where five are allowed
writeFileSync(bundle, costly({ 'tools.call': 3000, 'control.tenants.list': 3000 }))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** A port of the discard service: nothing listens there. */
const NO_SERVER = 'http://127.0.0.1:9/v1/data/toolgate/decision'
const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

describe.each<[string, Record<string, string>]>([
  ['that is too slow', { POLICY_BUNDLE: bundle }],
  ['whose server is unavailable', { POLICY_ENGINE: 'opa-http', POLICY_URL: NO_SERVER }],
])('a policy %s', { timeout: 60_000 }, (_, env) => {
  let gateway: Deployment
  let admin: string
  beforeAll(async () => {
    gateway = await deploy(env)
    admin = await gateway.token('demo-admin')
  }, 120_000)
  afterAll(() => gateway?.stop())

  function expectUnavailable({ status, headers, json }: ReadResponse): void {
    expect(status).toBe(503)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(json).toMatchObject({ error: 'policy_unavailable', reasons: [{ code: 'policy_unavailable' }] })
  }

  it('makes a call 503', async () => {
    expectUnavailable(await gateway.post('/mcp/v1/tools/invoke', CALL, admin))
    expectUnavailable(await gateway.post('/mcp/tools/call', CALL, admin))
  })

  it('makes the list of tools 503, not empty', async () => {
    expectUnavailable(await gateway.post('/mcp/v1/tools', {}, admin))
  })

  it('makes a request of the control plane 503', async () => {
    const response = await fetch(`${gateway.running.addresses.api_url}/v1/tenants`, {
      headers: { authorization: `Bearer ${admin}` },
    })
    const { status, headers, json } = await read(response)
    expect(status).toBe(503)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(json).toMatchObject({ error: { code: 'unavailable', details: [] } })
  })
})
