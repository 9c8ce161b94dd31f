/** Lists: order, search, and all rows as CSV and NDJSON. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportRows, MAX_EXPORT_ROWS } from '../../../src/control-plane/api/http/export-rows.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

describe.each(DATABASES)('lists on $name', database => {
  describe.skipIf(database.skip)('of many items', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let apis: string
    const NAMES = ['delta', 'alpha', 'charlie', 'alpha', 'bravo']

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
      apis = `/v1/tenants/${world.acme}/apis`
      for (const [index, name] of NAMES.entries())
        await plane.call('admin', 'POST', apis, {
          name,
          upstream_url: 'http://127.0.0.1:9',
          path: `/list-${index}`,
        })
    })
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    const read = async (query: string, address = apis) =>
      (await plane.call('viewer', 'GET', `${address}?${query}`)).body
    const paths = async (query: string) =>
      (await read(`q=/list&${query}`)).items.map((item: { path: string }) => item.path.slice(-1)).join('')

    it.each([
      ['', '01234'],
      ['sort=created_at', '01234'],
      ['sort=-created_at', '43210'],
      ['sort=name', '13420'],
      ['sort=-name', '02431'],
      ['sort=path&limit=2&page=2', '23'],
    ])('are in the order of %s', async (query, expected) => {
      expect(await paths(query)).toBe(expected)
    })

    it('have items without a value at the end, in both orders', async () => {
      const consumers = `/v1/tenants/${world.acme}/consumers`
      await plane.store.write(world.acme, async tx => {
        const [first] = (await tx.consumers.list({}, { page: 1, limit: 1 })).items
        await tx.consumers.ensure({ ...first!, id: 'con_x', subject: 'seen', lastSeenAt: new Date(0) })
      })
      for (const sort of ['last_seen_at', '-last_seen_at'])
        expect((await read(`sort=${sort}`, consumers)).items[0].subject, sort).toBe('seen')
    })

    it('of deliveries are searched by event, and sorted', async () => {
      const webhooks = `/v1/tenants/${world.acme}/webhooks`
      const hook = { url: 'https://hooks.example/x', events: ['*'] }
      const { id } = (await plane.call('admin', 'POST', webhooks, hook)).body
      for (const kind of ['subscription.revoked', 'subscription.created', 'webhook.failing'])
        await plane.call('admin', 'POST', `${webhooks}/${id}/test`, { event_type: kind })
      const found = async (query: string) =>
        (await read(query, `${webhooks}/${id}/deliveries`)).items.map(({ event }: { event: string }) => event)
      expect(await found('q=subscription.')).toEqual(['subscription.created', 'subscription.revoked'])
      expect(await found('q=%25')).toEqual([])
      expect(await found('sort=event')).toEqual([
        'subscription.created',
        'subscription.revoked',
        'webhook.failing',
      ])
      expect((await found('sort=-event'))[0]).toBe('webhook.failing')
    })

    it('of deployments are searched by API and gateway, and sorted', async () => {
      const hello = { name: 'edge', url: '', version: '1', workers: 1, authConfig: {} }
      ;(await plane.control.transport.connect(hello, null)).close()
      const found = async (query: string) => (await read(query, '/v1/deployments')).items
      expect(await found('q=bravo')).toHaveLength(1)
      expect(await found('q=EDGE')).toHaveLength(6)
      expect(await found('q=nothing')).toEqual([])
      const up = (await found('sort=api_id')).map(({ api_id }: { api_id: string }) => api_id)
      expect(up).toEqual([...up].sort())
      const down = (await found('sort=-api_id')).map(({ api_id }: { api_id: string }) => api_id)
      expect(down).toEqual(up.toReversed())
      expect((await plane.call('stranger', 'GET', '/v1/deployments?q=bravo')).body.items ?? []).toEqual([])
    })

    it('refuse an order that they do not have', async () => {
      const reply = await plane.call('viewer', 'GET', `${apis}?sort=upstream_url;drop`)
      expect([reply.status, reply.body.error.details[0].field]).toEqual([400, 'sort'])
    })

    it('are sent whole as NDJSON, which has the items of the pages', async () => {
      const reply = await plane.call('viewer', 'GET', `${apis}?format=ndjson&limit=1&sort=-name`)
      expect(reply.headers.get('content-type')).toBe('application/x-ndjson')
      const lines = (reply.body as string)
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      expect(lines).toEqual((await read('limit=100&sort=-name')).items)
    })

    it('are sent whole as CSV, filtered and limited to what the caller may see', async () => {
      const reply = await plane.call('viewer', 'GET', `${apis}?format=csv&q=/list-0`)
      expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      const [head, row, end] = (reply.body as string).split('\r\n')
      expect([head!.split(',').slice(0, 4), row!.includes('delta'), end]).toEqual([
        ['id', 'tenant_id', 'name', 'description'],
        true,
        '',
      ])
      const all = '/v1/subscriptions?format=ndjson'
      expect((await plane.call('app', 'GET', all)).body).toContain(world.subscription)
      expect((await plane.call('portal', 'GET', all)).body).toBe('')
      expect((await plane.call('stranger', 'GET', all)).body).toBe('')
    })
  })
})

describe('an export', () => {
  it('quotes cells, and writes no formula that a spreadsheet would run', () => {
    const items = [{ a: '=1+1', b: 'x "y", z', c: null, d: [1, { e: 'f' }], g: '-5' }]
    expect(exportRows({ items, total: 1 }, 'csv')).toBe(
      `a,b,c,d,g\r\n'=1+1,"x ""y"", z",,"[1,{""e"":""f""}]",'-5\r\n`,
    )
  })

  it('of more rows than one response may have is refused, not cut', () => {
    expect(() => exportRows({ items: [], total: MAX_EXPORT_ROWS + 1 }, 'ndjson')).toThrow('Narrow the filter')
  })
})
