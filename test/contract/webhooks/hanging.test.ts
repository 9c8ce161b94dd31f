/** One tenant with many webhooks, of which a third never respond: how long the deliveries to the others take. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSealer } from '../../../src/base/secrets/sealer.ts'
import { openMigratedStore } from '../../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT, type Store } from '../../../src/control-plane/store/store.ts'
import { startWebhooks, type Webhooks } from '../../../src/control-plane/webhooks/webhook-sending.ts'
import { newId } from '../../../src/model/id.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { sized } from '../../fixtures/check.ts'
import { DATABASES } from '../control/plane.ts'
import { copyTemplate } from '../store/pglite-template.ts'
import type { Cluster } from '../store/postgres-cluster.ts'
import { aTenant } from '../store/rows.ts'

const WEBHOOKS = 1_000
const HANGING = 300
/** Each goes to this many webhooks in turn; PGlite has one process. */
const PER_ROUND = { PGlite: 8, PostgreSQL: 20 }
const ROUND_MS = 250
const ROUNDS = sized(40, 80)

describe.each(DATABASES)('webhooks of one tenant on $name', database => {
  describe.skipIf(database.skip)('of which many hang', () => {
    let cluster: Cluster | undefined
    let dataDir: string
    let store: Store
    let sending: Webhooks
    const perRound = database.name === 'PGlite' ? PER_ROUND.PGlite : PER_ROUND.PostgreSQL
    const ids: string[] = []
    const insertedAtMs = new Map<string, number>()
    const tookMs: number[] = []
    const faults: unknown[] = []
    const egress = createEgress({ allow: [], allowLoopback: true })
    /** Each webhook has a separate origin: an address of the loopback network. */
    const receivers = createServer((request, response) => {
      const at = Number(request.url!.slice(1))
      request.resume().on('end', () => {
        if (at < HANGING) return
        tookMs.push(performance.now() - insertedAtMs.get(String(request.headers['webhook-id']))!)
        response.end()
      })
    })
    const tenant = aTenant('many', Date.now())

    beforeAll(async () => {
      cluster = await database.start()
      dataDir = mkdtempSync(join(tmpdir(), 'toolgate-hanging-'))
      if (cluster === undefined) await copyTemplate(join(dataDir, 'postgres'))
      const url = (await cluster?.database('hanging')) ?? 'pglite:'
      store = await openMigratedStore({
        url,
        dataDir,
        now: Date.now,
        onFault: () => {},
        sealer: createSealer('shared'),
      })
      await new Promise<void>(resolve => receivers.listen(0, '0.0.0.0', resolve))
      const { port } = receivers.address() as AddressInfo
      await store.write(EVERY_TENANT, tx => tx.tenants.insert(tenant))
      await store.write(tenant.id, async tx => {
        for (let at = 0; at < WEBHOOKS; at++) {
          const id = newId('webhook', Date.now())
          ids.push(id)
          const webhook = {
            id,
            tenantId: tenant.id,
            url: `http://127.0.${1 + (at >> 7)}.${1 + (at & 127)}:${port}/${at}`,
            events: ['*' as const],
            enabled: true,
            customHeaders: {},
            keysOf: null,
            secretNames: {},
            name: `hook ${at}`,
            hasSecret: false,
            revision: 1,
            createdAt: tx.now,
            updatedAt: tx.now,
          }
          await tx.webhooks.insert(webhook, undefined)
        }
      })
      sending = await startWebhooks({
        store,
        egress,
        now: Date.now,
        httpsOnly: false,
        userAgent: 'toolgate/test',
        pollMs: 50,
        onOutcome: () => {},
        onFault: (message, error) => faults.push([message, error]),
      })
    }, 60_000)
    afterAll(async () => {
      receivers.closeAllConnections()
      await sending?.close()
      receivers.close()
      await store?.close()
      await egress.close()
      await cluster?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    })

    it('delivers to the others within two seconds', { timeout: 60_000 }, async () => {
      let next = 0
      let toOthers = 0
      for (let round = 0; round < ROUNDS; round++) {
        const startedAt = performance.now()
        await store.write(tenant.id, async tx => {
          for (let n = 0; n < perRound; n++) {
            const id = newId('delivery', Date.now())
            // a step that meets each webhook, hanging ones and others mixed
            next = (next + 271) % WEBHOOKS
            if (next >= HANGING) toOthers++
            insertedAtMs.set(id, performance.now())
            await tx.deliveries.insert({
              id,
              tenantId: tenant.id,
              webhookId: ids[next]!,
              event: 'subscription.created',
              test: false,
              body: `{"n":${n}}`,
            })
          }
        })
        await sleep(Math.max(0, startedAt + ROUND_MS - performance.now()))
      }
      await expect.poll(() => tookMs.length, { timeout: 15_000 }).toBe(toOthers)
      const sorted = tookMs.sort((a, b) => a - b)
      const at = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)]!)
      process.stdout.write(`  ${database.name}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms\n`)
      expect(at(0.95)).toBeLessThan(2_000)
      expect(faults).toEqual([])
    })
  })
})
