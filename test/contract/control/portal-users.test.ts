/** Users of a page who share its OAuth client: each is a separate application, and no subscriber sees or changes what belongs to another. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TokenVerifier } from '../../../src/identity/verifier.ts'
import { principal } from '../../../src/model/principal.ts'
import { refuse } from '../../../src/model/refusal.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, type World } from './plane.ts'

const CLIENT = 'portal-client'
/** The name of a user is the token; `client` is a client that acts for itself. */
const USERS = {
  ann: { subject: 'c0ffee-1', name: 'ann@example.com', roles: ['subscriber'] },
  ben: { subject: 'c0ffee-2', name: undefined, roles: ['subscriber'] },
  owner: { subject: 'c0ffee-3', name: 'olga', roles: ['tenant-admin'] },
  client: { subject: CLIENT, name: 'service-account', roles: ['subscriber'] },
} as const
type User = keyof typeof USERS

const verifier: TokenVerifier = {
  ready: true,
  verify(token) {
    const user = USERS[token as User]
    if (token === 'platform')
      return principal({
        kind: 'token',
        subject: 'root',
        consumer: 'root',
        tenant: undefined,
        roles: ['cpi-admin'],
        scopes: [],
        subscriptionId: undefined,
        expiresAtMs: Number.MAX_SAFE_INTEGER,
      })
    if (user === undefined) return refuse('token_signature')
    return principal({
      kind: 'token',
      ...user,
      consumer: CLIENT,
      tenant: 'acme',
      scopes: [],
      subscriptionId: undefined,
      expiresAtMs: Number.MAX_SAFE_INTEGER,
    })
  },
  clearCache: () => 0,
  close() {},
}

describe.each(DATABASES)('users of one client on $name', database => {
  describe.skipIf(database.skip)('of a tenant', () => {
    let plane: Plane
    let world: Pick<World, 'acme' | 'api'>
    let cluster: Cluster | undefined
    let base: string

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster, options: { verifier } })
      const made = async (path: string, body: object) =>
        (await plane.call('platform', 'POST', path, body)).body.id
      const acme = await made('/v1/tenants', { name: 'acme', tier: 'enterprise' })
      const api = {
        name: 'Orders',
        upstream_url: 'http://127.0.0.1:9',
        path: '/orders',
        portal_visibility: true,
      }
      world = { acme, api: await made(`/v1/tenants/${acme}/apis`, api) }
      base = `/v1/tenants/${acme}`
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    /** As the server of the portal calls. */
    const as = async (user: User, method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${user}`, 'content-type': 'application/json' }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await plane.control.fetchForUser(
        new Request(`https://api.example${base}${path}`, init),
      )
      const text = await response.text()
      return { status: response.status, body: text === '' ? null : JSON.parse(text) }
    }
    const request = (user: User, application: string) =>
      as(user, 'POST', '/subscriptions', { api_id: world.api, plan: 'gold', application })

    it('each have their subscriptions, named after them', async () => {
      const ann = await request('ann', 'user:c0ffee-1')
      expect([ann.status, ann.body.application, ann.body.application_name]).toEqual([
        201,
        'user:c0ffee-1',
        'ann@example.com',
      ])
      const ben = await request('ben', 'user:c0ffee-2')
      expect([ben.status, ben.body.application_name]).toEqual([201, 'user:c0ffee-2'])
      for (const [user, own] of [
        ['ann', ann],
        ['ben', ben],
      ] as const) {
        const { items } = (await as(user, 'GET', '/subscriptions')).body
        expect(items.map(({ id }: { id: string }) => id)).toEqual([own.body.id])
      }
      const { items } = (await as('owner', 'GET', '/subscriptions?sort=application')).body
      expect(items.map((each: { application_name: string }) => each.application_name)).toEqual([
        'ann@example.com',
        'user:c0ffee-2',
      ])
    })

    it('cannot use what belongs to another user or to their client', async () => {
      const [{ id }] = (await as('ann', 'GET', '/subscriptions')).body.items
      await as('owner', 'POST', `/subscriptions/${id}/approve`, {})
      const [key] = (await as('ann', 'GET', '/apikeys')).body.items
      const client = await plane.call('platform', 'POST', `${base}/subscriptions`, {
        api_id: world.api,
        plan: 'gold',
        application: CLIENT,
      })
      for (const [method, path, body] of [
        ['GET', `/subscriptions/${id}`],
        ['PATCH', `/subscriptions/${id}`, { plan: 'silver' }],
        ['GET', `/subscriptions/${id}/usage`],
        ['DELETE', `/subscriptions/${id}`],
        ['POST', '/apikeys', { subscription_id: id, name: 'mine' }],
        ['POST', `/apikeys/${key.id}/rotate`, {}],
        ['DELETE', `/apikeys/${key.id}`],
        ['DELETE', `/subscriptions/${client.body.id}`],
      ] as const)
        expect([method, path, (await as('ben', method, path, body)).status]).toEqual([method, path, 403])
      expect((await as('ben', 'GET', '/apikeys')).body.items).toEqual([])
      expect((await request('ben', 'user:c0ffee-1')).status).toBe(403)
      const issued = await as('ann', 'POST', '/apikeys', { subscription_id: id, name: 'mine' })
      expect([issued.status, issued.body.key]).toEqual([201, expect.stringMatching(/^tgk_/)])
    })

    it('are recorded by the audit as themselves', async () => {
      const { body } = await plane.call('platform', 'GET', '/v1/audit?action=control.apikeys.create')
      expect(body.items[0].actor).toMatchObject({ subject: 'c0ffee-1', consumer: 'user:c0ffee-1' })
    })

    it('act as the client without the page, and a client acts as itself with it', async () => {
      const { items } = (await plane.call('ann' as 'app', 'GET', `${base}/subscriptions`)).body
      expect(items.map((each: { application: string }) => each.application)).toEqual([CLIENT])
      expect((await as('client', 'GET', '/subscriptions')).body.items).toHaveLength(1)
    })
  })
})
