/** From a committed change to every gateway: stream, poll, resumption, acknowledgements, drift, usage, and tenants that come and go with them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createControlPlane } from '../../../src/control-plane/api/control-plane.ts'
import { Publisher } from '../../../src/control-plane/publisher/publisher.ts'
import { applyUpdate, type ControlShare, EMPTY_SHARE } from '../../../src/link/control-share.ts'
import { startOwnTime } from '../../fixtures/own-time.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'
import { StreamClient } from './stream-client.ts'

describe.each(DATABASES)('snapshots on $name', database => {
  describe.skipIf(database.skip)('published', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let base: string
    const open = new Set<StreamClient>()

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
      base = `/v1/tenants/${world.acme}`
    })
    afterAll(async () => {
      for (const client of open) await client.close()
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    async function connect(name: string, from?: ControlShare): Promise<StreamClient> {
      const client = new StreamClient(plane, name, from)
      open.add(client)
      client.done.catch(() => {})
      await caughtUp(client)
      return client
    }

    async function caughtUp(client: StreamClient): Promise<void> {
      await plane.control.refresh()
      await expect
        .poll(() => client.share.version, { timeout: 15_000 })
        .toBe(plane.control.publisher.share.version)
    }

    const rename = (description: string) =>
      plane.call('admin', 'PATCH', `${base}/apis/${world.api}`, { description, path: `/${description}` })
    const deploymentOf = async (client: StreamClient) =>
      (
        await plane.call(
          'viewer',
          'GET',
          `/v1/deployments?gateway_id=${client.gatewayId}&api_id=${world.api}`,
        )
      ).body.items[0]

    it('connects no gateway for HEAD', async () => {
      const query = 'name=asks-head&url=http://127.0.0.1:1&workers=1'
      const request = new Request(`https://api.example/v1/gateways/stream?${query}`, {
        method: 'HEAD',
        headers: { authorization: 'Bearer gateway' },
      })
      const response = await plane.control.fetch(request)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
      const { items } = (await plane.call('platform', 'GET', '/v1/gateways')).body
      expect(items.map((one: { name: string }) => one.name)).not.toContain('asks-head')
    })

    it('holds what gateways need, and no key', async () => {
      await plane.control.refresh()
      const { share } = plane.control.publisher
      expect(share.plans.map(plan => plan.slug)).toEqual(['community', 'enterprise', 'gold', 'silver'])
      const acme = share.tenants.get(world.acme)!
      expect(acme).toMatchObject({ name: 'acme', suspended: false })
      expect(acme.apis).toEqual([
        {
          id: world.api,
          path: '/orders',
          upstreamUrl: 'http://127.0.0.1:9/orders',
          authRequired: true,
          requestsPerHour: null,
          passthrough: null,
        },
      ])
      expect(acme.subscriptions).toMatchObject([
        { id: world.subscription, application: 'app', plan: 'silver' },
      ])
      expect(acme.keys).toMatchObject([
        { id: world.key, prefix: world.secret.slice(0, 12), expiresAtMs: null },
      ])
      expect(JSON.stringify([...share.tenants])).not.toContain(world.secret.slice(13))
    })

    it('is pushed to a connected gateway, whole at first and then only what changed', async () => {
      const client = await connect('edge-push')
      expect(client.updates[0]).toMatchObject({ base: null })
      expect(client.share.tenants.size).toBe(2)
      const before = client.share.version
      await rename('renamed')
      await expect
        .poll(() => client.share.tenants.get(world.acme)?.apis[0]?.path, { timeout: 15_000 })
        .toBe('/renamed')
      expect(client.updates.at(-1)).toMatchObject({ base: before, removed: [] })
      expect(client.updates.at(-1)!.tenants.map(tenant => tenant.id)).toEqual([world.acme])
      expect(client.updates.at(-1)!.plans).toBeUndefined()
      await plane.call('platform', 'POST', '/v1/plans', { slug: 'brand-new', name: 'New' })
      await expect
        .poll(() => client.share.plans.some(plan => plan.slug === 'brand-new'), { timeout: 15_000 })
        .toBe(true)
      expect(client.updates.at(-1)!.tenants).toEqual([])
    })

    it('keeps its version when a change does not concern gateways', async () => {
      const client = await connect('edge-quiet')
      const { version } = client.share
      await plane.call('platform', 'PATCH', `/v1/tenants/${world.acme}`, { admin_email: 'other@example.com' })
      await plane.control.refresh()
      expect(plane.control.publisher.share.version).toBe(version)
    })

    it('has the same version on every instance of the control plane', async () => {
      const options = { store: plane.store, now: () => plane.clock.nowMs, onFault: () => {} }
      const other = new Publisher(options)
      await Promise.all([other.refresh(), plane.control.refresh()])
      expect(other.share.version).toBe(plane.control.publisher.share.version)
      expect(other.share.version).toMatch(/^[0-9a-f]{64}$/)
    })

    it('resumes by version: nothing when nothing happened, what was missed, all when the version is unknown', async () => {
      const first = await connect('edge-resume')
      await first.close()
      const same = await connect('edge-resume', first.share)
      expect(same.updates).toEqual([])
      await same.close()
      await rename('one')
      await rename('two')
      await plane.control.refresh()
      const missed = await connect('edge-resume', first.share)
      expect(missed.updates.map(update => [update.base, update.tenants.length])).toEqual([
        [first.share.version, 1],
      ])
      await missed.close()
      const lost = await connect('edge-resume', { ...first.share, version: 'f'.repeat(64) })
      expect(lost.updates[0]!.base).toBeNull()
      expect(lost.gatewayId).toBe(first.gatewayId)
    })

    it('removes a revoked key and suspends a tenant on the gateways', async () => {
      const client = await connect('edge-revoke')
      const body = { subscription_id: world.subscription, name: 'short-lived' }
      const tookMs: number[] = []
      // the machine may stall during one of them
      for (let time = 0; time < 3; time++) {
        const key = (await plane.call('admin', 'POST', `${base}/apikeys`, body)).body
        const served = () => client.share.tenants.get(world.acme)!.keys.some(each => each.id === key.id)
        await expect.poll(served, { timeout: 15_000 }).toBe(true)
        const elapsedMs = startOwnTime()
        await plane.call('admin', 'DELETE', `${base}/apikeys/${key.id}`)
        await expect.poll(served, { timeout: 15_000, interval: 5 }).toBe(false)
        tookMs.push(elapsedMs())
      }
      expect(Math.min(...tookMs)).toBeLessThan(1_000)
      await plane.call('platform', 'PATCH', `/v1/tenants/${world.globex}`, { status: 'suspended' })
      await expect
        .poll(() => client.share.tenants.get(world.globex)?.suspended, { timeout: 15_000 })
        .toBe(true)
    })

    it('carries both keys of a rotation, the old one with its end', async () => {
      const body = { subscription_id: world.subscription, name: 'rotating' }
      const key = (await plane.call('admin', 'POST', `${base}/apikeys`, body)).body
      const rotated = (
        await plane.call('admin', 'POST', `${base}/apikeys/${key.id}/rotate`, { grace_period_hours: 1 })
      ).body
      await plane.control.refresh()
      const keys = plane.control.publisher.share.tenants
        .get(world.acme)!
        .keys.filter(each => each.id === key.id)
      expect(keys).toMatchObject([
        { prefix: rotated.prefix, expiresAtMs: null },
        { prefix: key.prefix, expiresAtMs: plane.clock.nowMs + 3_600_000 },
      ])
    })

    it('makes a tenant active once a gateway serves it, and removes it once none does', async () => {
      const client = await connect('edge-tenants')
      const id = (await plane.call('platform', 'POST', '/v1/tenants', { name: 'comer' })).body.id
      const status = async () => (await plane.call('platform', 'GET', `/v1/tenants/${id}`)).body.status
      await caughtUp(client)
      await plane.control.settle()
      expect(await status()).toBe('provisioning')
      await client.report()
      await expect.poll(status, { timeout: 15_000 }).toBe('active')

      await plane.call('platform', 'DELETE', `/v1/tenants/${id}`)
      await caughtUp(client)
      expect(client.share.tenants.has(id)).toBe(false)
      await plane.control.settle()
      expect(await status()).toBe('deleting')
      // again and again, as gateways do: one may not have received the change at its first report
      const statusAfterReports = async () => {
        for (const each of open) await each.report()
        return status()
      }
      await expect.poll(statusAfterReports, { timeout: 15_000 }).toBeUndefined()
    })

    it('is shown by each deployment: pending, synced, syncing, drift, error, and synced again', async () => {
      const client = await connect('edge-drift')
      expect((await deploymentOf(client)).sync_status).toBe('pending')
      expect((await client.report()).status).toBe(204)
      const synced = await deploymentOf(client)
      expect(synced).toMatchObject({
        sync_status: 'synced',
        actual_version: synced.desired_version,
        error: null,
      })
      await rename('drifting')
      await caughtUp(client)
      expect((await deploymentOf(client)).sync_status).toBe('syncing')
      plane.clock.nowMs += 6_000
      expect((await deploymentOf(client)).sync_status).toBe('drift')
      await client.report({ snapshot_version: synced.actual_version, error: 'plan "x" is missing' })
      expect(await deploymentOf(client)).toMatchObject({ sync_status: 'error', error: 'plan "x" is missing' })
      await client.report()
      expect((await deploymentOf(client)).sync_status).toBe('synced')
    })

    it('is sent whole again on request', async () => {
      const client = await connect('edge-sync')
      await client.report()
      const { id } = await deploymentOf(client)
      const asked = await plane.call('devops', 'POST', `/v1/deployments/${id}/sync`)
      expect([asked.status, asked.body.sync_status]).toEqual([202, 'syncing'])
      await expect.poll(() => client.updates.length, { timeout: 15_000 }).toBe(2)
      expect(client.updates[1]).toMatchObject({ base: null, version: client.share.version })
      expect(client.updates[1]!.resync).not.toBeNull()
      await client.report()
      expect((await plane.call('viewer', 'GET', `/v1/deployments/${id}`)).body.sync_status).toBe('synced')
    })

    it('shows an instance as it reports itself, and offline when it is silent', async () => {
      const client = await connect('edge-status')
      const status = async () => (await plane.call('viewer', 'GET', `/v1/gateways/${client.gatewayId}`)).body
      expect(await status()).toMatchObject({
        name: 'edge-status',
        status: 'online',
        workers: 2,
        snapshot_version: null,
      })
      await client.report({ status: 'degraded', workers: 3 })
      expect(await status()).toMatchObject({
        status: 'degraded',
        workers: 3,
        snapshot_version: client.share.version,
      })
      plane.clock.nowMs += 16_000
      expect((await status()).status).toBe('offline')
      const offline = await plane.call('viewer', 'GET', '/v1/gateways?status=offline&q=edge-status')
      expect(offline.body.total).toBe(1)
    })

    it('counts usage once, however often a report is repeated', async () => {
      const client = await connect('edge-usage')
      const at = new Date(plane.clock.nowMs).toISOString()
      const usage = [
        {
          subscription_id: world.subscription,
          day: at.slice(0, 10),
          requests: 5,
          errors: 1,
          last_request_at: at,
        },
      ]
      const consumers_seen = [{ tenant_id: world.acme, subject: 'app', at }]
      const fields = { usage, keys_used: [{ key_id: world.key, at }], consumers_seen, sequence: 1 }
      for (let time = 0; time < 3; time++) await client.report(fields)
      const read = await plane.call('viewer', 'GET', `${base}/subscriptions/${world.subscription}/usage`)
      expect(read.body).toMatchObject({ requests: 5, errors: 1, last_request_at: at })
      const key = (await plane.call('viewer', 'GET', `${base}/apikeys?q=${world.secret.slice(0, 12)}`)).body
        .items[0]
      expect(key.last_used_at).toBe(at)
      expect((await plane.call('viewer', 'GET', '/v1/consumers?q=app')).body.items[0].last_seen_at).toBe(at)
    })

    it('responds to a poll with the same updates', async () => {
      const poll = async (from: string) =>
        (await plane.call('gateway', 'GET', `/v1/gateways/snapshot${from && `?from=${from}`}`)).body
      const whole = await poll('')
      const share = applyUpdate(EMPTY_SHARE, whole)
      expect(await poll(share.version)).toBeNull()
      await rename('polled')
      await plane.control.refresh()
      const next = applyUpdate(share, await poll(share.version))
      expect(next.tenants.get(world.acme)!.apis[0]!.path).toBe('/polled')
    })

    it('ends streams when the control plane stops, and resumes after a restart', async () => {
      const second = createControlPlane(plane.options)
      await second.refresh()
      const client = new StreamClient({ ...plane, control: second }, 'edge-restart')
      await expect.poll(() => client.share.version, { timeout: 15_000 }).toBe(second.publisher.share.version)
      await second.close()
      await client.done
      const again = await connect('edge-restart', client.share)
      expect(again.updates).toEqual([])
    })
  })
})
