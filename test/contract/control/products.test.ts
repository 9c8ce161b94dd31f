/** Products: one subscription to several APIs, in requests, catalog, events and what gateways receive. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVERY_TENANT } from '../../../src/control-plane/store/store.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { type Caller, DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

describe.each(DATABASES)('products on $name', database => {
  describe.skipIf(database.skip)('of a tenant', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let base: string
    let second: string
    let product: string
    let subscription: string

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
      base = `/v1/tenants/${world.acme}`
      second = await anApi('/invoices', false)
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    const as = (caller: Caller, method: string, path: string, body?: unknown) =>
      plane.call(caller, method, `${base}${path}`, body)
    const anApi = async (path: string, shown: boolean): Promise<string> => {
      const fields = {
        name: path.slice(1),
        upstream_url: 'http://127.0.0.1:9/x',
        path,
        portal_visibility: shown,
      }
      return (await as('admin', 'POST', '/apis', fields)).body.id
    }
    const served = async () => {
      await plane.control.refresh()
      return plane.control.publisher.share.tenants.get(world.acme)!
    }

    it('name APIs of their tenant and a plan', async () => {
      const fields = { slug: 'commerce', name: 'Commerce', plan: 'silver', portal_visibility: true }
      const foreign = await plane.call('platform', 'POST', `/v1/tenants/${world.globex}/apis`, {
        name: 'Theirs',
        upstream_url: 'http://127.0.0.1:9/x',
        path: '/theirs',
      })
      const wrong = { ...fields, plan: 'unknown', api_ids: [world.api, foreign.body.id] }
      expect((await as('admin', 'POST', '/products', wrong)).body.error.details).toEqual([
        { field: 'plan', message: 'must be the slug of a plan that exists.' },
        { field: 'api_ids.1', message: 'must be the id of an API of this tenant.' },
      ])
      const made = await as('admin', 'POST', '/products', { ...fields, api_ids: [world.api, second] })
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({ ...fields, api_ids: [world.api, second], tenant_id: world.acme })
      product = made.body.id
      const again = await as('admin', 'POST', '/products', { ...fields, api_ids: [second] })
      expect([again.status, again.body.error.details]).toEqual([
        409,
        [{ field: 'slug', message: 'is taken.' }],
      ])
      expect((await as('admin', 'GET', `/products/${product}`)).body).toEqual(made.body)
      expect((await as('admin', 'GET', '/products?q=comm')).body.total).toBe(1)
      const stale = await plane.call(
        'admin',
        'PATCH',
        `${base}/products/${product}`,
        { name: 'X' },
        { 'if-match': '"9"' },
      )
      expect(stale.status).toBe(412)
    })

    it('are in the catalog without the APIs that it does not show, and not in that of another tenant', async () => {
      const { body } = await plane.call('subscriber', 'GET', '/v1/portal/products')
      expect(body.items).toEqual([expect.objectContaining({ id: product, tenant: 'acme', plan: 'silver' })])
      expect(body.items[0].apis).toEqual([{ id: world.api, name: 'Orders', version: 'v1' }])
      const one = `/v1/portal/products/${product}`
      expect((await plane.call('subscriber', 'GET', one)).body).toEqual(body.items[0])
      expect((await plane.call('stranger', 'GET', one)).status).toBe(404)
      expect((await plane.call('stranger', 'GET', '/v1/portal/products')).body.total).toBe(0)
      expect((await plane.call('stranger', 'GET', `${base}/products/${product}`)).status).toBe(403)
      const other = `/v1/tenants/${world.globex}/products/${product}`
      expect((await plane.call('stranger', 'GET', other)).status).toBe(404)
    })

    it('are subscribed to with their plan, once for each application, and are approved like APIs', async () => {
      const faults = async (body: object) =>
        (await as('app', 'POST', '/subscriptions', { application: 'app', ...body })).body.error.details
      expect(await faults({})).toEqual([{ field: 'api_id', message: 'is required.' }])
      expect(await faults({ api_id: world.api })).toEqual([{ field: 'plan', message: 'is required.' }])
      expect(await faults({ product_id: product, plan: 'gold' })).toMatchObject([{ field: 'plan' }])
      expect(await faults({ product_id: product, api_id: second })).toMatchObject([{ field: 'product_id' }])
      expect(await faults({ product_id: 'prd_x' })).toMatchObject([{ field: 'product_id' }])
      const made = await as('app', 'POST', '/subscriptions', { application: 'app', product_id: product })
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({
        api_id: null,
        api_name: null,
        product_id: product,
        product_name: 'Commerce',
        plan: 'silver',
        status: 'pending_approval',
        api_key: null,
      })
      subscription = made.body.id
      const again = await as('app', 'POST', '/subscriptions', { application: 'app', product_id: product })
      expect(again.status).toBe(409)
      const approved = await as('admin', 'POST', `/subscriptions/${subscription}/approve`, {})
      expect(approved.body.api_key).toMatch(/^tgk_/)
      expect((await as('admin', 'GET', `/subscriptions?product_id=${product}`)).body.total).toBe(1)
      expect((await plane.call('admin', 'DELETE', '/v1/plans/silver')).status).toBe(403)
    })

    it('are not in the catalog unless their owner shows them', async () => {
      const hidden = { slug: 'hidden', name: 'Hidden', plan: 'gold', api_ids: [second] }
      const { id } = (await as('admin', 'POST', '/products', hidden)).body
      expect((await plane.call('subscriber', 'GET', `/v1/portal/products/${id}`)).status).toBe(404)
      expect((await plane.call('subscriber', 'GET', '/v1/portal/products?q=hidden')).body.total).toBe(0)
    })

    it('hand their subscriptions over to another product, which keep their plan', async () => {
      const body = { slug: 'next', name: 'Next', plan: 'gold', api_ids: [second] }
      const next = (await as('admin', 'POST', '/products', body)).body.id
      const twice = await as('app', 'POST', '/subscriptions', { application: 'twice', product_id: product })
      expect(twice.status).toBe(403)
      for (const id of [product, next])
        await as('admin', 'POST', '/subscriptions', { application: 'twice', product_id: id })
      const move = (from: string, request: object) =>
        as('admin', 'POST', `/products/${from}/migrate`, request)
      expect((await move(product, { to_product_id: product })).body.error.details).toMatchObject([
        { field: 'to_product_id', message: 'must differ from the product in the path.' },
      ])
      expect((await move(product, { to_product_id: 'prd_x' })).status).toBe(400)
      expect((await move('prd_x', { to_product_id: next })).status).toBe(404)
      const moved = await move(product, { to_product_id: next, reason: 'Replaced.' })
      const { migrated, remaining, skipped } = moved.body
      expect([moved.status, migrated, remaining]).toEqual([200, 1, 0])
      expect(skipped).toMatchObject([{ application: 'twice' }])
      expect((await as('app', 'GET', `/subscriptions/${subscription}`)).body).toMatchObject({
        product_id: next,
        plan: 'silver',
        status: 'approved',
      })
      const found = (await served()).subscriptions.find(({ id }) => id === subscription)
      expect(found).toMatchObject({ apiIds: [second], plan: 'silver' })
      const events = await plane.store.read(EVERY_TENANT, tx => tx.events.after(0, 1000))
      expect(events.findLast(({ kind }) => kind === 'subscription.migrated')!.data).toMatchObject({
        subscription_id: subscription,
        product_id: next,
        product_name: 'Next',
        from_product_id: product,
        reason: 'Replaced.',
      })
      // and the way back, of one application
      const back = await move(next, { to_product_id: product, applications: ['app'] })
      expect(back.body).toEqual({ migrated: 1, remaining: 0, skipped: [] })
    })

    it('have events of their subscriptions, and of themselves', async () => {
      const events = await plane.store.read(EVERY_TENANT, tx => tx.events.after(0, 1000))
      const approved = events.findLast(({ kind }) => kind === 'subscription.approved')
      expect(approved!.data).toMatchObject({
        subscription_id: subscription,
        api_id: null,
        api_name: '',
        status: 'approved',
        product_id: product,
        product_name: 'Commerce',
      })
      const created = events.filter(({ kind }) => kind === 'product.created')
      expect(created.filter(({ resourceId }) => resourceId === product)).toHaveLength(1)
    })

    it('reach gateways as the APIs of a subscription, and change with the product', async () => {
      const found = async () => (await served()).subscriptions.find(({ id }) => id === subscription)
      expect(await found()).toMatchObject({ apiId: world.api, apiIds: [world.api, second], plan: 'silver' })
      const third = await anApi('/refunds', true)
      const patch = { api_ids: [second, third], plan: 'gold' }
      expect((await as('admin', 'PATCH', `/products/${product}`, patch)).status).toBe(200)
      expect(await found()).toMatchObject({ apiId: second, apiIds: [second, third], plan: 'silver' })
      expect((await as('admin', 'DELETE', `/apis/${second}`)).status).toBe(204)
      expect((await as('admin', 'GET', `/products/${product}`)).body.api_ids).toEqual([third])
      expect(await found()).toMatchObject({ apiIds: [third] })
      await as('admin', 'POST', `/subscriptions/${subscription}/suspend`, {})
      expect((await served()).inactive).toMatchObject([
        { id: subscription, apiIds: [third], state: 'suspended' },
      ])
    })

    it('end with their subscriptions, and their slug is free again', async () => {
      expect((await as('viewer', 'DELETE', `/products/${product}`)).status).toBe(403)
      expect((await as('admin', 'DELETE', `/products/${product}`)).status).toBe(204)
      expect((await as('admin', 'GET', `/subscriptions/${subscription}`)).body).toMatchObject({
        status: 'revoked',
        reason: 'The product was deleted.',
        product_name: 'Commerce',
      })
      expect((await served()).subscriptions.find(({ id }) => id === subscription)).toBeUndefined()
      const fields = { slug: 'commerce', name: 'Again', plan: 'gold', api_ids: [world.api] }
      expect((await as('admin', 'POST', '/products', fields)).status).toBe(201)
    })
  })
})
