/** Calls of two gateways, both in this process, at their control plane over the real link: merged, refused to other callers, and without a stopped gateway. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const SOON = { timeout: 20_000, interval: 200 }

let first: Deployment
let second: Deployment
let token: string

beforeAll(async () => {
  first = await deploy({ GATEWAY_NAME: 'first' })
  const { api_url, auth_url } = first.running.addresses
  second = await deploy({
    ROLE: 'gateway',
    WORKERS: '2',
    GATEWAY_NAME: 'second',
    EXAMPLE: 'false',
    CONTROL_PLANE_URL: api_url!,
    AUTH_ISSUER: auth_url!,
    GATEWAY_CLIENT_ID: 'gateway',
    GATEWAY_CLIENT_SECRET: 'gateway-secret',
  })
  await second.running.ready
  token = await first.token('demo-admin')
}, 180_000)
afterAll(() => first?.stop())

async function read(path: string, bearer = token) {
  const response = await fetch(`${first.running.addresses.api_url}/v1/fleet/${path}`, {
    headers: { authorization: `Bearer ${bearer}` },
  })
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test is about
  return { status: response.status, body: (await response.json()) as any }
}

it('shows the calls of both, with the figures of all threads', async () => {
  const body = { name: 'no_such_tool', arguments: {} }
  for (const [at, gateway] of [first, second, second].entries()) {
    const called = await gateway.post('/mcp/tools/call', body, token, { 'x-request-id': `fleet-${at}` })
    expect(called.status).toBe(404)
  }
  const calls = async () => {
    const { body } = await read('calls?outcome=refused')
    return body.calls.map((call: { request_id: string; gateway: string }) => [call.request_id, call.gateway])
  }
  await expect.poll(calls, SOON).toEqual(
    expect.arrayContaining([
      ['fleet-0', 'first'],
      ['fleet-1', 'second'],
      ['fleet-2', 'second'],
    ]),
  )
  const { body: overview } = await read('overview?window_s=300')
  expect(overview.complete).toBe(true)
  expect(overview.refused).toBeGreaterThanOrEqual(3)
  expect(overview.refusals[0]).toMatchObject({ reason: 'tool_not_found' })
  expect(overview.gateways).toMatchObject([
    { name: 'first', status: 'replied', workers: [{ worker: 1 }] },
    { name: 'second', status: 'replied', workers: [{ worker: 1 }, { worker: 2 }] },
  ])
  const one = await read('calls?request_id=fleet-1')
  expect(one.body.calls).toHaveLength(1)
})

it('refuses callers who may not read calls', async () => {
  for (const path of ['calls', 'overview', 'tools']) {
    expect((await read(path, await first.token('demo-viewer'))).status).toBe(403)
    expect((await read(path, await first.token('demo-agent'))).status).toBe(403)
  }
})

it('names the gateway that does not reply', async () => {
  await second.stop()
  const { status, body } = await read('calls')
  expect(status).toBe(200)
  expect(body.complete).toBe(false)
  expect(body.gateways).toMatchObject([
    { name: 'first', status: 'replied' },
    { name: 'second', status: 'no_reply', calls: null },
  ])
  expect(new Set(body.calls.map((call: { gateway: string }) => call.gateway))).toEqual(new Set(['first']))
})
