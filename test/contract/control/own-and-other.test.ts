/** Endpoints about an application × each kind of caller × its own things and those of another, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/control-plane/api/endpoints.ts'
import type { Endpoint } from '../../../src/control-plane/api/http/endpoint.ts'
import { createWebhook } from '../../../src/control-plane/api/services/webhooks.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { MAY } from './expected-access.ts'
import { type Caller, DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'
import { type Served, serve } from './serve.ts'

const CALLED_BY = [
  'app',
  'subscriber',
  'portal',
  'viewer',
  'devops',
  'admin',
  'platform',
  'stranger',
] as const
type By = (typeof CALLED_BY)[number]

const DECIDE: readonly By[] = ['admin', 'platform']
const WRITE: readonly By[] = ['app', 'devops', ...DECIDE]
const READ: readonly By[] = ['viewer', ...WRITE]
const SUBSCRIBERS: readonly By[] = ['subscriber', 'portal']

/** Endpoints about what belongs to an application: who may call them on its own things, and who on those of another. */
const OWNED: { readonly [id: string]: { readonly own: readonly By[]; readonly other: readonly By[] } } = {
  createSubscription: { own: [...WRITE, ...SUBSCRIBERS], other: DECIDE },
  readSubscription: { own: [...READ, ...SUBSCRIBERS], other: READ },
  approveSubscription: { own: DECIDE, other: DECIDE },
  updateSubscription: { own: [...WRITE, ...SUBSCRIBERS], other: DECIDE },
  revokeSubscription: { own: [...WRITE, ...SUBSCRIBERS], other: DECIDE },
  readUsage: { own: [...READ, ...SUBSCRIBERS], other: READ },
  createApiKey: { own: [...WRITE, ...SUBSCRIBERS], other: DECIDE },
  rotateApiKey: { own: [...WRITE, ...SUBSCRIBERS], other: DECIDE },
  revokeApiKey: { own: [...WRITE, ...SUBSCRIBERS], other: DECIDE },
  updateWebhook: { own: WRITE, other: DECIDE },
  deleteWebhook: { own: WRITE, other: DECIDE },
  testWebhook: { own: WRITE, other: DECIDE },
  retryDelivery: { own: WRITE, other: DECIDE },
}

/** Lists of these lists `SUBSCRIBERS` get their own part, `READ` everything. */
const LISTS = ['listTenantSubscriptions', 'listSubscriptions', 'listApiKeys']

/** `public-catalog.test.ts` has what visitors may call. */
const PUBLIC = ENDPOINTS.filter(({ visitors }) => visitors === true).map(({ id }) => id)

/** All others are about no application: the table by actions says who may, and `matrix.test.ts` calls them. `stranger` is of another tenant. */
const NOT_OWNED = (id: string) => OWNED[id] === undefined && !LISTS.includes(id) && !PUBLIC.includes(id)

let paths = 0

