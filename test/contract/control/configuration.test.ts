/** Configuration as code over the routes: round trip, dry run, owners, drift, prune, rights. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cluster } from '../store/postgres-cluster.ts'
import { type Caller, DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const HEAD = { apiVersion: 'toolgate.dev/v1', kind: 'Configuration' } as const
const SECRETS = { BILLING_SECRET: 'a secret of thirty-two characters or more', BILLING_TOKEN: 'Bearer abc' }
const orders = { name: 'Orders', upstream_url: 'http://127.0.0.1:9/orders', portal_visibility: true }

describe.each(DATABASES)('configuration as code on $name', database => {
  describe.skipIf(database.skip)('over the routes', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    const read = async (caller: Caller = 'platform', query = '') =>
      (await plane.call(caller, 'GET', `/v1/config${query}`)).body
    const send = (body: object, query = '', caller: Caller = 'platform', headers = {}) =>
      plane.call(caller, 'POST', `/v1/config${query}`, { ...HEAD, ...body }, headers)
    const apply = async (body: object, query = '') => {
      const reply = await send(body, query)
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      return reply.body
    }
    const tree = (apis: object, more: object = {}) => ({
      owner: 'team-a',
      tenants: { acme: { apis, ...more } },
    })
    const paths = (body: { changes: { path: string; action: string }[] }) =>
      body.changes.map(({ action, path }) => `${action} ${path}`)

    it('exports what exists, and an unchanged export changes nothing', async () => {
      const exported = await read()
      expect(exported.tenants.acme).toMatchObject({ tier: 'enterprise', apis: { '/orders': orders } })
      expect(exported.plans.silver).toMatchObject({ name: 'Silver', rate_limit_per_second: 20 })
      const dry = await send(exported, '?dry_run=true')
      expect(dry.body).toMatchObject({ applied: false, changes: [], drift: [], foreign: [], missing_secrets: [] })
      expect(world.acme).toMatch(/^ten_/)
    })

    it('creates everything in one transaction, with the events of single requests, and applies twice alike', async () => {
      const body = {
        owner: 'platform',
        plans: { bronze: { name: 'Bronze', rate_limit_per_minute: 10 } },
        tenants: {
          initech: {
            tier: 'business',
            settings: { rate_limit_multiplier: 2 },
            plans: { trial: { name: 'Trial', daily_request_limit: 50, requires_approval: false } },
            apis: { '/tps': { ...orders, name: 'TPS', spec: { openapi: '3.1.0' }, status: 'deprecated' } },
            consumers: { printer: { plan: 'trial', notes: 'PC load letter' }, 'red-stapler': { blocked: true } },
            webhooks: {
              billing: {
                url: 'https://hooks.example/billing',
                events: ['*'],
                secret: { from: 'BILLING_SECRET' },
                custom_headers: { Authorization: { from: 'BILLING_TOKEN' } },
              },
            },
          },
        },
      }
      const first = await apply({ ...body, secrets: SECRETS })
      expect(paths(first)).toEqual(
        expect.arrayContaining([
          'create plans/bronze',
          'create tenants/initech',
          'create tenants/initech/apis/tps',
          'create tenants/initech/webhooks/billing',
        ]),
      )
      expect(JSON.stringify(first)).not.toContain(SECRETS.BILLING_SECRET)
      expect(paths(await apply({ ...body, secrets: SECRETS }))).toEqual([])
      expect(await read('platform', '?owner=platform')).toEqual({ ...HEAD, ...body })
      const kinds = await plane.store.read('*', async tx => (await tx.events.after(0, 1000)).map(event => event.kind))
      expect(kinds).toEqual(expect.arrayContaining(['plan.created', 'webhook.created', 'consumer.updated']))
    })
  })
})
