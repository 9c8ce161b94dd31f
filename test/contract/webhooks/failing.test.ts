/** Webhooks whose deliveries fail: the others of the tenant are notified once, and again after a delivery has arrived in between. */
import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVERY_TENANT } from '../../../src/control-plane/store/store.ts'
import { DATABASES } from '../control/plane.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { openSending, type Sending, until, type Workplace } from './sending.ts'

describe.each(DATABASES)('notices on $name', database => {
  describe.skipIf(database.skip)('of failing webhooks', () => {
    let sending: Sending
    let cluster: Cluster | undefined
    let work: Workplace
    let server: Server
    let url: string
    let isBroken = true
    const arrived: string[] = []
    /** Deliveries that arrived at /held; the response to each waits until the test calls it. */
    const held: ((status: number) => void)[] = []

    beforeAll(async () => {
      cluster = await database.start()
      sending = await openSending({ cluster, timeoutMs: 12_000 })
      work = await sending.tenant('acme')
      server = createServer((request, response) => {
        arrived.push(request.url!)
        request.resume()
        if (request.url === '/held') {
          held.push(status => response.writeHead(status).end())
          return
        }
        request.on('end', () =>
          response.writeHead(request.url!.startsWith('/bad') && isBroken ? 500 : 200).end(),
        )
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    })
    afterAll(async () => {
      await sending?.close()
      await cluster?.stop()
      server.closeAllConnections()
      server.close()
    })

    const failing = async (webhook: string) =>
      (await work.deliveries(webhook)).filter(({ event }) => event === 'webhook.failing')

    /** Retries end after all attempts. */
    async function failAll(): Promise<void> {
      for (const wait of ['2m', '6m', '17m', '70m', '70m']) {
        await sending.advance(wait)
        await until('no attempt is running', () => sending.webhooks.inFlight === 0)
        await new Promise(resolve => setTimeout(resolve, 300))
      }
    }

    it('other webhooks of the tenant receive it once, and none with the failing address', async () => {
      const bad = await work.webhook(`${url}/bad?token=secret`, {
        events: ['subscription.created', 'webhook.failing'],
      })
      const twin = await work.webhook(`${url}/bad?token=secret`, { events: ['webhook.failing'] })
      const good = await work.webhook(`${url}/good`, { events: ['webhook.failing'] })
      for (let at = 0; at < 4; at++) await work.subscribe(`app-${at}`)
      for (let round = 0; round < 4 && sending.outcomes.failed < 4; round++) await failAll()
      expect(sending.outcomes.failed).toBe(4)
      await until('the notice arrived', async () => (await failing(good))[0]?.status === 'success')
      expect(await failing(good)).toHaveLength(1)
      expect(await failing(bad)).toEqual([])
      expect(await failing(twin)).toEqual([])
      const [event] = await sending.plane.store.read(EVERY_TENANT, async tx =>
        (await tx.events.after(0, 1000)).filter(({ kind }) => kind === 'webhook.failing'),
      )
      expect(event!.data).toMatchObject({
        webhook_id: bad,
        host: '127.0.0.1',
        failed_deliveries: 3,
        status_code: 500,
      })
      expect(JSON.stringify(event)).not.toContain('token=secret')
    }, 60_000)

    it('a delivery that arrives ends it, and the next failures are announced again', async () => {
      isBroken = false
      await work.subscribe('recovering')
      await until('it arrived', () => sending.outcomes.success === 2)
      isBroken = true
      for (let at = 0; at < 3; at++) await work.subscribe(`again-${at}`)
      for (let round = 0; round < 4 && sending.outcomes.failed < 7; round++) await failAll()
      const found = await sending.plane.store.read(EVERY_TENANT, async tx =>
        (await tx.events.after(0, 1000)).filter(({ kind }) => kind === 'webhook.failing'),
      )
      expect(found).toHaveLength(2)
    }, 60_000)

    it('a delivery that arrives ends it also when it was claimed before the failure was counted', async () => {
      const other = await sending.tenant('held')
      const hook = await other.webhook(`${url}/held`, { events: ['subscription.created'] })
      const arrives = (count: number) => until(`${count} deliveries at /held`, () => held.length === count)
      const settled = (status: string) =>
        until(`a delivery is ${status}`, async () =>
          (await other.deliveries(hook)).some(delivery => delivery.status === status),
        )
      await other.subscribe('fails')
      for (const [at, wait] of ['0s', '2m', '6m', '17m'].entries()) {
        if (at > 0) await sending.advance(wait)
        await arrives(at + 1)
        held[at]!(500)
        await until(`attempt ${at + 1} is stored`, async () =>
          (await other.deliveries(hook)).some(
            delivery => Date.parse(delivery.next_attempt_at!) > sending.plane.clock.nowMs,
          ),
        )
      }
      // the last attempt of the first and the first of the second are claimed, and neither has ended
      await sending.advance('70m')
      await arrives(5)
      await other.subscribe('arrives')
      await arrives(6)
      held[4]!(500)
      await settled('failed')
      held[5]!(200)
      await settled('success')
      const counted = await sending.plane.store.write(EVERY_TENANT, tx => tx.webhooks.countFailed(hook))
      expect(counted?.failedDeliveries).toBe(1)
    }, 60_000)
  })
})
