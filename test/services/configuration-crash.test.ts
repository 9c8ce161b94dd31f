/** `kill -9` of the control plane while it applies a configuration: all of it is there, or nothing. CONFIG_KILLS sets the number. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMigratedStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT } from '../../src/control-plane/store/store.ts'
import { startCrashProcess } from '../contract/control/crash-process.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { IS_LONG_CHECK } from '../fixtures/check.ts'

const KILLS = Number(process.env.CONFIG_KILLS ?? 1)
const APIS = 200

function treeOf(name: string): object {
  const apis = Array.from({ length: APIS }, (_, index) => [
    `/a${index}`,
    { name: `A${index}`, upstream_url: 'http://127.0.0.1:9' },
  ])
  const tenant = { tier: 'enterprise', apis: Object.fromEntries(apis) }
  return { apiVersion: 'toolgate.dev/v1', kind: 'Configuration', owner: name, tenants: { [name]: tenant } }
}

describe.each([
  { name: 'PGlite', skip: !WITHOUT_POSTGRES && !IS_LONG_CHECK },
  { name: `PostgreSQL${POSTGRES_HINT}`, skip: WITHOUT_POSTGRES },
])('kill -9 during an apply on $name', database => {
  describe.skipIf(database.skip)(`in ${KILLS} rounds`, () => {
    let dataDir: string
    let cluster: Cluster | undefined
    let url: string

    beforeAll(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'toolgate-apply-crash-'))
      if (database.name === 'PGlite') await copyTemplate(join(dataDir, 'postgres'))
      else cluster = await startCluster()
      url = (await cluster?.database('apply_crash')) ?? 'pglite:'
    })
    afterAll(async () => {
      await cluster?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    })

    it('leaves all of it or nothing', { timeout: 60_000 + KILLS * 30_000 }, async () => {
      const apply = (address: string, name: string) =>
        fetch(`${address}/v1/config`, {
          method: 'POST',
          headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
          body: JSON.stringify(treeOf(name)),
        }).then(
          response => response.status,
          () => 'killed',
        )
      const outcomes: (number | string)[] = []
      let tookMs = 0
      for (let round = 0; round <= KILLS; round++) {
        const { child, url: address } = await startCrashProcess(url, dataDir)
        const ended = new Promise(resolve => child.once('exit', resolve))
        const startedAt = performance.now()
        const applied = apply(address, `round-${round}`)
        // the first round measures how long an apply takes
        if (round === 0) {
          expect(await applied).toBe(200)
          tookMs = performance.now() - startedAt
        } else await sleep(tookMs * Math.random())
        child.kill('SIGKILL')
        await ended
        outcomes.push(await applied)
      }
      const store = await openMigratedStore({ url, dataDir, now: Date.now, onFault: () => {} })
      try {
        const found = await store.read(EVERY_TENANT, async tx => {
          const rows = await tx.configuration.load({ limit: 100_000, maxDocumentBytes: 1e9 })
          const events = await tx.events.after(0, 100_000)
          return { ...rows!, created: events.filter(event => event.kind === 'api.created').length }
        })
        for (const { id, name } of found.tenants) {
          expect([name, found.apis.filter(api => api.tenantId === id).length]).toEqual([name, APIS])
          expect(found.applied.filter(row => row.tenantId === id)).toHaveLength(APIS + 1)
        }
        const whole = found.tenants.map(tenant => tenant.name)
        expect(found.created).toBe(whole.length * APIS)
        outcomes.forEach((outcome, round) => {
          if (outcome === 200) expect(whole).toContain(`round-${round}`)
        })
        console.info(
          `${database.name}: ${KILLS} kills within ${Math.round(tookMs)} ms, ${outcomes.filter(each => each === 'killed').length} without a response, ${whole.length - 1} whole`,
        )
      } finally {
        await store.close()
      }
    })
  })
})
