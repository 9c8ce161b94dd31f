/** The record of each request to the control plane: who called which operation, with the ids of the response and of the audit, and no secret. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { RequestRecord } from '../../../src/control-plane/api/http/access-log.ts'
import { clientAddresses } from '../../../src/net/server/client-address.ts'
import { openPlane, type Plane } from './plane.ts'

const CANARY = 'canary-9b1f'

let plane: Plane
const records: RequestRecord[] = []
const log = {
  sampled: 1,
  addressOf: clientAddresses(['198.51.100.0/24']),
  write: (record: RequestRecord) => void records.push(record),
}

beforeAll(async () => {
  plane = await openPlane({ options: { requestLog: log } })
  await plane.call('platform', 'POST', '/v1/tenants', { name: 'acme', tier: 'enterprise' })
}, 60_000)
afterAll(() => plane.close())
beforeEach(() => {
  log.sampled = 1
  records.length = 0
})

it('names actor, operation, outcome and ids; the request id is that of the audit', async () => {
  const body = { name: 'Paid', slug: 'paid', rate_limit_per_minute: 10 }
  const made = await plane.call('platform', 'POST', '/v1/plans', body, { 'x-request-id': 'change-1' })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  expect(records).toEqual([
    {
      request_id: 'change-1',
      trace_id: made.headers.get('x-trace-id'),
      method: 'POST',
      operation: 'createPlan',
      actor: 'user-platform',
      consumer: 'platform',
      tenant: undefined,
      client: undefined,
      status: 201,
      error: undefined,
      duration_ms: expect.any(Number),
    },
  ])
  const { body: audit } = await plane.call('platform', 'GET', '/v1/audit?request_id=change-1')
  expect(audit.items).toHaveLength(1)
})

it('lets nothing on the way keep what a token reads, nor a refusal', async () => {
  for (const caller of ['platform', 'viewer', null] as const) {
    const { headers } = await plane.call(caller, 'GET', '/v1/audit')
    expect([caller, headers.get('cache-control')]).toEqual([caller, 'no-store'])
  }
})

it('names the refusal, also of callers without a token and of addresses that do not exist', async () => {
  await plane.call('viewer', 'POST', '/v1/plans', { name: 'No', slug: 'no' })
  await plane.call(null, 'GET', '/v1/tenants')
  await plane.call('admin', 'GET', `/v1/${CANARY}`)
  await plane.call('platform', 'POST', '/v1/plans', { slug: 7 })
  expect(records.map(({ operation, actor, status, error }) => [operation, actor, status, error])).toEqual([
    ['createPlan', 'user-viewer', 403, 'forbidden'],
    ['listTenants', undefined, 401, 'unauthorized'],
    [undefined, undefined, 404, 'not_found'],
    ['createPlan', 'user-platform', 400, 'validation_error'],
  ])
})

it.each([
  ['198.51.100.7', '192.0.2.1'],
  ['203.0.113.5', '203.0.113.5'],
])('names the client of a request from %s: %s', async (peerAddress, client) => {
  const request = new Request('https://api.example/v1/plans', {
    headers: { 'x-forwarded-for': '192.0.2.1' },
  })
  await plane.control.fetch(request, { peerAddress, peerVerified: false })
  expect(records).toMatchObject([{ operation: 'listPlans', client }])
})

it('holds no token, path, query or body', async () => {
  const headers = { 'idempotency-key': CANARY, cookie: CANARY, traceparent: CANARY }
  await plane.call('admin', 'GET', `/v1/plans?q=${CANARY}`, undefined, headers)
  await plane.call('admin', 'POST', '/v1/plans', { name: CANARY, slug: CANARY }, headers)
  await plane.call(null, 'GET', `/v1/tenants/${CANARY}`, undefined, { authorization: `Bearer ${CANARY}` })
  expect(records).toHaveLength(3)
  expect(JSON.stringify(records)).not.toContain(CANARY)
})

it('leaves out probes, and successful requests beyond the sample', async () => {
  log.sampled = 0
  await plane.call('admin', 'GET', '/v1/plans')
  await plane.call(null, 'GET', '/health')
  await plane.call(null, 'GET', '/ready')
  expect(records).toEqual([])
  await plane.call('viewer', 'GET', '/v1/audit')
  expect(records.map(({ status }) => status)).toEqual([403])
})
