/** Production: no webhook over plain HTTP, neither at start nor later (docs/reference/settings.md, Settings). */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startWebhooks } from '../../../src/control-plane/webhooks/webhook-sending.ts'
import { type Receiver, receiver } from '../../fixtures/webhook-receivers.ts'
import { openSending, type Sending, until, type Workplace } from './sending.ts'

let sending: Sending
let acme: Workplace
let one: Receiver

beforeAll(async () => {
  one = await receiver()
  sending = await openSending({ httpsOnly: true })
  acme = await sending.tenant('acme')
})
afterAll(async () => {
  await sending?.close()
  await one?.close()
})

const startAgain = () =>
  startWebhooks({
    store: sending.plane.store,
    egress: { request: never, stream: never, close: async () => {} },
    now: Date.now,
    httpsOnly: true,
    userAgent: 'toolgate/test',
    onOutcome: () => {},
    onFault: () => {},
  })
function never(): never {
  throw new Error('nothing is due')
}

it('refuses to start while one is enabled, naming it, and starts once it is disabled', async () => {
  const hook = await acme.webhook(one.url)
  await expect(startAgain()).rejects.toThrow(new RegExp(`plain HTTP: ${hook}\\..*https`))
  await acme.call('PATCH', `/webhooks/${hook}`, { enabled: false })
  await (await startAgain()).close()
})

it('sends nothing to one that came in past the check', async () => {
  const hook = await acme.webhook(one.url)
  await acme.subscribe('web')
  await until('the refusal', async () => (await acme.deliveries(hook))[0]?.error != null)
  expect((await acme.deliveries(hook))[0]).toMatchObject({
    status: 'pending',
    attempt: 1,
    status_code: null,
    error: 'the URL of the webhook uses plain HTTP, which is not allowed in production: use an https URL',
  })
  expect(one.connections()).toBe(0)
})
