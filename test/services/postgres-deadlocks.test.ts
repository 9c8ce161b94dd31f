/** Changes of one tenant and reports of several gateways at the same time, over a real server: no transaction waits for another in a circle. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seeded } from '../chaos/random.ts'
import { type Caller, openPlane, type Plane, populate, type World } from '../contract/control/plane.ts'
import { StreamClient } from '../contract/control/stream-client.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'

const LOOPS = 6
const GATEWAYS = 4
const SECONDS = 6
const KEYS = 12

describe.skipIf(WITHOUT_POSTGRES)(`transactions on PostgreSQL${POSTGRES_HINT}`, () => {
  let cluster: Cluster
  let plane: Plane
  let world: World
  let base: string
  const statuses = new Map<string, number>()

  beforeAll(async () => {
    cluster = await startCluster()
    plane = await openPlane({ cluster })
    world = await populate(plane)
    base = `/v1/tenants/${world.acme}`
    await call('POST', '/webhooks', { name: 'all', url: 'http://127.0.0.1:9/hook', events: ['*'] })
  }, 60_000)
  afterAll(async () => {
    await plane?.close()
    await cluster?.stop()
  })

  async function call(method: string, path: string, body?: object, caller: Caller = 'admin') {
    const reply = await plane.call(caller, method, base + path, body)
    note(`${method} ${path.replaceAll(/[a-z]+_[0-9a-z]{20,}/g, '…')}`, reply.status)
    return reply
  }

  function note(request: string, status: number): void {
    const key = `${request}: ${status}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
  }

  /** Each is counted, also where a transaction was repeated and its request succeeded; how long requests take says only how busy the machine is. */
  async function deadlocks(): Promise<number> {
    const client = new pg.Client({ connectionString: cluster.address('postgres') })
    await client.connect()
    // the statistics of a session are written within a second of its last transaction
    await sleep(1_500)
    const { rows } = await client.query('select sum(deadlocks)::int as total from pg_stat_database')
    await client.end()
    return rows[0].total
  }

  it('of changes of one tenant and of reports of gateways never wait in a circle', async () => {
    const subscription = { subscription_id: world.subscription }
    const keys: string[] = []
    for (let n = 0; n < KEYS; n++)
      keys.push((await call('POST', '/apikeys', { ...subscription, name: `key ${n}` })).body.id)
    const gateways = Array.from({ length: GATEWAYS }, (_, n) => new StreamClient(plane, `gateway-${n}`))
    await expect.poll(() => gateways.every(({ gatewayId }) => gatewayId !== '')).toBe(true)
    statuses.clear()
    const until = performance.now() + SECONDS * 1_000

    async function change(loop: number): Promise<void> {
      for (let n = 0; performance.now() < until; n++) {
        const path = `/life-${loop}-${n}`
        const api = await call('POST', '/apis', { name: path, path, upstream_url: 'http://127.0.0.1:9/a' })
        const made = { api_id: api.body.id, plan: 'silver', application: `life-${loop}` }
        const own = await call('POST', '/subscriptions', made)
        await call('POST', `/subscriptions/${own.body.id}/approve`, {})
        await call('PATCH', `/apis/${api.body.id}`, { path: `${path}/moved` })
        const key = await call('POST', '/apikeys', { subscription_id: own.body.id, name: 'second' })
        await call('POST', `/apikeys/${key.body.id}/rotate`, { grace_period_hours: 0 })
        await call('POST', `/apikeys/${keys[(loop + n) % KEYS]}/rotate`, { grace_period_hours: 1 })
        if (n % 2 === 0) await call('DELETE', `/subscriptions/${own.body.id}`)
        await call('DELETE', `/apis/${api.body.id}`)
      }
    }

    /** Changes of what the other loops use; several at once change the same rows. */
    async function administer(loop: number): Promise<void> {
      const settings = { rate_limit_multiplier: 2 }
      for (let n = 0; performance.now() < until; n++) {
        const path = `/part-${loop}-${n}`
        const api = await call('POST', '/apis', { name: path, path, upstream_url: 'http://127.0.0.1:9/a' })
        const parts = [api.body.id, world.api]
        const fields = { slug: `product-${loop}-${n}`, name: 'Commerce', plan: 'silver', api_ids: parts }
        const product = await call('POST', '/products', fields)
        const webhook = await call('POST', '/webhooks', { url: `http://127.0.0.1:9${path}`, events: ['*'] })
        await Promise.all([
          call('PATCH', `/products/${product.body.id}`, { name: 'Other', api_ids: parts.reverse() }),
          call('DELETE', `/apis/${api.body.id}`),
          call('PATCH', `/apis/${world.api}`, { path: `/orders-${loop}-${n}` }),
          call('PATCH', `/webhooks/${webhook.body.id}`, { events: ['subscription.created'] }),
          call('PATCH', '', { settings }, 'platform'),
        ])
        await call('DELETE', `/products/${product.body.id}`)
        await call('DELETE', `/webhooks/${webhook.body.id}`)
      }
    }

    async function report(gateway: StreamClient, seed: number): Promise<void> {
      const random = seeded(seed)
      while (performance.now() < until) {
        const at = new Date(plane.clock.nowMs).toISOString()
        const { status } = await gateway.report({
          keys_used: random.shuffle(keys).map(key_id => ({ key_id, at })),
          consumers_seen: random
            .shuffle(['app', 'admin', ...keys])
            .map(subject => ({ tenant_id: world.acme, subject, at })),
          usage: [{ ...subscription, day: at.slice(0, 10), requests: 1, errors: 0, last_request_at: at }],
        })
        note('report', status)
      }
    }

    await Promise.all([
      ...Array.from({ length: LOOPS }, (_, loop) => change(loop)),
      ...Array.from({ length: LOOPS / 2 }, (_, loop) => administer(loop)),
      ...gateways.map((gateway, n) => report(gateway, n + 1)),
    ])
    for (const gateway of gateways) await gateway.close()

    // an API may be deleted before a product takes it up
    const allowed = /: 20\d$|^PATCH \/products\/…: 400$/
    expect([...statuses.keys()].filter(key => !allowed.test(key))).toEqual([])
    expect(await deadlocks()).toBe(0)
  }, 60_000)
})
