/** OpenAPI documents of registered APIs and their state, and events of a deleted tenant, over the control plane of a running deployment. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../contract/webhooks/sending.ts'
import { type Deployment, deploy, type ReadResponse, read } from '../fixtures/deployment.ts'
import { receiver } from '../fixtures/webhook-receivers.ts'

let platform: Deployment
let admin: string
beforeAll(async () => {
  platform = await deploy({ EXAMPLE: 'false' })
  admin = await platform.token('demo-admin')
}, 120_000)
afterAll(() => platform?.stop())

async function api(method: string, path: string, body?: unknown): Promise<ReadResponse> {
  const response = await fetch(`${platform.running.addresses.api_url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return read(response)
}

const anApi = (path: string, spec: unknown) => ({
  name: 'Orders',
  upstream_url: 'http://127.0.0.1:9/',
  path,
  spec,
})
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1' },
  paths: { '/orders': { get: { operationId: 'list', responses: { 200: { description: 'Orders.' } } } } },
}

it.each([
  [{ hello: 1 }, /openapi/i],
  [{ openapi: '9.1.0' }, /9\.1/],
  [{ openapi: '3.1.0', info: {}, paths: [] }, /paths/],
  ['just text', /OpenAPI/],
  ['<html><body>404</body></html>', /HTML/],
  ['{"openapi": "3.1.0", ', /JSON/],
])('a spec that is not OpenAPI is refused at registration: %j', async (spec, reason) => {
  const created = await api('POST', '/tenants/acme/apis', anApi('/refused', spec))
  expect(created.status, created.text).toBe(400)
  expect(created.json.error).toMatchObject({
    code: 'validation_error',
    details: [{ field: 'spec', message: expect.stringMatching(reason) }],
  })
  const whole = await api('POST', '/tenants/acme/apis', anApi('/changed', null))
  const changed = await api('PATCH', `/tenants/acme/apis/${whole.json.id}`, { spec })
  expect([changed.status, changed.json.error?.details[0].field]).toEqual([400, 'spec'])
  await api('DELETE', `/tenants/acme/apis/${whole.json.id}`)
})

it('the state of the document is shown with the API', async () => {
  const none = await api('POST', '/tenants/acme/apis', anApi('/none', null))
  expect(none.json.spec_status).toEqual({ state: 'none', tools: 0, message: null, degraded: null })
  for (const [path, spec] of [
    ['/object', DOCUMENT],
    ['/text', 'openapi: 3.1.0\ninfo: {title: Orders, version: "1"}\npaths: {/a: {get: {operationId: a}}}'],
  ] as const) {
    const created = await api('POST', '/tenants/acme/apis', anApi(path, spec))
    expect(created.json.spec_status).toMatchObject({ state: 'pending', tools: 0 })
    await expect
      .poll(async () => (await api('GET', `/tenants/acme/apis/${created.json.id}`)).json.spec_status)
      .toEqual({ state: 'ready', tools: 1, message: null, degraded: null })
    expect((await api('GET', `/apis/${created.json.id}`)).json.spec_status.state).toBe('ready')
  }
})

it('operations that did not become tools and unresolved references are shown with the API', async () => {
  const get = { operationId: 'broken', parameters: [{ $ref: '#/components/parameters/none' }] }
  const other = { operationId: 'other', responses: { 200: { $ref: 'other.yaml#/ok' } } }
  const spec = { ...DOCUMENT, paths: { ...DOCUMENT.paths, '/a': { get }, '/b': { get: other } } }
  const created = await api('POST', '/tenants/acme/apis', anApi('/degraded', spec))
  await expect
    .poll(async () => (await api('GET', `/apis/${created.json.id}`)).json.spec_status)
    .toMatchObject({
      state: 'ready',
      tools: 2,
      degraded: expect.stringMatching(/broken: .*parameter.*other\.yaml/s),
    })
})

it('tools that an older API of the tenant replaces are named', async () => {
  const statusOf = async (id: string) => (await api('GET', `/apis/${id}`)).json.spec_status
  const create = async (path: string) => {
    const { id } = (await api('POST', '/tenants/acme/apis', anApi(path, DOCUMENT))).json
    await expect.poll(() => statusOf(id)).toMatchObject({ state: 'ready', tools: 1 })
    return id as string
  }
  const [first, second] = [await create('/pet-store'), await create('/pet_store')]
  expect((await statusOf(first)).degraded).toBeNull()
  expect((await statusOf(second)).degraded).toBe(
    `gateways do not serve 1 of this API's tools, because older APIs of the tenant have tools with the same names (pet_store_list of ${first}); change the operationIds of these tools in the OpenAPI document of this API, or change the path of this API`,
  )
  await api('PATCH', `/tenants/acme/apis/${second}`, { path: '/pets' })
  await expect
    .poll(() => statusOf(second))
    .toEqual({ state: 'ready', tools: 1, message: null, degraded: null })
})

it('numbers of a document keep their digits', async () => {
  const schema = '{"type":"integer","maximum":9223372036854775807}'
  const spec = JSON.stringify(DOCUMENT).replace(
    '"responses"',
    `"parameters":[{"name":"n","in":"query","schema":${schema}}],"responses"`,
  )
  const body = JSON.stringify(anApi('/digits', '@')).replace('"@"', spec)
  const created = await api('POST', '/tenants/acme/apis', body)
  expect(created.status, created.text).toBe(201)
  expect((await api('GET', `/apis/${created.json.id}`)).text).toContain(schema)
})

it('webhooks receive subscription.revoked for each subscription of a deleted tenant, which remains while a retry is pending', async () => {
  let refusals = 0
  const hook = await receiver((response, { payload }) => {
    const refuse = (payload as { event: string }).event === 'subscription.revoked' && refusals++ < 1
    response.writeHead(refuse ? 500 : 200).end()
  })
  try {
    const tenant = (await api('POST', '/tenants', { name: 'gone', tier: 'starter' })).json
    const base = `/tenants/${tenant.id}`
    const secret = 'the secret of this receiver, long enough'
    expect((await api('POST', `${base}/webhooks`, { url: hook.url, events: ['*'], secret })).status).toBe(201)
    const registered = (await api('POST', `${base}/apis`, anApi('/orders', null))).json
    const subscriptions: string[] = []
    for (const application of ['one', 'two']) {
      const made = await api('POST', `${base}/subscriptions`, {
        api_id: registered.id,
        plan: 'silver',
        application,
      })
      subscriptions.push(made.json.id)
    }
    expect((await api('DELETE', base)).status).toBe(204)
    const revoked = () =>
      hook.received
        .map(({ payload }) => payload as { event: string; data: Record<string, unknown> })
        .filter(({ event }) => event === 'subscription.revoked')
    await until('both revocations', () => revoked().length >= 2)
    expect(new Set(revoked().map(({ data }) => data.subscription_id))).toEqual(new Set(subscriptions))
    expect(revoked()[0]!.data).toMatchObject({
      api_name: 'Orders',
      status: 'revoked',
      reason: 'The tenant was deleted.',
    })
    // its retry is pending, so the tenant is still there
    expect((await api('GET', base)).json.status).toBe('deleting')
  } finally {
    await hook.close()
  }
})
