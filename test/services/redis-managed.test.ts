/** Quotas and sessions on Redis as providers offer it: TLS with an ACL user, sentinels, a cluster. A server ends under load; limits hold, and calls go on. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { inspectSettings } from '../../src/app/settings.ts'
import type { QuotaGrant, QuotaRefusal } from '../../src/data-plane/quota/quota.ts'
import { openRedisQuota } from '../../src/data-plane/quota/redis/redis-quota.ts'
import { openSessions } from '../../src/data-plane/sessions/open-sessions.ts'
import type { SessionStore } from '../../src/data-plane/sessions/session-store.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { noDamage } from '../fixtures/no-damage.ts'
import { SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'
import { mostSurelyInside, type Span } from '../unit/data-plane/kernel/window/oracle.ts'
import { startCluster, startEncrypted, startSentinels, type Topology } from './redis/topologies.ts'

const PER_SECOND = 50
/** For consumers that call 20 times a second: some have used all of it when the server ends, others a part. */
const PER_MINUTE = [30, 60, 120, 240, 480, 960]

/** Clock of grants, ms. */
const nowMs = () => Number(process.hrtime.bigint() / 1000n) / 1000

describe.skipIf(withoutRedis)(`Redis of a provider${SKIPPED_HINT}`, () => {
  const root = mkdtempSync(join(tmpdir(), 'managed-'))
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  const topologies: readonly (readonly [string, (dir: string) => Promise<Topology>])[] = [
    ['TLS with an ACL user', startEncrypted],
    ['sentinels', startSentinels],
    ['a cluster', startCluster],
  ]

  it.each(topologies)(
    '%s',
    async (name, start) => {
      const dir = mkdtempSync(join(root, 'servers-'))
      const topology = await start(dir)
      onTestFinished(() => topology.stop())
      const { settings, faults } = inspectSettings(topology.env)
      expect(faults).toEqual([])
      const redis = settings.redis!
      const errors = new Set<string>()
      const instances = await Promise.all(
        ['a', 'b'].map(async each => {
          const quota = openRedisQuota({
            redis,
            consumers: 64,
            toolBuckets: 8,
            dir: join(dir, `quota-${each}`),
            onFault: error => errors.add(error.message),
          })
          const { sessions } = await openSessions({
            dataDir: join(dir, `sessions-${each}`),
            redis,
            ttlMs: 60_000,
            max: 100,
            log: SILENT,
            onDamage: noDamage,
          })
          onTestFinished(async () => {
            await quota.close()
            await sessions.close()
          })
          await quota.ready
          return { quota, sessions }
        }),
      )
      const load = startLoad(instances.map(({ quota }) => quota))
      onTestFinished(() => load.stop())
      const [here, there] = instances.map(({ sessions }) => sessions) as [SessionStore, SessionStore]

      await expect.poll(() => load.grants('rate').length, { timeout: 15_000 }).toBeGreaterThan(20)
      const { id } = await here.create({ ...FACTS, createdAtMs: Math.floor(Date.now() / 1000) * 1000 })
      await signalled(here, there, id)
      if (topology.move !== undefined) {
        await topology.move()
        load.note('moved')
      }
      await topology.fail()
      const failedAt = nowMs()
      load.note('failed')
      // more than the leases that were held
      await expect
        .poll(() => load.grants('rate').filter(({ from }) => from > failedAt + 2000).length, {
          timeout: 60_000,
        })
        .toBeGreaterThan(PER_SECOND)
      await signalled(here, there, id)
      expect(await there.find(id, Date.now())).toMatchObject({ id, owner: FACTS.owner })
      // the rest of a minute may be granted only after its window: the new master may lack counts
      expect(load.grants('minute-0').length).toBeGreaterThan(0)
      load.stop()

      const most = mostSurelyInside(load.grants('rate'), 1000)
      const minutes = PER_MINUTE.map((_, n) => mostSurelyInside(load.grants(`minute-${n}`), 60_000))
      const gapMs = load.longestGapAfter(failedAt)
      console.log(
        `${name}: ${load.calls} calls, ${load.unavailable} refused while the store was unavailable, at most ${most} of ${PER_SECOND} in any second, ${minutes.join(' ')} of ${PER_MINUTE.join(' ')} in a minute, longest pause ${Math.round(gapMs)} ms, longest wait ${Math.round(load.longestMs)} ms (event loop late by up to ${Math.round(load.lagMs)} ms)`,
      )
      expect(most).toBeLessThanOrEqual(PER_SECOND)
      for (const [n, limit] of PER_MINUTE.entries()) expect(minutes[n]).toBeLessThanOrEqual(limit)
      expect([...errors].join('\n')).not.toMatch(/NOPERM|CROSSSLOT/)
    },
    120_000,
  )
})

