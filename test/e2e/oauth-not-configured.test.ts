/** A gateway without identity provider (AUTH_ISSUER=none): the documented statuses, and what still works. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SettingsError } from '../../src/app/settings.ts'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'
import { readSettings } from '../fixtures/settings.ts'

let gateway: Deployment
beforeAll(async () => {
  gateway = await deploy({ AUTH_ISSUER: 'none' })
})
afterAll(() => gateway?.stop())

const get = async (path: string) => read(await fetch(`${gateway.url}${path}`))

it('says 503 where the document of the provider would be', async () => {
  const response = await get('/.well-known/openid-configuration')
  expect(response.status).toBe(503)
  expect(response.json).toMatchObject({ error: 'temporarily_unavailable' })
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect((await get('/.well-known/oauth-authorization-server')).status).toBe(503)
})

it('says 502 at the two proxies, whose tables know no 503', async () => {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'a', client_secret: 'b' })
  const token = await read(await fetch(`${gateway.url}/oauth/token`, { method: 'POST', body: form }))
  expect(token).toMatchObject({ status: 502, json: { error: 'server_error' } })
  const registration = await gateway.post('/oauth/register', { redirect_uris: ['http://localhost/callback'] })
  expect(registration).toMatchObject({ status: 502, json: { error: 'server_error' } })
})

it('is ready, opens sessions, and takes no token', async () => {
  expect((await get('/ready')).status).toBe(200)
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  expect((await gateway.post('/mcp', rpc('initialize', params))).status).toBe(200)
  const unsigned = `${Buffer.from('{"alg":"RS256","kid":"k"}').toString('base64url')}.${Buffer.from('{"sub":"a"}').toString('base64url')}.c2ln`
  for (const token of ['abc', unsigned])
    expect((await gateway.post('/mcp', rpc('tools/list'), token)).status).toBe(401)
})

it('is not for a gateway that needs a provider to reach its control plane', () => {
  expect(() =>
    readSettings({
      ROLE: 'gateway',
      AUTH_ISSUER: 'none',
      CONTROL_PLANE_URL: 'http://localhost:8081',
      GATEWAY_CLIENT_ID: 'a',
      GATEWAY_CLIENT_SECRET: 'b',
    }),
  ).toThrow(SettingsError)
})
