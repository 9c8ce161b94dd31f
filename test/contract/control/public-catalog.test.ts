/** What visitors without a token see: published fields of public APIs of active tenants and products with them, cacheable, and limited for each address. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientAddresses } from '../../../src/net/server/client-address.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { type Caller, DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const PUBLISHED = [
  ...['id', 'tenant', 'name', 'description', 'version', 'auth_required', 'type', 'public_url', 'status'],
  ...['versioning', 'deprecated_at', 'deprecation', 'created_at', 'updated_at'],
]
const PER_MINUTE = 40

let paths = 0

describe.each(DATABASES)('the public catalog on $name', database => {
  describe.skipIf(database.skip)('over the wire', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let address = '192.0.2.1'

    beforeAll(async () => {
      cluster = await database.start()
      // a test has no connection: its requests come through a proxy that the deployment trusts
      const addressOf = clientAddresses(['198.51.100.0/24'])
      const visitors = {
        perMinute: PER_MINUTE,
        addressOf: (request: Parameters<typeof addressOf>[0]) =>
          addressOf({ header: request.header, peerAddress: '198.51.100.7' }),
      }
      plane = await openPlane({ cluster, options: { visitors } })
      world = await populate(plane)
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    const visit = (path: string, headers: Record<string, string> = {}, by: Caller | null = null) =>
      plane.call(by, 'GET', `/v1/public${path}`, undefined, { 'x-forwarded-for': address, ...headers })
    async function register(fields: object, tenant = world.acme): Promise<string> {
      const body = {
        name: 'Parcels',
        path: `/parcels-${++paths}`,
        upstream_url: 'http://parcels.internal.example/v2',
        rate_limit: { requests_per_hour: 10 },
        portal_visibility: true,
        visibility: 'public',
        ...fields,
      }
      const reply = await plane.call('platform', 'POST', `/v1/tenants/${tenant}/apis`, body)
      expect(reply.status, JSON.stringify(reply.body)).toBe(201)
      return reply.body.id
    }
    const change = (id: string, body: object, tenant = world.acme) =>
      plane.call('platform', 'PATCH', `/v1/tenants/${tenant}/apis/${id}`, body)

    it('shows exactly the published fields, with and without a token, whatever the token', async () => {
      const id = await register({ name: 'Exact fields', spec: { openapi: '3.1.0' } })
      for (const by of [null, 'expired' as Caller, 'forged' as Caller, 'unprivileged', 'stranger'] as const) {
        const list = await visit('/apis?q=exact%20fields', {}, by)
        expect(list.status).toBe(200)
        expect(list.body).toMatchObject({ total: 1, page: 1, limit: 20, total_pages: 1 })
        expect(Object.keys(list.body.items[0]).sort()).toEqual([...PUBLISHED].sort())
        const one = await visit(`/apis/${id}`, {}, by)
        expect(Object.keys(one.body).sort()).toEqual([...PUBLISHED, 'spec', 'tools', 'changelog'].sort())
        expect(one.body).toMatchObject({ id, tenant: 'acme', spec: { openapi: '3.1.0' } })
        expect(JSON.stringify([list.body, one.body])).not.toMatch(/internal|requests_per_hour|ten_/)
      }
    })

    it('shows nothing that is for the tenant, not listed, retired, deleted, or of a tenant that is not active', async () => {
      const shown = await register({ name: 'Hidden? no' })
      const hidden = [
        await register({ name: 'Hidden? yes', visibility: 'tenant' }),
        await register({ name: 'Hidden? yes', portal_visibility: false }),
        await register({ name: 'Hidden? yes' }),
        await register({ name: 'Hidden? yes' }),
      ]
      expect((await change(hidden[2]!, { status: 'retired' })).status).toBe(200)
      const deleted = await plane.call('platform', 'DELETE', `/v1/tenants/${world.acme}/apis/${hidden[3]}`)
      expect(deleted.status).toBe(204)
      const found = await visit('/apis?q=hidden%3F')
      expect(found.body.items.map((each: { id: string }) => each.id)).toEqual([shown])
      for (const id of [...hidden, 'nothing', '%00']) expect((await visit(`/apis/${id}`)).status).toBe(404)
      const suspend = (status: string) =>
        plane.call('platform', 'PATCH', `/v1/tenants/${world.acme}`, { status })
      expect((await suspend('suspended')).status).toBe(200)
      try {
        expect((await visit('/apis')).body.total).toBe(0)
        expect((await visit(`/apis/${shown}`)).status).toBe(404)
      } finally {
        expect((await suspend('active')).status).toBe(200)
      }
      expect((await visit(`/apis/${shown}`)).status).toBe(200)
    })

    it('shows products with a public API, with that API alone, and no other', async () => {
      address = '192.0.2.2'
      const open = await register({ name: 'Open' })
      const closed = await register({ name: 'Closed', visibility: 'tenant' })
      const product = async (slug: string, apis: readonly string[], portal_visibility = true) => {
        const body = { slug, name: `Bundle ${slug}`, plan: 'gold', api_ids: apis, portal_visibility }
        const made = await plane.call('platform', 'POST', `/v1/tenants/${world.acme}/products`, body)
        expect(made.status, JSON.stringify(made.body)).toBe(201)
        return made.body.id
      }
      const shown = await product('both', [closed, open])
      const hidden = [await product('closed', [closed]), await product('unlisted', [open], false)]
      const { body } = await visit('/products?q=bundle')
      const apis = [{ id: open, name: 'Open', version: 'v1' }]
      const one = {
        id: shown,
        tenant: 'acme',
        slug: 'both',
        name: 'Bundle both',
        description: '',
        plan: 'gold',
      }
      expect(body).toMatchObject({ total: 1, items: [{ ...one, apis }] })
      expect(Object.keys(body.items[0]).sort()).toEqual([...Object.keys(one), 'apis'].sort())
      expect((await visit(`/products/${shown}`)).body).toEqual(body.items[0])
      for (const id of [...hidden, 'nothing', '%00'])
        expect((await visit(`/products/${id}`)).status).toBe(404)
      const suspend = (status: string) =>
        plane.call('platform', 'PATCH', `/v1/tenants/${world.acme}`, { status })
      expect((await suspend('suspended')).status).toBe(200)
      try {
        expect((await visit('/products')).body.total).toBe(0)
        expect((await visit(`/products/${shown}`)).status).toBe(404)
      } finally {
        expect((await suspend('active')).status).toBe(200)
      }
      expect((await change(open, { status: 'retired' })).status).toBe(200)
      expect((await visit('/products')).body.total).toBe(0)
      expect((await visit(`/products/${shown}`)).status).toBe(404)
    })

    it('is read only, and names each parameter that is not valid', async () => {
      for (const method of ['POST', 'PATCH', 'DELETE'])
        expect((await plane.call('platform', method, '/v1/public/apis')).status).toBe(405)
      for (const [name, value] of [
        ['page', '0'],
        ['limit', '101'],
        ['status', 'retired'],
        ['sort', 'tenant_id'],
        ['q', '%00'],
      ]) {
        const { status, body } = await visit(`/apis?${name}=${value}`)
        expect([status, body.error.details[0].field]).toEqual([400, name])
      }
    })

    it('can be cached, and revalidated with its entity tag', async () => {
      const id = await register({ name: 'Cached' })
      const first = await visit(`/apis/${id}`)
      expect(first.headers.get('cache-control')).toBe('public, max-age=60')
      const etag = first.headers.get('etag')!
      for (const tag of [etag, `"x", W/${etag}`])
        expect((await visit(`/apis/${id}`, { 'if-none-match': tag })).status).toBe(304)
      await change(id, { description: 'Now with parcels' })
      const next = await visit(`/apis/${id}`, { 'if-none-match': etag })
      expect([next.status, next.headers.get('etag') === etag]).toEqual([200, false])
      const refused = await visit('/apis/nothing')
      expect(refused.headers.get('cache-control')).toBe('no-store')
    })

    it('lists the changes since the API is public, without who made them and what was before', async () => {
      const id = await register({ name: 'Changed', visibility: 'tenant', version: 'secret-v0' })
      await change(id, { description: 'not for visitors', version: 'v1' })
      await change(id, { visibility: 'public' })
      await change(id, { version: 'v2', spec: { openapi: '3.1.0' } })
      await change(id, {
        rate_limit: { requests_per_hour: 7 },
        upstream_url: 'http://other.internal.example',
      })
      await change(id, { status: 'deprecated' })
      const { changelog } = (await visit(`/apis/${id}`)).body
      expect(changelog.map(({ at: _at, ...each }: { at: string }) => each)).toEqual([
        { kind: 'status', from: 'active', to: 'deprecated' },
        { kind: 'version', from: 'v1', to: 'v2' },
        { kind: 'document', from: null, to: null },
        { kind: 'published', from: null, to: 'v1' },
      ])
      expect(JSON.stringify(changelog)).not.toMatch(/secret-v0|internal|platform/)
      const own = (await plane.call('viewer', 'GET', `/v1/portal/apis/${id}`)).body
      expect(own.changelog.at(-1)).toMatchObject({ kind: 'published', to: 'secret-v0' })
    })

    it('limits each address, of IPv6 each /64, and no other', async () => {
      const before = address
      try {
        address = '2001:db8:1:2::1'
        const statuses = []
        for (let at = 0; at <= PER_MINUTE; at++) statuses.push((await visit('/apis?limit=1')).status)
        expect(statuses.slice(0, PER_MINUTE).every(status => status === 200)).toBe(true)
        expect(statuses.at(-1)).toBe(429)
        address = '2001:db8:1:2:3:4:5:6'
        const refused = await visit('/apis')
        expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited'])
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
        address = '2001:db8:1:3::1'
        expect((await visit('/apis')).status).toBe(200)
        address = '2001:db8:1:2::1'
        plane.clock.nowMs += 60_000
        expect((await visit('/apis')).status).toBe(200)
      } finally {
        address = before
      }
    })
  })
})
