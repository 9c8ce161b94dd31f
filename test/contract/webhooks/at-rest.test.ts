/** Neither a webhook's secret nor a key on its way out stands in the files of the database, in no row and in no log of it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { receiver } from '../../fixtures/webhook-receivers.ts'
import { openSending, until } from './sending.ts'

function filesHold(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => readFileSync(path).includes(text))
}

it('is what the bytes on disk say', async () => {
  // Echoes what it got, and fails at first, so that the delivery has to be kept.
  const one = await receiver((response, { raw }) => response.writeHead(500).end(raw))
  const sending = await openSending()
  const secret = 'a-secret-that-must-not-be-on-disk'
  const next = 'the-next-secret-kept-off-the-disk'
  try {
    const acme = await sending.tenant('acme')
    const canary = 'a-canary-that-has-to-be-found'
    const hook = await acme.webhook(one.url, { secret, custom_headers: { 'X-Canary': canary } })
    await acme.call('PATCH', `/webhooks/${hook}`, { secret: next })
    const key = await acme.approve(await acme.subscribe('web'))
    await until('both', () => sending.outcomes.retry >= 2)
    expect(one.received.map(each => each.payload.data.api_key)).toContain(key)
    await sending.webhooks.close()
    await sending.plane.control.close()
    await sending.plane.store.close()
    const directory = join(sending.plane.dataDir, 'postgres')
    expect(filesHold(directory, canary).length).toBeGreaterThan(0)
    expect(filesHold(directory, key.slice(0, 12)).length).toBeGreaterThan(0)
    for (const hidden of [secret, next, key, key.slice(13)]) expect(filesHold(directory, hidden)).toEqual([])
  } finally {
    await sending.close().catch(() => {})
    await one.close()
  }
})
