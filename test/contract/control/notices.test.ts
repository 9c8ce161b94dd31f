/** Notices of what will stop calls: each once, as a webhook event and as a mail, whatever instance finds it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { announceExpiringKeys } from '../../../src/control-plane/api/services/notices.ts'
import { startMails } from '../../../src/control-plane/mail/dispatcher.ts'
import type { ClaimedMail } from '../../../src/control-plane/store/notice-repositories.ts'
import { EVERY_TENANT } from '../../../src/control-plane/store/store.ts'
import { newId } from '../../../src/model/id.ts'
import { MAX_MAILS_PER_DAY, type MailOutcome } from '../../../src/model/mail.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { until } from '../webhooks/sending.ts'
import { DATABASES, openPlane, type Plane, populate, type World } from './plane.ts'

const DAY_MS = 86_400_000

describe.each(DATABASES)('notices on $name', database => {
  describe.skipIf(database.skip)('of quotas, keys and mails', () => {
    let plane: Plane
    let world: World
    let cluster: Cluster | undefined
    let base: string
    let omitted = 0
    let sequence = 0
    const gateways: string[] = []

    beforeAll(async () => {
      cluster = await database.start()
      plane = await openPlane({ cluster, mail: { onOmitted: mails => (omitted += mails) } })
      world = await populate(plane)
      base = `/v1/tenants/${world.acme}`
      const shared = { url: 'http://gw', version: '1', workers: 1, reportedStatus: 'online' } as const
      const authConfig = { issuer: 'https://id.example', audiences: [] }
      for (const name of ['one', 'two']) {
        const id = newId('gateway', plane.clock.nowMs)
        await plane.store.write(EVERY_TENANT, tx => tx.gateways.register(id, { ...shared, name, authConfig }))
        gateways.push(id)
      }
      await plane.call('platform', 'PATCH', base, { admin_email: 'owner@acme.example' })
      const contact = { metadata: { contact: 'team@app.example' } }
      await plane.call('admin', 'PATCH', `${base}/subscriptions/${world.subscription}`, contact)
      await plane.call('admin', 'PATCH', `${base}/subscriptions/${world.subscription}`, { quota: 1000 })
    })
    afterAll(async () => {
      await plane?.close()
      await cluster?.stop()
    })

    const events = async (kind: string) =>
      (await plane.store.read(EVERY_TENANT, tx => tx.events.after(0, 1000))).filter(
        event => event.kind === kind,
      )

    const use = async (requests: number, gateway = 0) => {
      const at = new Date(plane.clock.nowMs)
      const day = at.toISOString().slice(0, 10)
      const usage = [
        { subscription_id: world.subscription, day, requests, errors: 0, last_request_at: at.toISOString() },
      ]
      const report = { status: 'online', snapshot_version: null, error: null, workers: 1, resync: null }
      const reply = await plane.call('gateway', 'POST', `/v1/gateways/${gateways[gateway]}/reports`, {
        ...report,
        sequence: ++sequence,
        usage,
        keys_used: [],
        consumers_seen: [],
      })
      expect(reply.status).toBe(204)
    }

    it('announces 80 and 100 % of a quota once in each window', async () => {
      await use(799)
      expect(await events('subscription.quota_warning')).toEqual([])
      await use(1)
      await use(1)
      const [warning, ...more] = await events('subscription.quota_warning')
      expect(more).toEqual([])
      expect(warning).toMatchObject({ tenantId: world.acme, resourceId: world.subscription })
      expect(warning!.data).toMatchObject({
        window: 'month',
        threshold: 80,
        used: 800,
        limit: 1000,
        resets_at: '2026-04-01T00:00:00.000Z',
        subscription_id: world.subscription,
        api_name: 'Orders',
        plan: 'silver',
        status: 'approved',
      })
      await Promise.all([use(150), use(150, 1)])
      expect(await events('subscription.quota_exhausted')).toMatchObject([
        { data: { threshold: 100, limit: 1000 } },
      ])
      expect(await events('subscription.quota_warning')).toHaveLength(1)
    })

    it('begins again in the next window, and says only the highest of two thresholds', async () => {
      plane.clock.nowMs = Date.parse('2026-04-02T00:00:00Z')
      await use(5000)
      expect(await events('subscription.quota_exhausted')).toHaveLength(2)
      expect(await events('subscription.quota_warning')).toHaveLength(1)
      const [, second] = await events('subscription.quota_exhausted')
      expect(second!.data).toMatchObject({ used: 5000, resets_at: '2026-05-01T00:00:00.000Z' })
    })

    it('announces a key that expires, once for each date', async () => {
      const expiresAt = new Date(plane.clock.nowMs + 20 * DAY_MS).toISOString()
      const made = await plane.call('admin', 'POST', `${base}/apikeys`, {
        subscription_id: world.subscription,
        name: 'second',
        expires_at: expiresAt,
      })
      expect(made.status).toBe(201)
      expect(await announceExpiringKeys(plane.store, 10)).toBe(0)
      plane.clock.nowMs += 14 * DAY_MS
      await Promise.all([announceExpiringKeys(plane.store, 10), announceExpiringKeys(plane.store, 10)])
      expect(await announceExpiringKeys(plane.store, 10)).toBe(0)
      const found = await events('subscription.key_expiring')
      expect(found).toHaveLength(1)
      expect(found[0]!.data).toMatchObject({
        expires_at: expiresAt,
        key_prefix: expect.stringMatching(/^tgk_.{8}$/),
      })
    })

    it('writes a mail to the administrator and to the contact, and retries as the outcome says', async () => {
      const seen: ClaimedMail[] = []
      const outcomes: string[] = []
      let outcome: MailOutcome = { sent: false, permanent: false, error: '451 later' }
      const mails = startMails({
        store: plane.store,
        now: () => plane.clock.nowMs,
        pollMs: 50,
        send: async mail => {
          seen.push(mail)
          return mail.recipient.startsWith('owner')
            ? outcome
            : { sent: false, permanent: true, error: '550 unknown' }
        },
        onOutcome: each => outcomes.push(each),
        onFault: () => {},
      })
      // four notices, each to two addresses
      await until('all first attempts', () => outcomes.length === 8)
      expect(outcomes.toSorted()).toEqual([...Array(4).fill('failed'), ...Array(4).fill('retry')])
      expect(seen[0]!.subject).toBe('[acme] 80 % of the quota for Orders is used (window: month)')
      expect(new Set(seen.map(({ recipient }) => recipient))).toEqual(
        new Set(['owner@acme.example', 'team@app.example']),
      )
      outcome = { sent: true }
      plane.clock.nowMs += 61_000
      // the first two mails are older than mails are kept
      await until('the second attempts', () => outcomes.length === 10)
      expect(outcomes.slice(8)).toEqual(['sent', 'sent'])
      expect(await plane.store.read(EVERY_TENANT, tx => tx.mails.pending())).toBe(0)
      await mails.close()
    })

    it('writes at most so many mails of a tenant in a day, and none to other texts than addresses', async () => {
      const subscription = await plane.call('admin', 'PATCH', `${base}/subscriptions/${world.subscription}`, {
        metadata: { contact: 'a@b.example\r\nBcc: c@d.example' },
      })
      expect(subscription.status).toBe(200)
      plane.clock.nowMs += 2 * DAY_MS
      await plane.store.write(EVERY_TENANT, async tx => {
        for (let at = 0; at < MAX_MAILS_PER_DAY + 7; at++)
          tx.events.append({
            kind: 'subscription.expiring',
            tenantId: world.acme,
            resourceId: world.subscription,
            data: { api_name: 'Orders', expires_at: String(at) },
          })
      })
      expect(await plane.store.read(EVERY_TENANT, tx => tx.mails.pending())).toBe(MAX_MAILS_PER_DAY)
      expect(omitted).toBe(7)
    })
  })
})
