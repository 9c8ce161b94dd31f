/** The cross-origin rule of one API, on the wire over both HTTP servers: preflights, responses and refusals. Other addresses keep the gateway's. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listenerSupport } from '../../src/net/server/create.ts'
import { responseHead } from '../fixtures/response-head.ts'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import { type ScriptedBackend, sends, startScriptedBackend } from '../fixtures/scripted-backend.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const APP = 'https://app.example'
const PORTAL = 'https://portal.example:8443'
const GATEWAYS = 'https://console.example'
const { kinds, uwsMissing } = listenerSupport()

describe.each(['uws', 'node'] as const)('HTTP_SERVER=%s', server => {
  const missing = !kinds.includes(server) && process.env.REQUIRE_SERVICES !== '1'
  describe.skipIf(missing)(missing ? `skipped: ${uwsMissing}` : 'an API with a rule', () => {
    let world: TwoTenants
    let backend: ScriptedBackend
    let ruled: RuledApi
    let open: RuledApi
    let plain: RuledApi

    beforeAll(async () => {
      world = await twoTenants({ HTTP_SERVER: server, CORS_ORIGINS: GATEWAYS })
      backend = await startScriptedBackend()
      const own = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'X-Total' }
      backend.script(sends(200, 'ok', own))
      const cors = {
        origins: [APP, PORTAL],
        methods: ['GET', 'PUT'],
        allow_headers: ['authorization', 'x-team'],
        expose_headers: ['etag'],
        credentials: true,
        max_age_secs: 60,
      }
      ruled = await publishRuled(world, 'ruled', backend.url, { cors })
      open = await publishRuled(world, 'open', backend.url, { methods: ['GET'], cors: { origins: ['*'] } })
      plain = await publishRuled(world, 'plain', backend.url, null)
    })
    afterAll(async () => {
      await world?.stop()
      await backend?.close()
    })

    async function head(url: string, method: string, origin: string, headers: Record<string, string> = {}) {
      const reply = await responseHead({ method, url, headers: { origin, ...headers } })
      const of = (name: string) => reply.all(name).join(' | ')
      return {
        status: reply.status,
        origin: of('access-control-allow-origin'),
        methods: of('access-control-allow-methods'),
        headers: of('access-control-allow-headers'),
        credentials: of('access-control-allow-credentials'),
        exposed: of('access-control-expose-headers'),
        age: of('access-control-max-age'),
        vary: of('vary'),
      }
    }
    const bearer = () => ({ authorization: `Bearer ${world.root}` })

    it.each([APP, PORTAL])('responds to the preflight of %s', async origin => {
      const asked = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-team' }
      expect(await head(ruled.url, 'OPTIONS', origin, asked)).toEqual({
        status: 204,
        origin,
        methods: 'GET,PUT',
        headers: 'authorization,x-team',
        credentials: 'true',
        exposed: '',
        age: '60',
        vary: 'origin',
      })
    })

    it('refuses the preflight of every other page, those of the gateway included', async () => {
      for (const origin of [GATEWAYS, 'https://evil.example', 'null', `${APP}:444`]) {
        const refused = await head(`${ruled.url}/below`, 'OPTIONS', origin)
        expect([refused.status, refused.origin, refused.vary]).toEqual([403, '', 'origin'])
      }
    })

    it('lets its pages read responses and refusals', async () => {
      const readable = { origin: APP, credentials: 'true', vary: 'origin' }
      expect(await head(ruled.url, 'GET', APP, bearer())).toMatchObject({
        ...readable,
        status: 200,
        exposed: 'x-request-id,etag,X-Total',
      })
      expect(await head(ruled.url, 'GET', APP, { authorization: 'Bearer none' })).toMatchObject({
        ...readable,
        status: 401,
        exposed: 'x-request-id,etag',
      })
      const unread = { status: 200, origin: '', credentials: '' }
      expect(await head(ruled.url, 'GET', GATEWAYS, bearer())).toMatchObject(unread)
    })

    it('allows every page where it says so, with the methods of the API', async () => {
      expect(await head(open.url, 'OPTIONS', 'https://any.example')).toMatchObject({
        status: 204,
        origin: 'https://any.example',
        methods: 'GET',
        credentials: '',
        age: '600',
        headers: 'authorization,content-type,x-api-key',
      })
    })

    it('concerns no other address', async () => {
      expect(await head(plain.url, 'OPTIONS', GATEWAYS)).toMatchObject({ status: 204, origin: GATEWAYS })
      expect(await head(plain.url, 'OPTIONS', APP)).toMatchObject({ status: 403, origin: '' })
      expect(await head(`${world.gateway.url}/mcp`, 'OPTIONS', APP)).toMatchObject({ status: 403 })
    })

    it.each([
      [{ origins: ['*'], credentials: true }, 'credentials'],
      [{ origins: ['*', APP] }, 'origins'],
      [{ origins: [`${APP}/`] }, 'origins[0]'],
      [{ origins: ['https://APP.example'] }, 'origins[0]'],
      [{ origins: [`${APP}:443`] }, 'origins[0]'],
      [{ origins: ['null'] }, 'origins[0]'],
      [{}, 'origins'],
    ])('%j is refused', async (cors, field) => {
      const body = { name: 'no', path: '/no', upstream_url: backend.url, traffic: { cors } }
      const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
      const [fault] = reply.json.error.details
      expect([reply.status, fault.field]).toEqual([400, `traffic.cors.${field}`])
    })
  })
})