describe.each(DATABASES)('own things and those of others on $name', database => {
  describe.skipIf(database.skip)('over the wire', () => {
    let plane: Plane
    let world: World
    let served: Served
    let cluster: Cluster | undefined
    let base: string

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      served = await serve(plane.control)
      world = await populate(plane)
      base = `/v1/tenants/${world.acme}`
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await served?.close()
      await plane?.close()
      await cluster?.stop()
    })

    async function call(by: Caller, method: string, path: string, body?: unknown, headers: object = {}) {
      const reply = await fetch(`${served.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await reply.text()
      return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) }
    }

    async function made(path: string, body: unknown): Promise<{ id: string; status: string }> {
      const reply = await call('platform', 'POST', path, body)
      expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300)
      return reply.body
    }

    async function anApi(): Promise<string> {
      const body = { name: 'Stock', upstream_url: 'http://127.0.0.1:9', path: `/own-${++paths}` }
      return (await made(`${base}/apis`, { ...body, portal_visibility: true })).id
    }

    async function aSubscription(application: string): Promise<string> {
      return (await made(`${base}/subscriptions`, { api_id: await anApi(), plan: 'gold', application })).id
    }

    async function anApprovedOne(application: string): Promise<string> {
      const id = await aSubscription(application)
      await made(`${base}/subscriptions/${id}/approve`, {})
      return id
    }

    async function aKey(application: string): Promise<string> {
      const subscription_id = await anApprovedOne(application)
      return (await made(`${base}/apikeys`, { subscription_id, name: 'ci' })).id
    }

    async function aWebhook(application: string): Promise<{ webhook_id: string }> {
      const { acme } = world
      const fields = {
        url: 'https://hooks.example',
        events: ['*' as const],
        enabled: true,
        customHeaders: {},
      }
      const { id } = await plane.store.write(acme, tx =>
        createWebhook(tx, acme, { ...fields, keysOf: application }, undefined),
      )
      return { webhook_id: id }
    }

    /** Parameters and body of a call about something of the application. */
    const ABOUT: {
      readonly [id: string]: (
        application: string,
      ) => Promise<{ params?: Record<string, string>; body?: unknown }>
    } = {
      createSubscription: async application => ({
        body: { api_id: await anApi(), plan: 'silver', application },
      }),
      readSubscription: async of => ({ params: { subscription_id: await aSubscription(of) } }),
      approveSubscription: async of => ({ params: { subscription_id: await aSubscription(of) } }),
      updateSubscription: async of => ({
        params: { subscription_id: await anApprovedOne(of) },
        body: { metadata: { contact: 'a@example.com' } },
      }),
      revokeSubscription: async of => ({ params: { subscription_id: await anApprovedOne(of) } }),
      readUsage: async of => ({ params: { subscription_id: await anApprovedOne(of) } }),
      createApiKey: async of => ({ body: { subscription_id: await anApprovedOne(of), name: 'ci' } }),
      rotateApiKey: async of => ({ params: { key_id: await aKey(of) } }),
      revokeApiKey: async of => ({ params: { key_id: await aKey(of) } }),
      updateWebhook: async of => ({ params: await aWebhook(of), body: { enabled: false } }),
      deleteWebhook: async of => ({ params: await aWebhook(of) }),
      testWebhook: async of => ({
        params: await aWebhook(of),
        body: { event_type: 'subscription.created' },
      }),
      retryDelivery: async of => {
        const webhook = await aWebhook(of)
        const path = `${base}/webhooks/${webhook.webhook_id}/test`
        const { id } = await made(path, { event_type: 'subscription.created' })
        return { params: { ...webhook, delivery_id: id } }
      },
    }

    function address(endpoint: Endpoint, params: Readonly<Record<string, string>> = {}): string {
      const values: Readonly<Record<string, string>> = { tenant_id: world.acme, ...params }
      return `/v1${endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => values[name]!)}`
    }

    async function expectReply(
      by: By,
      endpoint: Endpoint,
      call_: { params?: Readonly<Record<string, string>>; body?: unknown },
      allowed: boolean,
    ): Promise<void> {
      const reply = await call(by, endpoint.method.toUpperCase(), address(endpoint, call_.params), call_.body)
      const shown = `${by}: ${JSON.stringify(reply.body)}`
      // a pending delivery is not retried: the policy has allowed it by then
      if (allowed && endpoint.id === 'retryDelivery') expect(reply.status, shown).toBe(409)
      else if (allowed) expect(reply.status, shown).toBeLessThan(300)
      else expect([reply.status, reply.body?.error?.code], shown).toEqual([403, 'forbidden'])
    }

    it('has an expectation for every endpoint', () => {
      // the subject of a list is the tenant of a subscriber: `shared-apis.test.ts`
      const owned = ENDPOINTS.filter(
        ({ id, subject, reach }) => subject !== undefined && reach === 'path' && !LISTS.includes(id),
      )
      const expected = [...Object.keys(OWNED)].filter(id => id !== 'approveSubscription')
      expect(owned.map(endpoint => endpoint.id).sort()).toEqual(expected.sort())
      const narrowable = ENDPOINTS.filter(endpoint => endpoint.narrowable === true)
      expect(narrowable.map(endpoint => endpoint.id).sort()).toEqual([...LISTS].sort())
      for (const { id, action } of ENDPOINTS.filter(endpoint => NOT_OWNED(endpoint.id)))
        expect(MAY[action], `${id}: no expectation for ${action}`).toBeDefined()
    })

    describe.each(ENDPOINTS.filter(({ id }) => OWNED[id] !== undefined))('$id', endpoint => {
      const { own, other } = OWNED[endpoint.id]!
      it.each(CALLED_BY)('lets %s do it to its own things and to others’ exactly as declared', async by => {
        const about = ABOUT[endpoint.id]!
        await expectReply(by, endpoint, await about(by), own.includes(by))
        await expectReply(by, endpoint, await about('another'), other.includes(by))
      })
    })

    it.each(SUBSCRIBERS)('shows %s only its own subscriptions and keys, with any filter', async by => {
      const [own, others] = [await anApprovedOne(by), await anApprovedOne('another')]
      const listed = async (path: string) => {
        const reply = await call(by, 'GET', path)
        expect(reply.status, JSON.stringify(reply.body)).toBe(200)
        expect(reply.body.total).toBe(reply.body.items.length)
        return reply.body.items as { application: string; subscription_id: string }[]
      }
      for (const path of [`${base}/subscriptions?limit=100`, '/v1/subscriptions?limit=100']) {
        const items = await listed(path)
        expect(new Set(items.map(item => item.application))).toEqual(new Set([by]))
        expect(await listed(`${path}&application=another`)).toEqual([])
      }
      const all = await call('viewer', 'GET', `${base}/subscriptions?limit=100&application=another`)
      expect(all.body.items.length).toBeGreaterThan(0)
      const keys = await listed(`${base}/apikeys?limit=100`)
      expect(keys.map(key => key.subscription_id)).toContain(own)
      expect(keys.map(key => key.subscription_id)).not.toContain(others)
      expect(await listed(`${base}/apikeys?subscription_id=${others}`)).toEqual([])
    })

    it.each(['app', ...SUBSCRIBERS] as const)(
      'gives %s no approval and no key of another application, whether or not it exists',
      async by => {
        const plan = `open-${by}`
        await made('/v1/plans', { slug: plan, name: 'Open', requires_approval: false, tenant_id: world.acme })
        const request = async (application: string) => ({ api_id: await anApi(), plan, application })
        const refused = await call(by, 'POST', `${base}/subscriptions`, await request('another'))
        expect(refused.status).toBe(403)
        const approved = await call(by, 'POST', `${base}/subscriptions`, await request(by))
        expect([approved.status, approved.body.status]).toEqual([201, 'approved'])
        expect(approved.body.api_key).toMatch(/^tgk_/)
        for (const subscription_id of ['nothing', 'a\0b', 'sub_01kaa3b8w5f0gvm2f7z2q9x4td']) {
          const reply = await call(by, 'POST', `${base}/apikeys`, { subscription_id, name: 'ci' })
          expect(reply.status).toBe(403)
        }
      },
    )

    it.each(['app', ...SUBSCRIBERS] as const)(
      'gives %s no key while its subscription is pending',
      async by => {
        const reply = await call(by, 'POST', `${base}/apikeys`, {
          subscription_id: await aSubscription(by),
          name: 'early',
        })
        expect([reply.status, reply.body.error.code]).toEqual([409, 'conflict'])
      },
    )

    it('asks the role for plans of a tenant: who writes could else make one that needs no approval', async () => {
      const plan = (by: string) => ({
        slug: `own-${by}`,
        name: 'Own',
        tenant_id: world.acme,
        requires_approval: false,
      })
      const kept = await made('/v1/plans', plan('kept'))
      for (const by of CALLED_BY) {
        const allowed = DECIDE.includes(by)
        expect((await call(by, 'POST', '/v1/plans', plan(by))).status, by).toBe(allowed ? 201 : 403)
        // a plan of another tenant is not found, as one that does not exist
        const foreign = by === 'stranger' ? 404 : 403
        const change = await call(by, 'PATCH', `/v1/plans/${kept.id}`, { requires_approval: false })
        expect(change.status, by).toBe(allowed ? 200 : foreign)
        const spare = await made('/v1/plans', plan(`spare-${by}`))
        expect((await call(by, 'DELETE', `/v1/plans/${spare.id}`)).status, by).toBe(allowed ? 204 : foreign)
      }
    })

    it('does not replay the response of another caller, and checks every caller’s own key', async () => {
      const body = { api_id: await anApi(), plan: 'gold', application: 'another' }
      const headers = { 'idempotency-key': 'shared-by-callers' }
      expect((await call('admin', 'POST', `${base}/subscriptions`, body, headers)).status).toBe(201)
      for (const by of ['app', 'subscriber', 'portal', 'app'] as const)
        expect((await call(by, 'POST', `${base}/subscriptions`, body, headers)).status, by).toBe(403)
    })

    it('validates a body without an application or subscription', async () => {
      for (const by of ['app', 'subscriber'] as const) {
        expect((await call(by, 'POST', `${base}/subscriptions`, { plan: 'gold' })).status).toBe(400)
        expect((await call(by, 'POST', `${base}/subscriptions`, { application: 7 })).status).toBe(400)
        expect((await call(by, 'POST', `${base}/apikeys`, { name: 'ci' })).status).toBe(400)
      }
    })
  })
})
