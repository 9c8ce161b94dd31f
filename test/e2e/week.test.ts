/**
 * A week of one deployment: two teams with configuration in git, subscriptions, versions, a migration, a rollback; the changes are checked
 * at a receiver of webhooks, at the gateway and in the audit. `WEEK=1` runs 40 APIs and 300 subscriptions on every topology.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WITHOUT_POSTGRES } from '../contract/store/postgres-cluster.ts'
import { friday, monday, saturday, sunday, thursday, tuesday, wednesday } from '../fixtures/week/days.ts'
import { startTopology, type Topology, type WeekDeployment } from '../fixtures/week/topologies.ts'
import { Week } from '../fixtures/week/week.ts'

const LONG = process.env.WEEK === '1'
const SIZE = LONG ? { apis: 40, subscriptions: 300 } : { apis: 6, subscriptions: 24 }
const TOPOLOGIES: readonly Topology[] = LONG ? ['PGlite', 'PostgreSQL', 'separate planes'] : ['PGlite']
/** Against what hangs, not against a busy machine. */
const DAY_MS = LONG ? 3_600_000 : 300_000

describe.each(TOPOLOGIES)('a week on %s', topology => {
  describe.skipIf(topology === 'PostgreSQL' && WITHOUT_POSTGRES)(`with ${SIZE.apis} APIs`, () => {
    let deployment: WeekDeployment
    let week: Week | undefined
    let startedAt: number

    beforeAll(async () => {
      startedAt = performance.now()
      deployment = await startTopology(topology)
      week = new Week(deployment, SIZE)
    }, DAY_MS)
    afterAll(async () => {
      await week?.stop()
      const verified = await deployment?.stop()
      const counts = { ...week?.counts, seconds: Math.round((performance.now() - startedAt) / 1000) }
      week?.remove()
      console.info(`${topology}: ${JSON.stringify(counts)}; ${verified}`)
    }, DAY_MS)

    // a day needs those before it
    it.each([
      ['Monday: two teams apply', monday],
      ['Tuesday: applications subscribe', tuesday],
      ['Wednesday: subscriptions are suspended, changed, rotated, blocked, ended', wednesday],
      ['Thursday: second versions, deprecation, migration', thursday],
      ['Friday: a rollback', friday],
      ['Saturday: drift, a removal, a product', saturday],
      ['Sunday: all is as in git', sunday],
    ] as const)('%s', { timeout: DAY_MS }, async (_, day) => {
      await day(week!)
      expect(week!.counts.gatewayChecks).toBeGreaterThan(0)
    })
  })
})
