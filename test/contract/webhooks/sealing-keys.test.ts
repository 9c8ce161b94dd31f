/** The keys that secrets, headers and bodies are sealed under: which deliveries another key keeps back, and which keys a backup names. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSealer } from '../../../src/base/secrets/sealer.ts'
import { openStore } from '../../../src/control-plane/store/open-store.ts'
import type { OpenedStore } from '../../../src/control-plane/store/opened-store.ts'
import { EVERY_TENANT, type Transaction } from '../../../src/control-plane/store/store.ts'
import { newId } from '../../../src/model/id.ts'
import type { Webhook } from '../../../src/model/webhook.ts'
import { DATABASES } from '../control/plane.ts'
import { copyTemplate } from '../store/pglite-template.ts'
import { type Cluster, run } from '../store/postgres-cluster.ts'
import { aTenant } from '../store/rows.ts'

const NOW = Date.UTC(2026, 5, 1)
const OLD = createSealer('the key before the change of the setting')
const NEW = createSealer('the key after the change of the setting!')
const BOUNDS = {
  slots: 100,
  perWebhook: 4,
  perTenant: 32,
  quickPerTenant: 32,
  slowPerTenant: 8,
  // as the lease: no delivery is slow, also while the store opens again
  slowAfterMs: 15_000,
  leaseMs: 15_000,
  lease: 'lease',
}

describe.each(DATABASES)('sealing keys on $name', { timeout: 60_000 }, database => {
  describe.skipIf(database.skip)('of webhooks', () => {
    const tenant = aTenant('acme', NOW)
    let cluster: Cluster | undefined
    let dataDir: string
    let url: string
    let opened: OpenedStore | undefined

    beforeAll(async () => {
      cluster = await database.start()
      dataDir = mkdtempSync(join(tmpdir(), 'toolgate-sealing-'))
      if (cluster === undefined) await copyTemplate(join(dataDir, 'postgres'))
      url = (await cluster?.database('sealing')) ?? 'pglite:'
      await reopen(OLD)
      await write(tx => tx.tenants.insert(tenant))
    }, 120_000)
    afterAll(async () => {
      await opened?.store.close()
      await cluster?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    })

    async function reopen(sealer: typeof OLD): Promise<void> {
      await opened?.store.close()
      opened = await openStore({ url, dataDir, now: () => NOW, onFault: () => {}, sealer })
      await opened.migrator.migrate()
    }
    const write = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
      opened!.store.write(EVERY_TENANT, work)
    const keys = async () => (await opened!.transfer.read(async () => {})).keyIds

    async function statement(text: string): Promise<void> {
      await opened!.store.close()
      opened = undefined
      if (cluster !== undefined) await run(url, text)
      else {
        const client = await PGlite.create(join(dataDir, 'postgres'))
        await client.query(text)
        await client.close()
      }
    }

    async function add(
      name: string,
      secret: string | undefined,
      customHeaders: Webhook['customHeaders'] = {},
    ): Promise<Webhook> {
      const webhook: Webhook = {
        id: newId('webhook', NOW),
        tenantId: tenant.id,
        name,
        url: 'http://127.0.0.1:9',
        events: ['*'],
        enabled: true,
        customHeaders,
        keysOf: '*',
        secretNames: {},
        hasSecret: secret !== undefined,
        revision: 1,
        createdAt: new Date(NOW),
        updatedAt: new Date(NOW),
      }
      await write(tx => tx.webhooks.insert(webhook, secret))
      return webhook
    }

    it('are all named by a backup: those of secrets, of headers, and none that nothing is sealed under', async () => {
      expect(await keys()).toEqual([])
      const unsigned = await add('unsigned', 'a secret that is removed')
      expect(await keys()).toEqual([OLD.keyId])
      await write(tx => tx.webhooks.update(unsigned, 'none'))
      expect(await keys()).toEqual([])
      await add('headers', undefined, { 'x-token': 'of the receiver' })
      expect(await keys()).toEqual([OLD.keyId])
    })

    it('keep back no delivery of a webhook whose secret was removed, by this version or an earlier one', async () => {
      const earlier = await add('earlier', 'a secret that an earlier version removes')
      await add('signed', 'a secret that stays')
      await statement(`update webhooks set secret = null where id = '${earlier.id}'`)
      await reopen(NEW)
      // of the webhooks with headers and with a secret
      expect(await write(tx => tx.webhooks.sealedElsewhere())).toBe(2)
      await write(async tx =>
        tx.events.append({
          kind: 'subscription.approved',
          tenantId: tenant.id,
          resourceId: tenant.id,
          data: { subscription_id: tenant.id },
          once: { application: 'web', data: { api_key: 'shown-once' } },
        }),
      )
      const claimed = await write(tx => tx.deliveries.claim(BOUNDS))
      const names = await write(tx =>
        Promise.all(claimed.map(async ({ webhookId }) => (await tx.webhooks.find(webhookId))!.name)),
      )
      expect(names.sort()).toEqual(['earlier', 'unsigned'])
      expect(claimed.map(({ confidential, unreadable }) => [confidential, unreadable])).toEqual([
        [['shown-once'], undefined],
        [['shown-once'], undefined],
      ])
    })

    it('name in each delivery the part whose ciphertext was altered, with its fix, and send again once it is set', async () => {
      await reopen(NEW)
      await write(async tx => {
        for (const { id } of (await tx.webhooks.list({}, { page: 1, limit: 100 })).items)
          await tx.webhooks.remove(id)
      })
      const altered = async (column: string, name: string): Promise<Webhook> => {
        const webhook = await add(name, 'a secret of the receiver', { 'x-token': 'of the receiver' })
        await statement(`update webhooks set ${column} = 'AAAA' || ${column} where id = '${webhook.id}'`)
        await reopen(NEW)
        return webhook
      }
      const secret = await altered('secret', 'secret')
      await altered('sealed_headers', 'headers')
      await add('body', 'a secret of the receiver')
      const claims = async (): Promise<Record<string, string | undefined>> => {
        await write(async tx =>
          tx.events.append({
            kind: 'subscription.approved',
            tenantId: tenant.id,
            resourceId: tenant.id,
            data: { subscription_id: tenant.id },
            once: { application: 'web', data: { api_key: 'shown-once' } },
          }),
        )
        const body = `update deliveries set sealed_body = 'AAAA' || sealed_body
          where webhook_id = (select id from webhooks where name = 'body')`
        await statement(body)
        await reopen(NEW)
        return write(async tx => {
          const claimed = await tx.deliveries.claim({ ...BOUNDS, lease: newId('delivery', NOW) })
          const named = claimed.map(async ({ webhookId, unreadable }) => [
            (await tx.webhooks.find(webhookId))!.name,
            unreadable,
          ])
          return Object.fromEntries(await Promise.all(named))
        })
      }
      expect(await claims()).toEqual({
        body: expect.stringMatching(/^the encrypted body of this delivery .*: rotate the API key/),
        headers: expect.stringMatching(/^the encrypted headers of the webhook .*: set custom_headers/),
        secret: expect.stringMatching(/^the encrypted secret of the webhook .*: set a new secret/),
      })
      // a comparison with the stored values does not fail: they differ
      expect(await write(tx => tx.webhooks.holds(secret.id, { secret: 'any', headers: {} }))).toMatchObject({
        secret: false,
      })
      await write(async tx => {
        const previousUntil = new Date(NOW + 86_400_000)
        await tx.webhooks.update(secret, { secret: 'the next secret of the receiver', previousUntil })
      })
      expect(Object.entries(await claims())).toContainEqual(['secret', undefined])
    })
  })
})
