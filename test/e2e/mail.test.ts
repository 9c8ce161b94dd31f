/** Notices of a running deployment arrive at a real SMTP server, over TLS and with a login. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Authority } from '../fixtures/certificates.ts'
import { hasSmtp, type MailServer, SMTP_HINT, startMailServer } from '../fixtures/smtp-server.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

/** A mail is claimed within two seconds; the bound leaves time for a busy machine. */
const ARRIVES = { timeout: 20_000, interval: 50 }

describe.skipIf(!hasSmtp())(`notices by mail${hasSmtp() ? '' : SMTP_HINT}`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'mail-'))
  let server: MailServer
  let world: TwoTenants

  beforeAll(async () => {
    const authority = new Authority(dir)
    server = await startMailServer({
      mode: 'starttls',
      ...authority.issue('mail'),
      login: ['toolgate', 'a password of tests'],
    })
    world = await twoTenants({
      SMTP_URL: `smtp://localhost:${server.port}`,
      SMTP_FROM: 'toolgate@example.com',
      SMTP_USER: 'toolgate',
      SMTP_PASSWORD: 'a password of tests',
      SMTP_CA_FILE: authority.ca,
      TEST_HOOKS: 'true',
    })
  })
  afterAll(async () => {
    await world?.stop()
    await server?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  it('reach the administrator and the contact of a subscription that expires', async () => {
    const base = `/tenants/${world.beta}`
    await world.api('PATCH', base, world.root, { admin_email: 'owner@example.com' })
    const { subscriptionId } = await world.subscribe(world.beta, '/ending', 'list', 'app')
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const patch = { expires_at, metadata: { contact: 'team@example.com' } }
    const patched = await world.api('PATCH', `${base}/subscriptions/${subscriptionId}`, world.root, patch)
    expect(patched.status).toBe(200)
    const { api_url: apiUrl } = world.gateway.running.addresses
    const clock = await fetch(`${apiUrl}/test/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance: '40m' }),
    })
    expect(clock.status).toBe(200)
    await expect.poll(() => server.received.length, ARRIVES).toBe(2)
    expect(server.received.flatMap(({ to }) => to).toSorted()).toEqual([
      'owner@example.com',
      'team@example.com',
    ])
    for (const mail of server.received) {
      expect(mail).toMatchObject({ from: 'toolgate@example.com', tls: true, user: 'toolgate' })
      expect(mail.text).toContain(subscriptionId)
    }
  })
})
