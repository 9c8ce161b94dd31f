/** Secrets and header values of webhooks, and keys sent to them, are not in the files of the database; and which webhooks of a tenant receive a key. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { expect, it } from 'vitest'
import { createSealer } from '../../../src/base/secrets/sealer.ts'
import { patchWebhook } from '../../../src/control-plane/api/services/webhooks.ts'
import { openMigratedStore } from '../../../src/control-plane/store/open-store.ts'
import { receiver } from '../../fixtures/webhook-receivers.ts'
import { openSending, until } from './sending.ts'

function filesHold(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => readFileSync(path).includes(text))
}

it('neither secrets, header values nor keys are in the files of the database', async () => {
  // Echoes what it got, and always fails, so that the delivery has to be kept.
  const one = await receiver((response, { raw }) => response.writeHead(500).end(raw))
  const sending = await openSending()
  const secret = 'a-secret-that-must-not-be-on-disk'
  const header = 'a-header-value-for-the-receiver-alone'
  const next = 'the-next-secret-kept-off-the-disk'
  try {
    const acme = await sending.tenant('acme')
    const canary = 'a-canary-that-has-to-be-found'
    const hook = await acme.webhook(`${one.url}/${canary}`, { secret, custom_headers: { 'X-Token': header } })
    const shown = (await acme.call('GET', `/webhooks/${hook}`)).body
    expect(shown.custom_headers).toEqual({ 'X-Token': '[masked]' })
    await acme.call('PATCH', `/webhooks/${hook}`, { secret: next })
    // the masked value is not taken for a new one, and without a value the headers stay
    const masked = await acme.call('PATCH', `/webhooks/${hook}`, { custom_headers: shown.custom_headers })
    expect([masked.status, masked.body.error.details[0].field]).toEqual([400, 'custom_headers.X-Token'])
    const key = await acme.approve(await acme.subscribe('web'))
    await until('both', () => sending.outcomes.retry >= 2)
    expect(one.received.map(each => each.payload.data.api_key)).toContain(key)
    expect(one.received.every(each => each.headers['x-token'] === header)).toBe(true)
    await sending.webhooks.close()
    await sending.plane.control.close()
    await sending.plane.store.close()
    const directory = join(sending.plane.dataDir, 'postgres')
    expect(filesHold(directory, canary).length).toBeGreaterThan(0)
    expect(filesHold(directory, key.slice(0, 12)).length).toBeGreaterThan(0)
    for (const hidden of [secret, next, header, key, key.slice(13)])
      expect(filesHold(directory, hidden)).toEqual([])
  } finally {
    await sending.close().catch(() => {})
    await one.close()
  }
})

it('seals headers that an earlier version has stored in the clear', async () => {
  const sending = await openSending()
  const directory = join(sending.plane.dataDir, 'postgres')
  try {
    const acme = await sending.tenant('acme')
    const hook = await acme.webhook('http://127.0.0.1:9', {
      custom_headers: { 'X-Token': 'sealed from the start' },
    })
    await sending.webhooks.close()
    await sending.plane.control.close()
    await sending.plane.store.close()
    const db = await PGlite.create(directory)
    await db.query(
      `update webhooks set custom_headers = '{"X-Token":"in the clear"}', sealed_headers = null, headers_key_id = null`,
    )
    await db.close()
    const store = await openMigratedStore({
      url: 'pglite:',
      dataDir: sending.plane.dataDir,
      sealer: createSealer('a key of the tests'),
      now: () => sending.plane.clock.nowMs,
      onFault: () => {},
    })
    await store.write(acme.id, async tx => {
      expect(await tx.webhooks.sealHeaders(10)).toBe(1)
      expect(await tx.webhooks.sealHeaders(10)).toBe(0)
      expect((await tx.webhooks.find(hook))!.customHeaders).toEqual({ 'X-Token': '[masked]' })
    })
    await store.close()
    const after = await PGlite.create(directory)
    const { rows } = await after.query<{ sealed_headers: string }>('select sealed_headers from webhooks')
    await after.close()
    const opened = createSealer('a key of the tests').open(rows[0]!.sealed_headers, `${hook} headers`)
    expect(JSON.parse(opened)).toEqual({ 'X-Token': 'in the clear' })
  } finally {
    await sending.close().catch(() => {})
  }
})

it('sends a key only to the webhooks of its application and of tenant admins', async () => {
  const [ofAdmin, ofDevops, ofApp, changed] = await Promise.all(
    Array.from({ length: 4 }, () => receiver((response, _) => response.end())),
  )
  const receivers = [ofAdmin!, ofDevops!, ofApp!, changed!]
  const sending = await openSending()
  try {
    const acme = await sending.tenant('acme')
    const add = async (caller: 'admin' | 'devops' | 'app', url: string) => {
      const body = { url, events: ['*'], custom_headers: { 'X-Creator': caller } }
      const reply = await sending.plane.call(caller, 'POST', `/v1/tenants/${acme.id}/webhooks`, body)
      expect(reply.status).toBe(201)
      return reply.body.id as string
    }
    await add('admin', ofAdmin!.url)
    await add('devops', ofDevops!.url)
    await add('app', ofApp!.url)
    const taken = await add('admin', ofAdmin!.url)
    const moved = { url: changed!.url }
    const path = `/v1/tenants/${acme.id}/webhooks/${taken}`
    expect((await sending.plane.call('devops', 'PATCH', path, moved)).status).toBe(403)
    // by a policy that allows it, as each deployment may edit its own
    await sending.plane.store.write(acme.id, tx => patchWebhook(tx, taken, moved, undefined, 'devops', ''))
    const key = await acme.approve(await acme.subscribe('app'))
    const keysOf = ({ received }: (typeof receivers)[number]) =>
      received
        .filter(({ payload }) => payload.event === 'subscription.approved')
        .map(({ payload }) => payload.data.api_key)
    await until('all', () => receivers.every(each => keysOf(each).length === 1))
    expect(receivers.map(each => keysOf(each)[0])).toEqual([key, undefined, key, undefined])
    // the address that another caller has chosen does not receive the headers of the owner
    expect(ofAdmin!.received.at(-1)!.headers['x-creator']).toBe('admin')
    expect(changed!.received.at(-1)!.headers['x-creator']).toBeUndefined()
  } finally {
    await sending.close().catch(() => {})
    await Promise.all(receivers.map(each => each.close()))
  }
})
