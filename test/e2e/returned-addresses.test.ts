/** A client follows the addresses that an upstream gives it, through the gateway, and receives none of the upstream. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

let world: TwoTenants
let upstream: Server
let address: string
let api: string

beforeAll(async () => {
  world = await twoTenants()
  upstream = createServer((request, response) => {
    const base = `http://${request.headers.host}/base`
    const [, place, form] = /^\/base\/(old|made|page)\/(absolute|rooted|relative)$/.exec(request.url!) ?? []
    const next = form === 'absolute' ? `${base}/new?a=1` : form === 'rooted' ? '/base/new?a=1' : '../new?a=1'
    if (place === 'old') response.writeHead(302, { location: next })
    else if (place === 'made') response.writeHead(201, { location: next, 'content-location': next })
    else if (place === 'page')
      response.writeHead(200, { link: `<${next}>; rel="next"`, refresh: `5; url=${next}` })
    else response.setHeader('set-cookie', 'a=1; Path=/base')
    response.end(request.url)
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const passthrough = { response_headers: ['refresh', 'set-cookie'] }
  const body = {
    passthrough,
    name: 'shop',
    path: '/shop',
    upstream_url: `http://${address}/base`,
    auth_required: false,
  }
  const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
  expect(reply.status, reply.text).toBe(201)
  api = `${world.gateway.url}/t/beta/shop`
  await vi.waitFor(async () => expect((await call('/new')).status).toBe(200), 15_000)
}, 60_000)
afterAll(async () => {
  await world?.stop()
  upstream?.closeAllConnections()
  upstream?.close()
})

const call = (path: string, redirect: 'follow' | 'manual' = 'follow') =>
  fetch(`${api}${path}`, { redirect, headers: { authorization: `Bearer ${world.root}` } })

it.each(['absolute', 'rooted', 'relative'])(
  'a redirect with its %s address leads back through the gateway',
  async form => {
    const response = await call(`/old/${form}`)
    expect([response.status, response.url, await response.text()]).toEqual([
      200,
      `${api}/new?a=1`,
      '/base/new?a=1',
    ])
  },
)

it.each(['absolute', 'rooted', 'relative'])(
  'no header has the upstream in it for its %s address',
  async form => {
    for (const place of ['old', 'made', 'page']) {
      const response = await call(`/${place}/${form}`, 'manual')
      const values = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
      expect(values).not.toContain(address)
      expect(values).not.toContain('/base')
      for (const name of ['location', 'content-location']) {
        const given = response.headers.get(name)
        if (given !== null) expect(new URL(given, response.url).href).toBe(`${api}/new?a=1`)
      }
    }
  },
)

it('a cookie is sent to the paths of the API', async () => {
  expect((await call('/new')).headers.get('set-cookie')).toBe('a=1; Path=/t/beta/shop')
})
