/** What arrives at a receiver: five kinds with their highlights, signatures, headers, rotation; and what is kept afterwards. */
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { EVERY_TENANT } from '../../../src/control-plane/store/store.ts'
import { type Received, type Receiver, receiver } from '../../fixtures/webhook-receivers.ts'
import { DATABASES } from '../control/plane.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { openSending, SECRET, type Sending, until, type Workplace } from './sending.ts'

describe.each(DATABASES)('deliveries on $name', database => {
  describe.skipIf(database.skip)('to a receiver', () => {
    let cluster: Cluster | undefined
    let sending: Sending
    let acme: Workplace
    const receivers: Receiver[] = []

    beforeAll(async () => {
      cluster = await database.start()
      sending = await openSending({ cluster })
      acme = await sending.tenant('acme')
    })
    afterAll(async () => {
      expect(sending?.plane.faults).toEqual([])
      await sending?.close()
      for (const one of receivers) await one.close()
      await cluster?.stop()
    })

    async function open(behave?: Parameters<typeof receiver>[0]): Promise<Receiver> {
      const one = await receiver(behave)
      receivers.push(one)
      return one
    }
    const arrived = (one: Receiver, count: number) =>
      until(`${count} deliveries`, () => one.received.length >= count)

    /** By definition, not by our own code. */
    const hmac = (secret: string, raw: Buffer) =>
      `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`
    /** As a receiver would, at the time of the test's clock. */
    function verify(secret: string, { headers, raw }: Received): void {
      vi.useFakeTimers({ toFake: ['Date'], now: sending.plane.clock.nowMs })
      try {
        new Webhook(secret, { format: 'raw' }).verify(raw.toString(), headers as Record<string, string>)
      } finally {
        vi.useRealTimers()
      }
    }

    it('contain the five kinds with their data, signed over the exact bytes', async () => {
      const one = await open()
      const headers = { 'X-Environment': 'test', Authorization: 'Bearer of-the-receiver' }
      const hook = await acme.webhook(one.url, { custom_headers: headers })
      const subscription = await acme.subscribe('web')
      const key = await acme.approve(subscription)
      const keyId = (await acme.call('GET', `/apikeys?subscription_id=${subscription}`)).body.items[0].id
      const rotated = (await acme.call('POST', `/apikeys/${keyId}/rotate`, {})).body
      await acme.call('DELETE', `/subscriptions/${subscription}?reason=unpaid`)
      const short = await acme.call('POST', '/subscriptions', {
        api_id: (await acme.call('GET', `/subscriptions/${subscription}`)).body.api_id,
        plan: 'gold',
        application: 'short',
        ttl: '1h',
      })
      await acme.approve(short.body.id)
      await sending.advance('2h')
      await arrived(one, 7)

      const of = (id: string) =>
        one.received
          .filter(each => each.payload.data.subscription_id === id)
          .sort((a, b) => (a.payload.timestamp < b.payload.timestamp ? -1 : 1))
      expect(of(subscription).map(each => each.payload.event)).toEqual([
        ...['subscription.created', 'subscription.approved'],
        ...['subscription.key_rotated', 'subscription.revoked'],
      ])
      expect(of(short.body.id).map(each => each.payload.event)).toEqual([
        ...['subscription.created', 'subscription.approved', 'subscription.expired'],
      ])
      const [created, approved, keyRotated, revoked] = of(subscription).map(each => each.payload)
      const { consumer_id } = created.data
      const common = { subscription_id: subscription, api_name: 'Orders', consumer_id, plan: 'silver' }
      expect(consumer_id).toMatch(/^con_/)
      expect(created.data).toMatchObject({ ...common, status: 'pending_approval' })
      expect(approved.data).toMatchObject({ ...common, status: 'approved', api_key: key })
      expect(keyRotated.data).toMatchObject({ ...common, key_prefix: rotated.prefix })
      expect(JSON.stringify(keyRotated)).not.toContain(rotated.key)
      expect(revoked.data).toMatchObject({ ...common, status: 'revoked', reason: 'unpaid' })
      expect(of(short.body.id)[2]!.payload.data).toMatchObject({
        status: 'expired',
        expires_at: '2026-03-01T11:20:00.000Z',
      })

      const moments = one.received.map(each => `${each.payload.webhook_id} ${each.payload.timestamp}`)
      expect(new Set(moments).size).toBe(one.received.length)
      for (const each of one.received) {
        expect(Object.keys(each.payload)).toEqual(['event', 'timestamp', 'webhook_id', 'data', 'test'])
        expect(each.payload).toMatchObject({ webhook_id: hook, test: false })
        expect(each.payload.timestamp).toMatch(/^2026-03-01T1[0-9]:\d\d:\d\d\.\d{6}Z$/)
        expect(each.headers).toMatchObject({
          'content-type': 'application/json',
          'content-length': String(each.raw.byteLength),
          'x-environment': 'test',
          authorization: 'Bearer of-the-receiver',
          'x-platform-event': each.payload.event,
          'x-platform-signature': hmac(SECRET, each.raw),
          'user-agent': 'toolgate/test',
        })
        expect(each.headers['x-platform-delivery']).toMatch(/^dlv_/)
        expect(each.headers['webhook-id']).toBe(each.headers['x-platform-delivery'])
        expect(each.headers['x-platform-signature-previous']).toBeUndefined()
      }
      verify(SECRET, one.received.at(-1)!)
      expect(() => verify(`${SECRET}!`, one.received.at(-1)!)).toThrow()
      await acme.call('DELETE', `/webhooks/${hook}`)
    })

    it('contain a key, which is not stored: not in a row, not in a response that echoes it', async () => {
      // Fails first and echoes, so that the sealed body is kept for the second attempt.
      let failures = 0
      const one = await open((response, { raw, headers }) => {
        response.statusCode = failures++ === 0 ? 500 : 200
        response.end(`${headers['x-token']} ${raw}`)
      })
      const hook = await acme.webhook(one.url, {
        events: ['subscription.approved'],
        custom_headers: { 'X-Token': 'token-of-the-receiver' },
      })
      const key = await acme.approve(await acme.subscribe('echo'))
      await arrived(one, 1)
      const everything = async () => {
        const rows: unknown[] = []
        await sending.plane.store.read(EVERY_TENANT, async tx => {
          rows.push(await tx.deliveries.list(hook, {}, { page: 1, limit: 100 }))
          rows.push(await tx.events.after(0, 10_000))
        })
        return JSON.stringify(rows)
      }
      await until('the outcome', async () => (await acme.deliveries(hook))[0]!.error !== null)
      expect(one.received[0]!.payload.data.api_key).toBe(key)
      expect(await everything()).not.toContain(key)
      await sending.advance('67s')
      await arrived(one, 2)
      await until('the success', async () => (await acme.deliveries(hook))[0]!.status === 'success')
      expect(one.received[1]!.raw).toEqual(one.received[0]!.raw)
      expect(one.received[1]!.headers['x-platform-signature']).toBe(hmac(SECRET, one.received[1]!.raw))
      const [shown] = await acme.deliveries(hook)
      expect(shown!.response_body).toMatch(/^\[redacted\] \{.*"api_key":"\[redacted\]"/)
      expect(await everything()).not.toContain(key)
      await acme.call('DELETE', `/webhooks/${hook}`)
    })

    it('are signed with both secrets for 24 hours after a change', async () => {
      const one = await open()
      const hook = await acme.webhook(one.url)
      const changed = await acme.call('PATCH', `/webhooks/${hook}`, {
        secret: 'the next secret, just as long!!!',
      })
      expect(changed.status).toBe(200)
      expect(JSON.stringify(changed.body)).not.toContain('secret,')
      await acme.subscribe('rotation-1')
      await arrived(one, 1)
      const [during] = one.received
      verify(SECRET, during!)
      verify('the next secret, just as long!!!', during!)
      expect(during!.headers).toMatchObject({
        'x-platform-signature': hmac('the next secret, just as long!!!', during!.raw),
        'x-platform-signature-previous': hmac(SECRET, during!.raw),
      })
      await sending.advance('23h59m59s')
      await acme.subscribe('rotation-2')
      await arrived(one, 2)
      verify(SECRET, one.received[1]!)
      await sending.advance('1s')
      await acme.subscribe('rotation-3')
      await arrived(one, 3)
      const [, , after] = one.received
      verify('the next secret, just as long!!!', after!)
      expect(() => verify(SECRET, after!)).toThrow()
      expect(after!.headers['x-platform-signature-previous']).toBeUndefined()
      await acme.call('DELETE', `/webhooks/${hook}`)
    })

    it('are unsigned without a secret, only of the requested kinds, and only while enabled', async () => {
      const one = await open()
      const base = { url: one.url, events: ['subscription.approved', 'subscription.revoked'] }
      const made = await acme.call('POST', '/webhooks', base)
      expect(made.body).toMatchObject({ has_secret: false, enabled: true, custom_headers: {} })
      const hook = made.body.id
      const subscription = await acme.subscribe('kinds')
      await acme.approve(subscription)
      await arrived(one, 1)
      expect(one.received[0]!.payload.event).toBe('subscription.approved')
      expect(one.received[0]!.headers['x-platform-signature']).toBeUndefined()
      expect(one.received[0]!.headers['webhook-signature']).toBeUndefined()
      await acme.call('PATCH', `/webhooks/${hook}`, { enabled: false })
      const test = (kind: string) => acme.call('POST', `/webhooks/${hook}/test`, { event_type: kind })
      expect((await test('subscription.expired')).status).toBe(409)
      await acme.call('DELETE', `/subscriptions/${subscription}`)
      await acme.call('PATCH', `/webhooks/${hook}`, { enabled: true, secret: SECRET })
      // A test is of any kind, and says that it is one.
      const asked = await test('subscription.expired')
      expect(asked).toMatchObject({ status: 202, body: { status: 'pending', attempt: 1 } })
      await arrived(one, 2)
      expect(one.received[1]!.payload).toMatchObject({ event: 'subscription.expired', test: true })
      expect(one.received[1]!.headers['x-platform-signature']).toBe(hmac(SECRET, one.received[1]!.raw))
      expect(one.received).toHaveLength(2)
      await acme.call('DELETE', `/webhooks/${hook}`)
    })

    it('are tried once more by hand, with the same bytes', async () => {
      let status = 500
      const one = await open(response => response.writeHead(status).end('response'))
      const hook = await acme.webhook(one.url, { events: ['subscription.created'] })
      await acme.subscribe('by-hand')
      const delivery = async () => (await acme.deliveries(hook))[0]!
      for (let n = 1; n <= 5; n++) {
        await until(
          `attempt ${n}`,
          async () => (await delivery())?.attempt === n && one.received.length === n,
        )
        await until('its outcome', async () => (await delivery()).error !== null)
        await sending.advance('70m')
      }
      await until('the end', async () => (await delivery()).status === 'failed')
      const { id } = await delivery()
      const retry = () => acme.call('POST', `/webhooks/${hook}/deliveries/${id}/retry`)
      expect(await retry()).toMatchObject({ status: 202, body: { id, status: 'pending', attempt: 5 } })
      await until('one more failure', async () => (await delivery()).status === 'failed')
      expect([one.received.length, (await delivery()).attempt]).toEqual([6, 5])
      await sending.advance('70m')
      status = 204
      expect((await retry()).status).toBe(202)
      await until('the success', async () => (await delivery()).status === 'success')
      expect(await delivery()).toMatchObject({ status_code: 204, error: null, attempt: 5 })
      expect((await retry()).status).toBe(409)
      expect(one.received).toHaveLength(7)
      expect(new Set(one.received.map(each => each.raw.toString())).size).toBe(1)
      expect(new Set(one.received.map(each => each.headers['webhook-id'])).size).toBe(1)
      await acme.call('DELETE', `/webhooks/${hook}`)
    })
  })
})