const FACTS = {
  protocolVersion: '2025-06-18',
  origin: 'initialize',
  elicitation: false,
  owner: '00112233445566ff',
} as const

/** A signal that is sent repeatedly arrives at the other instance. */
async function signalled(from: SessionStore, to: SessionStore, id: string): Promise<void> {
  let arrived = false
  const end = to.listen(id, () => {
    arrived = true
  })
  for (const until = Date.now() + 20_000; !arrived && Date.now() < until; await sleep(50))
    void from.signal(id, { kind: 'message', message: 'hello' })
  end()
  expect(arrived).toBe(true)
}

type Quota = ReturnType<typeof openRedisQuota>

/** Calls for one consumer with a limit per second, and for several with one per minute, at all instances. */
function startLoad(quotas: readonly Quota[]) {
  const grants = new Map<string, Span[]>()
  const names = ['rate', ...PER_MINUTE.map((_, n) => `minute-${n}`)]
  const keys = quotas.map(quota => new Map(names.map(name => [name, quota.key(`tenant/${name}`)])))
  const load = {
    calls: 0,
    unavailable: 0,
    longestMs: 0,
    lagMs: 0,
    grants: (name: string): Span[] => grants.get(name) ?? [],
    /** Longest time without a grant of `rate` after this moment, in ms. */
    longestGapAfter(at: number): number {
      const ends = [at, ...load.grants('rate').flatMap(({ to }) => (to > at ? [to] : []))].sort(
        (a, b) => a - b,
      )
      return Math.max(...ends.slice(1).map((end, i) => end - ends[i]!))
    },
    note(event: string): void {
      if (process.env.TRACE === '1') console.log(event, load.calls, load.grants('rate').length)
    },
    stop: () => clearInterval(timer),
  }
  const take = (quota: Quota, which: number, name: string, perMinute?: number): void => {
    load.calls++
    const asked = nowMs()
    const limits =
      perMinute === undefined
        ? { perSecond: PER_SECOND, perMinute: 30_000, perDay: 1_000_000 }
        : { perSecond: 1000, perMinute, perDay: 1_000_000 }
    const settle = (response: QuotaGrant | QuotaRefusal): void => {
      if (!response.granted) {
        if (response.cause === 'store_unavailable') load.unavailable++
        return
      }
      const spans = grants.get(name) ?? []
      grants.set(name, spans)
      spans.push({ from: asked, to: nowMs() })
      response.release()
    }
    const response = quota.take({ key: keys[which]!.get(name)!, limits, nowMs: Date.now() })
    if (!(response instanceof Promise)) return settle(response)
    void response.then(later => {
      load.longestMs = Math.max(load.longestMs, nowMs() - asked)
      settle(later)
    })
  }
  let last = nowMs()
  let round = 0
  const timer = setInterval(() => {
    const now = nowMs()
    load.lagMs = Math.max(load.lagMs, now - last - 10)
    last = now
    round++
    for (const [which, quota] of quotas.entries()) {
      take(quota, which, 'rate')
      take(quota, which, 'rate')
      if (round % 10 === 0)
        for (const [n, limit] of PER_MINUTE.entries()) take(quota, which, `minute-${n}`, limit)
    }
  }, 10)
  return load
}
