/** Configuration as code over the routes: round trip, dry run, owners, drift, prune, secrets, limits, rollback, rights. The command has a separate file. */
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
      plane = await openPlane({ cluster, options: { maxBulkBodyBytes: 4 * 1024 * 1024 } })
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
      expect(dry.body).toMatchObject({
        applied: false,
        changes: [],
        drift: [],
        foreign: [],
        missing_secrets: [],
      })
      expect(world.acme).toMatch(/^ten_/)
    })

    it('creates everything in one request, with the events of single requests, and applies twice alike', async () => {
      const body = {
        owner: 'platform',
        plans: { bronze: { name: 'Bronze', rate_limit_per_minute: 10 } },
        tenants: {
          initech: {
            tier: 'business',
            settings: { rate_limit_multiplier: 2 },
            plans: { trial: { name: 'Trial', daily_request_limit: 50, requires_approval: false } },
            apis: { '/tps': { ...orders, name: 'TPS', spec: { openapi: '3.1.0' }, status: 'deprecated' } },
            consumers: {
              printer: { plan: 'trial', notes: 'PC load letter' },
              'red-stapler': { blocked: true },
            },
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
      const kinds = await plane.store.read('*', async tx =>
        (await tx.events.after(0, 1000)).map(event => event.kind),
      )
      expect(kinds).toEqual(expect.arrayContaining(['plan.created', 'webhook.created', 'consumer.updated']))
    })

    it('leaves a dry run without a trace', async () => {
      const before = await read()
      const body = tree({ '/new': orders }, { tier: 'free' })
      expect(paths((await send(body, '?dry_run=true')).body)).toEqual([
        'update tenants/acme',
        'create tenants/acme/apis/new',
      ])
      expect(await read()).toEqual(before)
      expect(await read('platform', '?owner=team-a')).toEqual({ ...HEAD, owner: 'team-a' })
    })

    it('keeps several owners apart, and moves a resource on request', async () => {
      await apply(tree({ '/a': orders }))
      const other = { owner: 'team-b', tenants: { acme: { apis: { '/b': orders } } } }
      await apply(other)
      expect((await read('platform', '?owner=team-a')).tenants.acme.apis).toEqual({ '/a': orders })
      const foreign = {
        owner: 'team-b',
        tenants: { acme: { apis: { '/a': { ...orders, name: 'B' }, '/b': orders } } },
      }
      const refused = await send(foreign)
      expect([refused.status, refused.body.error.details]).toEqual([
        409,
        [{ field: 'tenants/acme/apis/a', message: 'belongs to team-a.' }],
      ])
      expect((await send(foreign, '?dry_run=true')).body.foreign).toEqual([
        { path: 'tenants/acme/apis/a', owner: 'team-a' },
      ])
      await apply(foreign, '?take_over=true')
      expect((await read('platform', '?owner=team-a')).tenants).toBeUndefined()
      expect(Object.keys((await read('platform', '?owner=team-b')).tenants.acme.apis)).toEqual(['/a', '/b'])
    })

    it('deletes only what its owner applied, and only on request', async () => {
      const owner = 'team-p'
      await apply({
        owner,
        tenants: { acme: { apis: { '/p': orders, '/q': orders }, plans: { p: { name: 'P' } } } },
      })
      const rest = { owner, tenants: { acme: { apis: { '/p': orders } } } }
      expect(await apply(rest)).toMatchObject({
        changes: [],
        unlisted: ['tenants/acme/apis/q', 'tenants/acme/plans/p'],
      })
      expect(paths(await apply(rest, '?prune=true'))).toEqual([
        'delete tenants/acme/apis/q',
        'delete tenants/acme/plans/p',
      ])
      const { apis } = (await read()).tenants.acme
      expect([apis['/q'], apis['/orders'] !== undefined]).toEqual([undefined, true])
    })

    it('manages products by the keys of their APIs, and deletes them with their APIs', async () => {
      const owner = 'team-products'
      const product = { name: 'Shop', plan: 'silver', apis: ['/prod-a', '/prod-b'] }
      const of = (apis: object, products: object) => ({ owner, tenants: { acme: { apis, products } } })
      const both = { '/prod-a': { ...orders, name: 'A' }, '/prod-b': { ...orders, name: 'B' } }
      const refused = await send(of(both, { shop: { ...product, apis: ['/prod-a', '/none'] } }))
      expect(refused.status).toBe(400)
      expect(refused.body.error.details).toEqual([
        {
          field: 'tenants/acme/products/shop/apis.1',
          message: '/none is not the key of an API of this tenant.',
        },
      ])
      await apply(of(both, { shop: product }))
      expect((await read('platform', `?owner=${owner}`)).tenants.acme.products).toEqual({ shop: product })
      const list = (await plane.call('platform', 'GET', `/v1/tenants/${world.acme}/products`)).body
      expect(list.items[0]).toMatchObject({ slug: 'shop', api_ids: [expect.any(String), expect.any(String)] })
      const fewer = of({ '/prod-b': both['/prod-b'] }, { shop: { ...product, apis: ['/prod-b'] } })
      expect(paths(await apply(fewer, '?prune=true'))).toEqual([
        'update tenants/acme/products/shop',
        'delete tenants/acme/apis/prod-a',
      ])
      expect((await send(fewer, '?dry_run=true')).body.changes).toEqual([])
      expect(paths(await apply(of({}, {}), '?prune=true')).sort()).toEqual([
        'delete tenants/acme/apis/prod-b',
        'delete tenants/acme/products/shop',
      ])
    })

    it('reports what was changed outside of `config apply`, and overwrites it on request only', async () => {
      const body = { owner: 'team-d', tenants: { acme: { apis: { '/d': orders } } } }
      await apply(body)
      const list = await plane.call('admin', 'GET', `/v1/tenants/${world.acme}/apis?q=/d`)
      const address = `/v1/tenants/${world.acme}/apis/${list.body.items[0].id}`
      await plane.call('admin', 'PATCH', address, { description: 'changed by hand' })
      const dry = (await send(body, '?dry_run=true')).body
      expect(dry.drift).toEqual([
        { path: 'tenants/acme/apis/d', field: 'description', applied: '', live: 'changed by hand' },
      ])
      expect((await send(body)).body.error).toMatchObject({
        code: 'conflict',
        details: [
          { field: 'tenants/acme/apis/d/description', message: 'was changed outside of `config apply`.' },
        ],
      })
      await apply(body, '?overwrite_drift=true')
      expect((await plane.call('admin', 'GET', address)).body.description).toBe('')
      // a change that the tree has adopted is not drift
      await plane.call('admin', 'PATCH', address, { description: 'adopted' })
      await apply({
        owner: 'team-d',
        tenants: { acme: { apis: { '/d': { ...orders, description: 'adopted' } } } },
      })
      // nor is it drift in a tree that also changes another field
      await plane.call('admin', 'PATCH', address, { description: 'adopted, too' })
      const adopted = { ...orders, description: 'adopted, too', name: 'Renamed' }
      await apply({ owner: 'team-d', tenants: { acme: { apis: { '/d': adopted } } } })
      // deleted by hand
      await plane.call('admin', 'DELETE', address)
      expect((await send(body, '?dry_run=true')).body.drift).toEqual([
        { path: 'tenants/acme/apis/d', field: null, applied: null, live: null },
      ])
      await apply(body, '?overwrite_drift=true')
    })

    it('lets one of two concurrent applies win, and shows the other what differs', async () => {
      const body = (name: string) => ({
        owner: 'team-c',
        tenants: { acme: { apis: { '/c': { ...orders, name } } } },
      })
      await apply(body('start'))
      const [one, other] = await Promise.all([
        send(body('one'), '?dry_run=true'),
        send(body('two'), '?dry_run=true'),
      ])
      const ifMatch = (reply: typeof one) => ({ 'if-match': reply.headers.get('etag')! })
      const replies = await Promise.all([
        send(body('one'), '', 'platform', ifMatch(one)),
        send(body('two'), '', 'platform', ifMatch(other)),
      ])
      expect(replies.map(reply => reply.status).sort()).toEqual([200, 412])
      expect(replies.find(reply => reply.status === 412)!.body.error.details).toEqual([
        { field: 'tenants/acme/apis/c/name', message: 'differs: an apply would update the resource.' },
      ])
    })

    it('changes a webhook when the value of its secret changes, and keeps it when the value is not given', async () => {
      const hook = { url: 'https://hooks.example/x', events: ['*'], secret: { from: 'X' } }
      const body = { owner: 'team-w', tenants: { acme: { webhooks: { x: hook } } } }
      const missing = await send(body)
      expect(missing.body.error.details).toEqual([
        {
          field: 'secrets.X',
          message:
            'is required, because a "from" field of the configuration refers to this secret. Send the value in secrets.',
        },
      ])
      expect((await send(body, '?dry_run=true')).body.missing_secrets).toEqual(['X'])
      const short = await send({ ...body, secrets: { X: 'short' } })
      expect(short.body.error.details[0].field).toBe('tenants/acme/webhooks/x/secret')
      const first = 'x'.repeat(32)
      await apply({ ...body, secrets: { X: first } })
      expect(paths(await apply({ ...body, secrets: { X: first } }))).toEqual([])
      expect(paths(await apply(body))).toEqual([])
      const rotated = await apply({ ...body, secrets: { X: 'y'.repeat(32) } })
      expect(rotated.changes[0].fields).toEqual([{ field: 'secret', from: { from: 'X' }, to: { from: 'X' } }])
      const unsigned = { ...body, tenants: { acme: { webhooks: { x: { ...hook, secret: null } } } } }
      await apply(unsigned)
      const list = await plane.call('admin', 'GET', `/v1/tenants/${world.acme}/webhooks`)
      expect(list.body.items.find((each: { name: string }) => each.name === 'x').has_secret).toBe(false)
    })

    it('shows that an address changes, in changes and in drift, and no path and query that may be a token', async () => {
      const hook = (path: string) => ({ url: `https://hooks.example${path}`, events: ['*'] })
      const server = (token: string) => {
        const at = (path: string) => `https://mcp.example${path}?token=${token}`
        const authentication = {
          type: 'oauth2_client_credentials',
          secret: 'crm',
          client_id: 'gateway',
          token_url: at('/token'),
        }
        return { name: 'CRM', type: 'mcp', upstream_url: at('/crm'), mcp: { authentication } }
      }
      const body = (token: string) => ({
        owner: 'team-u',
        tenants: {
          acme: { webhooks: { chat: hook(`/services/${token}`) }, apis: { '/crm': server(token) } },
        },
      })
      const digest = '\\[sha256:[0-9a-f]{12}\\]$'
      const masked = (start: string) => expect.stringMatching(new RegExp(`^${start}${digest}`))
      const hidden = masked('https://hooks\\.example/')
      const created = await apply(body('canary-1'))
      const updated = await apply(body('canary-2'))
      const fieldsOf = (changes: { fields: { field: string; from: never; to: never }[] }[]) =>
        Object.fromEntries(changes.flatMap(({ fields }) => fields.map(each => [each.field, each])))
      expect(fieldsOf(created.changes)).toMatchObject({ url: { from: null, to: hidden } })
      const { url, upstream_url: upstream, mcp } = fieldsOf(updated.changes)
      expect(url).toEqual({ field: 'url', from: fieldsOf(created.changes).url!.to, to: hidden })
      expect(url!.to).not.toBe(url!.from)
      const query = masked('https://mcp\\.example/crm\\?')
      expect(upstream).toEqual({ field: 'upstream_url', from: query, to: query })
      expect(upstream!.to).not.toBe(upstream!.from)
      const tokenUrl = { authentication: { token_url: masked('https://mcp\\.example/token\\?') } }
      expect(mcp).toMatchObject({ from: tokenUrl, to: tokenUrl })
      const list = await plane.call('admin', 'GET', `/v1/tenants/${world.acme}/webhooks`)
      const chat = list.body.items.find((each: { name: string }) => each.name === 'chat')
      const other = { url: hook('/services/canary-3').url }
      await plane.call('admin', 'PATCH', `/v1/tenants/${world.acme}/webhooks/${chat.id}`, other)
      const drifted = await send(body('canary-2'), '?dry_run=true')
      expect(drifted.body.drift).toEqual([
        { path: 'tenants/acme/webhooks/chat', field: 'url', applied: url!.to, live: hidden },
      ])
      const removed = await send({ owner: 'team-u', tenants: {} }, '?prune=true&overwrite_drift=true')
      expect(removed.body.changes).toHaveLength(2)
      expect(JSON.stringify([created, updated, drifted.body, removed.body])).not.toContain('canary-')
      // the export is a tree to apply, and has whole addresses
      await apply(body('canary-4'))
      expect((await read('platform', '?owner=team-u')).tenants.acme.webhooks.chat.url).toContain('canary-4')
      await apply({ owner: 'team-u', tenants: {} }, '?prune=true')
    })

    it.each<[string, Caller, object, number]>([
      [
        'a tenant admin applies to its tenant',
        'admin',
        { acme: { consumers: { t: { plan: 'gold' } } } },
        200,
      ],
      ['a tenant admin names another tenant', 'admin', { globex: {} }, 403],
      ['a tenant admin names a tenant that does not exist', 'admin', { nowhere: {} }, 403],
      ['a tenant admin changes the tier', 'admin', { acme: { tier: 'free' } }, 403],
      ['another role applies', 'devops', { acme: {} }, 403],
      ['the platform names a tenant that does not exist', 'platform', { nowhere: {} }, 400],
    ])('responds as the rights are: %s', async (_, caller, tenants, status) => {
      const reply = await send({ owner: `rights-${caller}`, tenants }, '', caller)
      expect(reply.status, JSON.stringify(reply.body)).toBe(status)
    })

    it('shows and changes no global plan and no tenant for a tenant admin', async () => {
      const mine = await read('admin')
      expect([mine.plans, Object.keys(mine.tenants), mine.tenants.acme.tier]).toEqual([
        undefined,
        ['acme'],
        undefined,
      ])
      expect((await send(mine, '?dry_run=true', 'admin')).body.changes).toEqual([])
      const plans = { bronze: { name: 'Mine' } }
      expect((await send({ owner: 'x', plans }, '', 'admin')).status).toBe(403)
    })

    it('takes documents that are larger than the body of a single request, up to its own limit', async () => {
      const spec = { openapi: '3.1.0', 'x-text': 'x'.repeat(700_000) }
      const apis = { '/large-1': { ...orders, spec }, '/large-2': { ...orders, spec } }
      const { changes } = await apply({ owner: 'team-l', tenants: { acme: { apis } } })
      expect(JSON.stringify(changes).length).toBeLessThan(5_000)
      await apply({ owner: 'team-l', tenants: {} }, '?prune=true')
      const huge = { '/huge': { ...orders, spec: { 'x-text': 'x'.repeat(4 * 1024 * 1024) } } }
      expect((await send({ owner: 'team-l', tenants: { acme: { apis: huge } } })).status).toBe(413)
    })

    it('rolls everything back when one change is refused', async () => {
      const before = await read()
      const reply = await send({
        owner: 'team-r',
        plans: { r: { name: 'R' } },
        tenants: { acme: { apis: { '/r': orders }, consumers: { r: { plan: 'nothing' } } } },
      })
      expect([reply.status, reply.body.error.details]).toEqual([
        400,
        [{ field: 'tenants/acme/consumers/r/plan', message: 'must be the slug of a plan that exists.' }],
      ])
      expect(await read()).toEqual(before)
    })

    it('suspends a tenant after its resources were written, and writes nothing to a suspended one', async () => {
      const body = (suspended: boolean, apis: object) => ({
        owner: 'team-s',
        tenants: { umbrella: { tier: 'starter', suspended, apis } },
      })
      await apply(body(true, { '/s': orders }))
      const refused = await send(body(true, { '/s': { ...orders, name: 'Other' } }))
      expect([refused.status, refused.body.error.code]).toEqual([403, 'tenant_suspended'])
      await apply(body(false, { '/s': { ...orders, name: 'Other' } }))
      await apply({ owner: 'team-s' }, '?prune=true')
      expect((await read()).tenants.umbrella).toBeUndefined()
    })
  })
})
