/** Metering events in the control plane, on both databases: folded once each, in the right hours, percentiles near the true ones. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { foldEvents, SPOOL_SOURCE } from '../../../src/control-plane/api/services/fold-events.ts'
import type { MeteringEvent } from '../../../src/link/metering-event.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const WRITER = '9234-56789abcdef0'

/** Ids of one writer, in the order of their numbers. */
function anEvent(number: number, world: World, fields: Partial<MeteringEvent> = {}): MeteringEvent {
  return {
    event_id: `01930000-0000-7${number.toString(16).padStart(3, '0')}-${WRITER}`,
    occurred_at: '2026-03-01T08:30:00.000Z',
    sequence: number,
    request_id: `req-${number}`,
    tenant_id: world.acme,
    consumer_id: 'app',
    subscription_id: world.subscription,
    api_id: world.api,
    tool: 'get_order',
    toolset: 'shop',
    access: 'rest',
    outcome: 'success',
    status_code: 200,
    latency_us: 1000 * number,
    request_bytes: 1,
    response_bytes: 2,
    tokens_saved_bytes: 0,
    cache_hit: false,
    counted: true,
    policy_revision: 'r',
    decision_id: '',
    gateway: 'g',
    ...fields,
  }
}

describe.each(DATABASES)('metering on $name', database => {
  describe.skipIf(database.skip)('in the control plane', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    const read = async (path: string) =>
      (await plane.call('platform', 'GET', `/v1/tenants/${world.acme}${path}`)).body
    const rows = async (query: string, api = '') => (await read(`${api}/metrics?${query}`)).metrics

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

    it('counts a batch of more writers than a statement may have parameters', async () => {
      const events = Array.from({ length: 70_000 }, (_, at) =>
        anEvent(1, world, { event_id: `of-another-program-${at}`, tenant_id: 'ten_unknown', counted: false }),
      )
      expect(await foldEvents(plane.store, 'topic/1', events)).toBe(70_000)
      expect(await foldEvents(plane.store, 'topic/1', events)).toBe(0)
    })

    it('counts each event once, regardless of repeats, batches and sources', async () => {
      const events = Array.from({ length: 100 }, (_, index) => anEvent(index + 1, world))
      expect(await foldEvents(plane.store, SPOOL_SOURCE, events.slice(0, 60))).toBe(60)
      expect(await foldEvents(plane.store, SPOOL_SOURCE, events.slice(40, 70))).toBe(10)
      expect(await foldEvents(plane.store, 'topic/0', events.slice(50, 80))).toBe(10)
      expect(await foldEvents(plane.store, 'topic/0', [...events.slice(70), ...events.slice(70)])).toBe(20)
      expect(await foldEvents(plane.store, SPOOL_SOURCE, events.slice(0, 10))).toBe(0)
      expect(await rows('start_date=2026-03-01&end_date=2026-03-01')).toEqual([
        {
          date: '2026-03-01',
          requests: 100,
          errors: 0,
          p50_latency_ms: expect.closeTo(50, 0),
          p95_latency_ms: expect.closeTo(95, -0.5),
          p99_latency_ms: expect.closeTo(99, -0.5),
        },
      ])
      expect(await read(`/subscriptions/${world.subscription}/usage`)).toMatchObject({
        requests: 100,
        errors: 0,
        last_request_at: '2026-03-01T08:30:00.000Z',
      })
    })

    it('counts once also when four take the same events at the same time', async () => {
      const writer = (number: number) => anEvent(number, world).event_id.replace('9234', 'a234')
      const events = [1, 2, 3, 4, 5].map(number =>
        anEvent(number, world, { event_id: writer(number), occurred_at: '2026-02-01T00:00:00.000Z' }),
      )
      const taken = await Promise.all([1, 2, 3, 4].map(() => foldEvents(plane.store, 'topic/1', events)))
      expect(taken.sort()).toEqual([0, 0, 0, 5])
    })

    it('adds hours up to days and months, in UTC, by API and for the whole tenant', async () => {
      const other = (number: number, occurred_at: string, fields: Partial<MeteringEvent> = {}) =>
        anEvent(number, world, {
          event_id: anEvent(number, world).event_id.replace('9234', 'b234'),
          occurred_at,
          counted: false,
          ...fields,
        })
      await foldEvents(plane.store, 'topic/2', [
        other(1, '2025-12-31T23:59:59.999Z', { outcome: 'denied' }),
        other(2, '2026-01-01T00:00:00.000Z'),
        other(3, '2026-01-01T00:59:59.000Z', { api_id: '', outcome: 'timeout' }),
        other(4, '2026-01-01T01:00:00.000Z'),
        other(5, '2026-01-02T00:00:00.000Z', { tenant_id: 'ten_of_nobody' }),
        other(6, '2026-01-31T12:00:00.000Z'),
      ])
      const counts = async (query: string, api = '') =>
        (await rows(query, api)).map((row: { date: string; requests: number; errors: number }) => [
          row.date,
          row.requests,
          row.errors,
        ])
      const range = 'start_date=2025-12-31&end_date=2026-01-31'
      expect(await counts(`${range}&granularity=hour`)).toEqual([
        ['2025-12-31T23:00:00Z', 1, 1],
        ['2026-01-01T00:00:00Z', 2, 1],
        ['2026-01-01T01:00:00Z', 1, 0],
        ['2026-01-31T12:00:00Z', 1, 0],
      ])
      expect(await counts(`${range}&granularity=month`)).toEqual([
        ['2025-12', 1, 1],
        ['2026-01', 4, 1],
      ])
      expect(await counts(range, `/apis/${world.api}`)).toEqual([
        ['2025-12-31', 1, 1],
        ['2026-01-01', 2, 0],
        ['2026-01-31', 1, 0],
      ])
    })

    it('refuses ranges that are turned round or too long', async () => {
      for (const query of [
        'start_date=2026-03-02&end_date=2026-03-01',
        'start_date=2025-01-01&granularity=hour',
        'start_date=2026-02-30',
      ]) {
        const reply = await plane.call('platform', 'GET', `/v1/tenants/${world.acme}/metrics?${query}`)
        expect([reply.status, reply.body.error.details[0].field]).toEqual([400, 'start_date'])
      }
    })

    it('shows a tenant nothing of another', async () => {
      const reply = await plane.call('stranger', 'GET', `/v1/tenants/${world.acme}/metrics`)
      expect(reply.status).toBe(403)
    })
  })
})
