/** What a policy obliges the gateway to, end to end: the page `policies/how-to/oblige.md` followed, built, and served. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { OPA_VERSION } from '../../src/policy/workshop/opa.ts'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { Author, opa } from '../fixtures/policy/author.ts'

const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'

/** Beside the page's: one obligation that no gateway knows. */
const MORE = `
obligations["fly"] := {"high": true} if input.resource.id == "shop_listCustomers"
`

describe.skipIf(missing)(`with opa ${OPA_VERSION} (npm run policy:test installs it)`, () => {
  let gateway: Deployment
  let token: string
  const dir = mkdtempSync(join(tmpdir(), 'policy-obligations-'))

  beforeAll(async () => {
    if (opa === undefined) throw new Error(`opa ${OPA_VERSION} is neither on the PATH nor in .tools/bin`)
    const author = new Author()
    author.follow('oblige')
    author.edit(
      'toolgate/rules/privacy/privacy.rego',
      '\nobligations["limit"]',
      `${MORE}\nobligations["limit"]`,
    )
    const { archive } = await author.build()
    author.leave()
    writeFileSync(join(dir, 'bundle.tar.gz'), archive)
    gateway = await deploy({
      POLICY_BUNDLE: join(dir, 'bundle.tar.gz'),
      DATA_DIR: dir,
      DECISION_LOG_PERCENT: '0',
    })
    token = await gateway.token('demo-admin')
  }, 60_000)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  const call = (name: string, args: object): Promise<ReadResponse> =>
    gateway.post('/mcp/v1/tools/invoke', { name, arguments: args }, token)

  it('redact: the paths leave the response, over REST and JSON-RPC', async () => {
    const order = {
      'Idempotency-Key': 'redact-1',
      customerId: 'K-1',
      lines: [{ productId: 'P-1001', quantity: 1 }],
      shippingAddress: {
        recipient: 'Ada Vega',
        street: 'Lindenallee 7',
        postalCode: '50968',
        city: 'Köln',
        country: 'DE',
      },
    }
    const placed = await call('shop_placeOrder', order)
    expect(placed.status).toBe(200)
    expect(placed.text).toContain('Lindenallee')
    const { id } = JSON.parse(placed.json.content[0].text)
    const seen = await call('shop_getOrder', { orderId: id })
    const over = await gateway.post(
      '/mcp',
      rpc('tools/call', { name: 'shop_getOrder', arguments: { orderId: id } }),
      token,
    )
    for (const result of [seen.json, over.json.result]) {
      expect(JSON.stringify(result)).not.toMatch(/Lindenallee|unitPriceCents/)
      const shown = JSON.parse(result.content[0].text)
      expect(shown).toMatchObject({ id, customerId: 'K-1', lines: [{ productId: 'P-1001', quantity: 1 }] })
      expect(shown).not.toHaveProperty('shippingAddress')
      expect(shown.billingAddress).not.toHaveProperty('street')
    }
  })

  it('redact: a response that is not JSON is withheld', async () => {
    const { json } = await call('shop_getOrder', { orderId: 'O-404404' })
    expect(JSON.stringify(json)).toContain('The gateway removed this part')
  })

  it('limit: so often, then 429 with the time to wait', async () => {
    const product = () => call('shop_getProduct', { productId: 'P-1001' })
    const statuses = []
    for (let n = 0; n < 4; n++) statuses.push((await product()).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    const refused = await product()
    expect(refused.json).toMatchObject({
      error: 'quota_exceeded',
      message: 'Per-minute limit of 3 requests exceeded.',
    })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const quotas = await fetch(`${gateway.url}/admin/quotas`, {
      headers: { authorization: `Bearer ${token}` },
    })
    // the policy limits calls of a consumer; it does not make a second consumer
    expect(((await quotas.json()) as { consumer_id: string }[]).map(row => row.consumer_id)).toEqual([
      'demo-admin',
    ])
  })

  it('log: the decision is kept though no allowed one is sampled', async () => {
    expect((await call('shop_listProducts', {})).status).toBe(200)
    const file = join(dir, 'decisions')
    await vi.waitFor(() => {
      const kept = readdirSync(file).flatMap(name =>
        readFileSync(join(file, name), 'utf8')
          .split('\n')
          .filter(line => line !== ''),
      )
      const allowed = kept.map(line => JSON.parse(line)).filter(entry => entry.allow)
      expect(allowed.map(entry => entry.input.resource.id)).toEqual(['shop_listProducts'])
    }, 15_000)
  })

  it('one that the gateway does not know denies', async () => {
    const { status, json } = await call('shop_listCustomers', {})
    expect(status).toBe(403)
    expect(json.reasons).toMatchObject([
      { code: 'obligation_unmet', message: expect.stringContaining('"fly"') },
    ])
  })
})
