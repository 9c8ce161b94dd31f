/** A name is resolved and checked for every attempt, since its addresses may change (DNS rebinding). */
import type { LookupAddress } from 'node:dns'
import { expect, it } from 'vitest'
import { receiver } from '../../fixtures/webhook-receivers.ts'
import { openSending, until } from './sending.ts'

const v4 = (...addresses: string[]): LookupAddress[] => addresses.map(address => ({ address, family: 4 }))

it('is called only while every address of its name is allowed, and the error names no other', async () => {
  let status = 500
  const one = await receiver(response => response.writeHead(status, { connection: 'close' }).end())
  const addresses = [
    v4('127.0.0.1'),
    v4('127.0.0.1', '169.254.169.254'),
    v4('10.20.30.40'),
    [{ address: '::ffff:10.20.30.40', family: 6 }],
    v4('127.0.0.1'),
  ]
  let asked = 0
  const sending = await openSending({
    egress: {
      allow: ['127.0.0.1/32'],
      allowLoopback: false,
      resolveHost: (_, done) => done(null, addresses[asked++] ?? []),
    },
  })
  try {
    const acme = await sending.tenant('acme')
    const url = one.url.replace('127.0.0.1', 'rebind.example')
    const hook = await acme.webhook(url, { events: ['subscription.created'] })
    await acme.subscribe('web')
    const delivery = async () => (await acme.deliveries(hook))[0]
    for (let attempt = 1; attempt <= 4; attempt++) {
      await until(`attempt ${attempt}`, async () => (await delivery())?.attempt === attempt)
      await until('its outcome', async () => (await delivery())!.error !== null)
      const { error, status_code } = (await delivery())!
      expect(status_code).toBe(attempt === 1 ? 500 : null)
      if (attempt > 1) expect(error).toMatch(/^the host in the URL of the webhook is not a public address/)
      expect(error).not.toMatch(/10\.20|169\.254/)
      expect(one.connections()).toBe(1)
      if (attempt === 4) status = 200
      await sending.advance('70m')
    }
    await until('the arrival', async () => (await delivery())!.status === 'success')
    expect(asked).toBe(addresses.length)
    expect(one.received).toHaveLength(2)
    expect(sending.plane.faults).toEqual([])
  } finally {
    await sending.close()
    await one.close()
  }
})
