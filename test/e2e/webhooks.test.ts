/** Webhooks of a whole deployment: created over its API, sent by it, retried when its clock says so, drained when it stops, counted in its metrics. */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../contract/webhooks/sending.ts'
import { type Deployment, deploy, type ReadResponse, read } from '../fixtures/deployment.ts'
import { type Receiver, receiver } from '../fixtures/webhook-receivers.ts'

const SECRET = 'the secret of this receiver, long enough'
let dataDir: string
let platform: Deployment
let admin: string
let hook: Receiver
let status = 200
let delayMs = 0

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'toolgate-webhooks-'))
  hook = await receiver(response => {
    setTimeout(() => response.writeHead(status).end('noted'), delayMs)
  })
  platform = await deploy({ DATA_DIR: dataDir, TEST_HOOKS: '1', EXAMPLE: 'false' })
  admin = await platform.token('demo-admin')
})
afterAll(async () => {
  await platform?.stop()
  await hook?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

async function api(method: string, path: string, body?: unknown): Promise<ReadResponse> {
  const response = await fetch(`${platform.running.addresses.api_url}${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return read(response)
}
const metrics = async () => (await fetch(`${platform.running.addresses.metrics_url}/metrics`)).text()

it('refuses an address that no delivery can reach, in every spelling, when it is written', async () => {
  const { items } = (await api('GET', '/v1/tenants')).json as { items: { id: string }[] }
  const all = `/v1/tenants/${items[0]!.id}/webhooks`
  const made = await api('POST', all, { url: hook.url, events: ['webhook.failing'], enabled: false })
  for (const url of [
    'http://169.254.169.254/',
    'http://2852039166/',
    'http://0xa9.0376.43518/',
    'https://10.0.0.1/',
    'http://[::ffff:10.0.0.1]/',
    'http://[fd00::1]/',
    'http://168.63.129.16/',
  ])
    for (const reply of [
      await api('POST', all, { url, events: ['*'] }),
      await api('PATCH', `${all}/${made.json.id}`, { url }),
    ]) {
      expect([url, reply.status, reply.json.error?.details[0]?.field]).toEqual([url, 400, 'url'])
      expect(reply.json.error.details[0].message).toContain('EGRESS_ALLOW')
    }
  // a public address, and a name, which may lead elsewhere by the time of a delivery
  for (const url of ['https://93.184.216.34/', 'https://hooks.invalid/'])
    expect((await api('PATCH', `${all}/${made.json.id}`, { url })).status).toBe(200)
  expect((await api('DELETE', `${all}/${made.json.id}`)).status).toBe(204)
})

it('sends what happens, retries it an hour later by the clock of the tests, and survives a restart', async () => {
  const { items } = (await api('GET', '/v1/tenants')).json as { items: { id: string; name: string }[] }
  const base = `/v1/tenants/${items.find(tenant => tenant.name === 'acme')!.id}`
  const made = await api('POST', `${base}/webhooks`, { url: hook.url, events: ['*'], secret: SECRET })
  expect(made.json).toMatchObject({ enabled: true, has_secret: true, events: ['*'] })
  expect(made.text).not.toContain(SECRET)
  expect(statSync(join(dataDir, 'secrets.key')).mode & 0o777).toBe(0o600)
  const upstream = { name: 'Orders', upstream_url: 'http://127.0.0.1:9/', path: '/orders' }
  const api_id = (await api('POST', `${base}/apis`, upstream)).json.id
  const ask = async (application: string): Promise<string> =>
    (await api('POST', `${base}/subscriptions`, { api_id, plan: 'silver', application })).json.id

  const first = await ask('first')
  await until('the first delivery', () => hook.received.length === 1)
  const [created] = hook.received
  expect(created!.payload).toMatchObject({
    event: 'subscription.created',
    data: { subscription_id: first, plan: 'silver', api_name: 'Orders' },
  })
  const hmac = createHmac('sha256', SECRET).update(created!.raw).digest('hex')
  expect(created!.headers['x-platform-signature']).toBe(`sha256=${hmac}`)

  const shown = async () => (await api('GET', `${base}/webhooks/${made.json.id}/deliveries`)).json.items[0]
  // the receiver has the request before it responds
  await until('its success', async () => (await shown()).status === 'success')

  // Fails, and what is due in a minute is sent after a restart, by a clock that was moved.
  status = 503
  const second = await ask('second')
  await until('the failure', async () => (await shown()).error !== null)
  expect(await shown()).toMatchObject({
    status: 'pending',
    attempt: 1,
    status_code: 503,
    response_body: 'noted',
  })
  for (const counter of ['delivered', 'retries']) {
    const line = new RegExp(`^platform_webhook_${counter}_total 1$`, 'm')
    await until(`the counter of ${counter}`, async () => line.test(await metrics()))
  }
  await platform.stop()
  platform = await deploy({ DATA_DIR: dataDir, TEST_HOOKS: '1', EXAMPLE: 'false' })
  admin = await platform.token('demo-admin')
  expect(hook.received).toHaveLength(2)
  status = 200
  expect((await api('POST', '/test/clock', { advance: '1h' })).status).toBe(200)
  await until('the second attempt', async () => (await shown()).status === 'success')
  expect(hook.received[2]!.raw.equals(hook.received[1]!.raw)).toBe(true)
  expect(hook.received[2]!.payload.data.subscription_id).toBe(second)

  // What is being sent when the deployment stops is written down.
  delayMs = 400
  await ask('third')
  await until('the third delivery', () => hook.received.length === 4)
  await platform.stop()
  platform = await deploy({ DATA_DIR: dataDir, EXAMPLE: 'false' })
  admin = await platform.token('demo-admin')
  expect(await shown()).toMatchObject({ status: 'success', attempt: 1 })
  expect(hook.received).toHaveLength(4)
}, 120_000)
