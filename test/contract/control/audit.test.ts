/** The audit on both databases: who changed what, before and after; who may read and search it; its chain after concurrent writers, and its retention. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Maintenance } from '../../../src/control-plane/maintenance.ts'
import { verifyAudit } from '../../../src/control-plane/store/audit-chain.ts'
import { recordAction } from '../../../src/control-plane/store/audited.ts'
import { EVERY_TENANT } from '../../../src/control-plane/store/store.ts'
import type { AdminAction } from '../../../src/link/report.ts'
import { systemOrigin } from '../../../src/model/audit.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

interface Row {
  readonly seq: number
  readonly action: string
  readonly tenant_id: string | null
  readonly resource: { readonly type: string; readonly id: string }
  readonly before: Record<string, unknown> | null
  readonly after: Record<string, unknown> | null
  readonly hash: string
}

describe.each(DATABASES)('the audit on $name', { timeout: 60_000 }, database => {
  describe.skipIf(database.skip)('of a control plane', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster })
      world = await populate(plane)
    }, 120_000)
    afterAll(async () => {
      expect(plane?.faults).toEqual([])
      await plane?.close()
      await cluster?.stop()
    })

    const rows = async (query = '', caller: 'platform' | 'auditor' | 'globex:auditor' = 'platform') => {
      const { status, body } = await plane.call(caller, 'GET', `/v1/audit?limit=100${query}`)
      expect(status).toBe(200)
      return body.items as readonly Row[]
    }
    const base = () => `/v1/tenants/${world.acme}`

    it('has who, what, when, in which request, before and after of a change', async () => {
      const slug = 'audited'
      const made = await plane.call(
        'platform',
        'POST',
        '/v1/plans',
        { slug, name: 'A' },
        { 'x-request-id': 'r-1' },
      )
      await plane.call('platform', 'PATCH', `/v1/plans/${slug}`, { name: 'B' }, { 'x-request-id': 'r-2' })
      await plane.call('platform', 'DELETE', `/v1/plans/${slug}`, undefined, { 'x-request-id': 'r-3' })
      const of = await rows(`&resource_id=${made.body.id}`)
      expect(of.map(row => [row.action, row.before?.name ?? null, row.after?.name ?? null])).toEqual([
        ['control.plans.delete', 'B', null],
        ['control.plans.update', 'A', 'B'],
        ['control.plans.create', null, 'A'],
      ])
      expect(of[1]).toMatchObject({
        id: expect.stringMatching(/^aud_/),
        actor: { kind: 'token', subject: 'user-platform', consumer: 'platform', tenant: null },
        resource: { type: 'plan', id: made.body.id },
        tenant_id: null,
        request_id: 'r-2',
        gateway: null,
        at: '2026-03-01T10:20:00.000Z',
      })
      expect(await rows('&request_id=r-2')).toHaveLength(1)
    })

    it('has one record for each resource that a request changed, and no refused or repeated request', async () => {
      const api = await plane.call('admin', 'POST', `${base()}/apis`, {
        name: 'Gone',
        upstream_url: 'http://127.0.0.1:9',
        path: '/gone',
      })
      const subscription = await plane.call('admin', 'POST', `${base()}/subscriptions`, {
        api_id: api.body.id,
        plan: 'silver',
        application: 'app',
      })
      await plane.call('admin', 'POST', `${base()}/subscriptions/${subscription.body.id}/approve`, {})
      await plane.call('admin', 'DELETE', `${base()}/apis/${api.body.id}`, undefined, {
        'x-request-id': 'gone',
      })
      const types = (await rows('&request_id=gone')).map(row => row.resource.type).sort()
      expect(types).toEqual(['api', 'api_key', 'subscription'])
      await plane.call('viewer', 'DELETE', `${base()}/apis/${world.api}`, undefined, {
        'x-request-id': 'refused',
      })
      expect(await rows('&request_id=refused')).toEqual([])
      const once = { 'idempotency-key': 'k', 'x-request-id': 'once' }
      for (const _ of [1, 2])
        await plane.call('platform', 'POST', '/v1/plans', { slug: 'once', name: 'O' }, once)
      expect(await rows('&request_id=once')).toHaveLength(1)
    })

    it('holds no key, digest, secret, value of a header or long text', async () => {
      const secret = 'a secret of thirty-two characters or more'
      await plane.call('admin', 'POST', `${base()}/webhooks`, {
        url: 'https://hooks.example/x',
        events: ['subscription.created'],
        secret,
        custom_headers: { 'X-Canary': 'canary-value-of-a-header' },
      })
      const spec = { openapi: '3.1.0', info: { title: 'x'.repeat(5000), version: '1' }, paths: {} }
      await plane.call('admin', 'PATCH', `${base()}/apis/${world.api}`, { spec })
      const rotated = await plane.call('admin', 'POST', `${base()}/apikeys/${world.key}/rotate`, {})
      const text = (await plane.call('platform', 'GET', '/v1/audit/export')).body as string
      expect(text).toContain('X-Canary')
      expect(text).toContain('"sha256"')
      const stored = await plane.store.read(EVERY_TENANT, tx => tx.keys.find(world.key))
      for (const hidden of [secret, 'canary-value', 'xxxx', world.secret, rotated.body.key, stored!.hash])
        expect(text).not.toContain(hidden)
    })

    it('shows the origin of addresses of webhooks and callbacks, and that the rest changed', async () => {
      const hook = (path: string) => `https://hooks.example:8443${path}`
      const made = await plane.call('admin', 'POST', `${base()}/webhooks`, {
        url: hook('/services/canary-path'),
        events: ['subscription.created'],
      })
      const change = (url: string) =>
        plane.call('admin', 'PATCH', `${base()}/webhooks/${made.body.id}`, { url })
      expect((await change(hook('/services/canary-path?token=canary-query'))).status).toBe(200)
      expect((await change(hook(''))).status).toBe(200)
      const [last, second, first] = await rows(`&resource_id=${made.body.id}`)
      const masked = expect.stringMatching(/^https:\/\/hooks\.example:8443\/\[sha256:[0-9a-f]{12}\]$/)
      expect([first!.after!.url, second!.before!.url, second!.after!.url]).toEqual([masked, masked, masked])
      expect(second!.before!.url).toBe(first!.after!.url)
      expect(second!.after!.url).not.toBe(first!.after!.url)
      expect(last!.after!.url).toBe(hook(''))

      const called = await plane.call('admin', 'PATCH', `${base()}/subscriptions/${world.subscription}`, {
        callback_url: hook('/canary-callback'),
      })
      expect(called.status, JSON.stringify(called.body)).toBe(200)
      const [subscription] = await rows(`&resource_id=${world.subscription}`)
      expect(subscription!.after!.callback_url).toEqual(masked)

      // as an earlier version stored it
      const old = { id: 'whk_old', url: hook('/canary-old'), name: 'old' }
      await plane.store.write(EVERY_TENANT, async tx =>
        tx.audit.append({
          ...systemOrigin('control.webhooks.create'),
          id: 'aud_old',
          at: tx.now,
          tenantId: world.acme,
          resourceType: 'webhook',
          resourceId: old.id,
          before: null,
          after: JSON.stringify(old),
        }),
      )
      expect(await rows('&resource_id=whk_old')).toMatchObject([{ after: { ...old, url: masked } }])
      for (const path of ['/v1/audit/export', '/v1/audit?limit=100', '/v1/audit?limit=100&format=csv']) {
        const { status, body } = await plane.call('platform', 'GET', path)
        expect(status).toBe(200)
        expect(JSON.stringify(body)).not.toContain('canary-')
      }
      expect(await verifyAudit(plane.store)).toMatchObject({ fault: undefined })
      const stored = await plane.store.read(EVERY_TENANT, tx =>
        tx.audit.list({ resourceId: made.body.id }, {}, 10),
      )
      expect(JSON.stringify(stored)).not.toContain('canary-')
    })

    it('shows addresses of MCP servers and token endpoints without the query, and that the query changed', async () => {
      const fields = (token: string) => ({
        upstream_url: `https://mcp.example/crm?token=${token}`,
        mcp: {
          authentication: {
            type: 'oauth2_client_credentials',
            secret: 'crm',
            client_id: 'gateway',
            token_url: `https://idp.example/token?key=${token}`,
          },
        },
      })
      const given = { name: 'CRM', type: 'mcp', path: '/crm', ...fields('canary-1') }
      const { body: api } = await plane.call('admin', 'POST', `${base()}/apis`, given)
      const changed = await plane.call('admin', 'PATCH', `${base()}/apis/${api.id}`, fields('canary-2'))
      expect(changed.status, JSON.stringify(changed.body)).toBe(200)
      const [second, first] = await rows(`&resource_id=${api.id}`)
      const masked = expect.stringMatching(/^https:\/\/mcp\.example\/crm\?\[sha256:[0-9a-f]{12}\]$/)
      expect([first!.after!.upstream_url, second!.after!.upstream_url]).toEqual([masked, masked])
      expect(second!.before!.upstream_url).toBe(first!.after!.upstream_url)
      expect(second!.after!.upstream_url).not.toBe(first!.after!.upstream_url)
      const tokenUrl = expect.stringMatching(/^https:\/\/idp\.example\/token\?\[sha256:[0-9a-f]{12}\]$/)
      expect(second!.after!.mcp).toMatchObject({ authentication: { tokenUrl, clientId: 'gateway' } })
      const stored = await plane.store.read(EVERY_TENANT, tx => tx.audit.list({ resourceId: api.id }, {}, 10))
      expect(JSON.stringify(stored)).not.toContain('canary-')
      // as an earlier version stored it
      const after = JSON.stringify({ id: 'api_old', ...fields('canary-old') })
      await plane.store.write(EVERY_TENANT, async tx =>
        tx.audit.append({
          ...systemOrigin('control.apis.create'),
          id: 'aud_old_api',
          at: tx.now,
          tenantId: world.acme,
          resourceType: 'api',
          resourceId: 'api_old',
          before: null,
          after,
        }),
      )
      expect((await rows('&resource_id=api_old'))[0]!.after!.upstream_url).toEqual(masked)
    })

    it('is read by auditors of a tenant for that tenant only, page by page and as NDJSON', async () => {
      const own = await rows('', 'auditor')
      expect(own.length).toBeGreaterThan(5)
      expect(new Set(own.map(row => row.tenant_id))).toEqual(new Set([world.acme]))
      const foreign = await rows('', 'globex:auditor')
      expect(new Set(foreign.map(row => row.tenant_id))).toEqual(new Set([world.globex]))
      expect((await plane.call('viewer', 'GET', '/v1/audit')).status).toBe(403)
      const seen: number[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${cursor}`
        const { body } = await plane.call('auditor', 'GET', `/v1/audit?limit=4${query}`)
        seen.push(...body.items.map((row: Row) => row.seq))
        cursor = body.next_cursor
      }
      expect(seen).toEqual(own.map(row => row.seq))
      const exported = await plane.call('auditor', 'GET', '/v1/audit/export')
      expect(exported.headers.get('content-type')).toBe('application/x-ndjson')
      const lines = (exported.body as string)
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as Row)
      expect(lines.map(row => row.seq)).toEqual(seen.toReversed())
      const rest = await plane.call('auditor', 'GET', `/v1/audit/export?after=${lines.at(-1)!.seq}`)
      expect(rest.body).toBe('')
      expect(await rows(`&tenant_id=globex&actor=platform`)).toHaveLength(foreign.length)
    })

    it('is searched, read in both orders, and sent as CSV', async () => {
      const found = await rows('&q=SUBSCRIPTIONS.app')
      expect([...new Set(found.map(row => row.action))]).toEqual(['control.subscriptions.approve'])
      expect(await rows(`&q=${found[0]!.resource.id.slice(4)}`)).not.toEqual([])
      expect(await rows('&q=%25')).toEqual([])
      const all = await rows()
      const oldest = await plane.call('platform', 'GET', '/v1/audit?sort=at&limit=2')
      const next = await plane.call(
        'platform',
        'GET',
        `/v1/audit?sort=at&limit=2&cursor=${oldest.body.next_cursor}`,
      )
      const ascending = [...oldest.body.items, ...next.body.items].map(({ seq }: Row) => seq)
      expect(ascending).toEqual(
        all
          .map(({ seq }) => seq)
          .reverse()
          .slice(0, 4),
      )
      const csv = await plane.call('auditor', 'GET', '/v1/audit?format=csv&q=apis.create')
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      const [head, ...lines] = (csv.body as string).trim().split('\r\n')
      expect(head).toMatch(/^id,seq,at,actor,action,/)
      expect(lines).toHaveLength((await rows('&q=apis.create', 'auditor')).length)
      expect(lines.every(line => line.includes('control.apis.create'))).toBe(true)
    })

    it('has what the control plane does by itself, and what gateways report, once', async () => {
      const hello = { name: 'edge', url: '', version: '0.1.0', workers: 1, authConfig: {} }
      const { transport } = plane.control
      const stream = await transport.connect(hello, null)
      const { value } = (await stream.events[Symbol.asyncIterator]().next()) as {
        value: { data: { gateway_id: string } }
      }
      const id = value.data.gateway_id
      const action: AdminAction = {
        id: 'aud_from_gateway',
        at: new Date(plane.clock.nowMs),
        tenant: 'acme',
        requestId: 'reset-1',
        actor: { kind: 'token', subject: 's', consumer: 'c', tenant: 'acme' },
        action: 'admin.quotas.reset',
        resource: { type: 'quota', id: 'demo-agent' },
        before: { daily_count: 5 },
      }
      const report = {
        ...({ usage: [], keysUsed: [], consumersSeen: [], status: 'online', snapshotVersion: null } as const),
        error: null,
        workers: 1,
        resync: null,
        sequence: 1,
        adminActions: [action],
      }
      for (const _ of [1, 2]) expect(await transport.report(id, report)).toBe(true)
      stream.close()
      expect(await rows('&action=admin.quotas.reset')).toMatchObject([
        { gateway: 'edge', tenant_id: world.acme, before: { daily_count: 5 }, request_id: 'reset-1' },
      ])
      const short = await plane.call('platform', 'POST', `${base()}/subscriptions`, {
        api_id: world.api,
        plan: 'silver',
        application: 'short',
        expires_at: '2026-03-01T10:21:00Z',
      })
      await plane.call('platform', 'POST', `${base()}/subscriptions/${short.body.id}/approve`, {})
      plane.clock.nowMs += 120_000
      await plane.control.settle()
      expect(await rows('&action=system.subscriptions.expire')).toMatchObject([
        { actor: { kind: 'system' }, resource: { id: short.body.id }, request_id: '' },
      ])
    })

    it('can be verified after writers have competed', async () => {
      const name = (at: number): object => ({ name: `Plan ${at}` })
      await plane.call('platform', 'POST', '/v1/plans', { slug: 'busy', name: 'Busy' })
      const before = await verifyAudit(plane.store)
      expect(before.fault).toBeUndefined()
      // no more writers than connections: on a slow machine, others would wait for one for too long
      const statuses = new Set<number>()
      const writer = async (_: unknown, first: number): Promise<void> => {
        for (let at = first; at < 40; at += 8)
          statuses.add((await plane.call('platform', 'PATCH', '/v1/plans/busy', name(at))).status)
      }
      await Promise.all(Array.from({ length: 8 }, writer))
      expect(statuses).toEqual(new Set([200]))
      const after = await verifyAudit(plane.store, before)
      expect(after).toMatchObject({ fault: undefined, records: before.records + 40 })
    })

    it('names the type of a resource in one way, and finds records that name it as before', async () => {
      const { id } = (
        await plane.call('admin', 'POST', `${base()}/apikeys`, {
          subscription_id: world.subscription,
          name: 'typed',
        })
      ).body
      // the second revocation changes no row
      for (const _ of [1, 2]) await plane.call('admin', 'DELETE', `${base()}/apikeys/${id}`)
      const ofKey = (type: string) => rows(`&resource_id=${id}&resource_type=${encodeURIComponent(type)}`)
      const all = await rows(`&resource_id=${id}`)
      expect(all.map(({ resource }) => resource.type)).toEqual(['api_key', 'api_key', 'api_key'])
      await plane.store.write(EVERY_TENANT, async tx =>
        recordAction(tx, systemOrigin('control.apikeys.revoke'), {
          type: 'API key',
          id,
          tenantId: world.acme,
        }),
      )
      for (const type of ['api_key', 'API key']) expect(await ofKey(type)).toHaveLength(4)
      expect(await ofKey('api')).toEqual([])
    })

    it('is kept for its retention, and verified after it', async () => {
      const { records } = await verifyAudit(plane.store)
      plane.clock.nowMs += 3_600_000
      await plane.call('platform', 'PATCH', '/v1/plans/busy', { name: 'Late' })
      const maintenance = new Maintenance({
        store: plane.store,
        publisher: plane.control.publisher,
        now: () => plane.clock.nowMs,
        fleet: { settleTenants: async () => {} } as never,
        intervalMs: 3_600_000,
        auditRetentionMs: 1_800_000,
        onFault: (...fault) => plane.faults.push(fault),
      })
      await maintenance.run()
      await maintenance.stop()
      const left = await verifyAudit(plane.store)
      expect(left).toMatchObject({ fault: undefined, records: 2, anchorSeq: records })
      expect(await rows()).toMatchObject([
        { action: 'system.audit.sweep', after: { seq: records } },
        { action: 'control.plans.update' },
      ])
    })
  })
})
