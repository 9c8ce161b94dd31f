/** The hourly limit of an API that needs no credential: counted for each client behind a trusted proxy, not for the proxy. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, read } from '../fixtures/deployment.ts'

let gateway: Deployment
let upstream: Server

beforeAll(async () => {
  upstream = createServer((_, response) => response.end('ok'))
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  gateway = await deploy({ SSE_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8' })
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  upstream.closeAllConnections()
  await new Promise(resolve => upstream.close(resolve))
})

it('is counted for each client, whatever addresses a client sends before its own', async () => {
  const authorization = `Bearer ${await gateway.token('demo-admin')}`
  const headers = { authorization, 'content-type': 'application/json', 'x-tenant-id': 'acme' }
  const api = async (method: string, path: string, body?: object) =>
    read(
      await fetch(`${gateway.running.addresses.api_url}/v1${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
  const { items } = (await api('GET', '/tenants')).json as { items: { id: string; name: string }[] }
  const { id } = items.find(({ name }) => name === 'acme')!
  const { port } = upstream.address() as AddressInfo
  await api('POST', `/tenants/${id}/apis`, {
    name: 'Open',
    upstream_url: `http://127.0.0.1:${port}`,
    path: '/open',
    auth_required: false,
    rate_limit: { requests_per_hour: 2 },
  })
  const from = async (forwarded: string) =>
    (await fetch(`${gateway.url}/t/acme/open`, { headers: { 'x-forwarded-for': forwarded } })).status
  await expect.poll(() => from('192.0.2.1'), { timeout: 15_000 }).toBe(200)
  expect([await from('192.0.2.1, 10.0.0.7'), await from('198.51.100.9, 192.0.2.1')]).toEqual([200, 429])
  expect([await from('192.0.2.2'), await from('192.0.2.2'), await from('192.0.2.2')]).toEqual([200, 200, 429])
  const six = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1']
  const statuses = []
  for (const address of six) statuses.push(await from(address))
  expect(statuses).toEqual([200, 200, 429, 200])
}, 60_000)
