/** An instance under load: waits for `go`, calls for one consumer as fast as requested, prints what was granted and when. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { QuotaGrant, QuotaRefusal } from '../../../src/data-plane/quota/quota.ts'
import { openRedisQuota } from '../../../src/data-plane/quota/redis/redis-quota.ts'
import type { LoadJob, LoadReport } from './load.ts'

/** How often the number of grants is printed. */
const SAY_EVERY_MS = 100
/** Calls that have not ended by then are reported with the time that they have taken. */
const MAX_PENDING_MS = 5_000

const job = JSON.parse(process.argv[2]!) as LoadJob
const quota = openRedisQuota({
  redis: job.redis,
  consumers: 256,
  toolBuckets: 64,
  keyPrefix: job.keyPrefix,
  ...(job.dir === undefined ? undefined : { dir: job.dir }),
})
await quota.ready
process.stdout.write('ready\n')
await new Promise(resolve => process.stdin.once('data', resolve))
let isStopped = false
process.stdin.once('data', () => {
  isStopped = true
})

/** One clock for all processes of the machine. */
const nowMs = () => Number(process.hrtime.bigint() / 1000n) / 1000
const report: LoadReport = { grants: [], calls: 0, waited: 0, longestMs: 0, lagMs: 0, ends: [] }
const key = quota.key(job.key)
const begun = nowMs()
let last = begun
let saidAt = begun
let isEnding = false
/** Calls that wait for Redis, by the time at which they began. */
const pending = new Set<{ readonly asked: number }>()
const waitedBefore = quota.health().waited

function call(): void {
  report.calls++
  const asked = nowMs()
  const response = quota.take({
    key,
    limits: job.limits,
    nowMs: Date.now(),
    ...(job.tool === undefined ? undefined : { tool: { key: 'tool', rateLimit: job.tool } }),
  })
  if (!(response instanceof Promise)) return note(response, asked)
  const entry = { asked }
  pending.add(entry)
  void response.then(later => {
    pending.delete(entry)
    report.longestMs = Math.max(report.longestMs, nowMs() - asked)
    note(later, asked)
  })
}

function note(response: QuotaGrant | QuotaRefusal, asked: number): void {
  if (!response.granted) return
  report.grants.push([asked, nowMs()])
  hold(() => response.release())
}

function hold(release: () => void): void {
  if (job.holdMs === undefined) return release()
  setTimeout(() => {
    report.ends.push(nowMs())
    release()
  }, job.holdMs)
}

const timer = setInterval(() => {
  const now = nowMs()
  report.lagMs = Math.max(report.lagMs, now - last - job.everyMs)
  last = now
  if (isEnding) return
  for (let i = 0; i < job.atOnce; i++) call()
  if (now - saidAt >= SAY_EVERY_MS) {
    saidAt = now
    process.stdout.write(`granted ${report.grants.length}\n`)
  }
  if (!isStopped && now - begun < job.seconds * 1000) return
  isEnding = true
  setTimeout(finish, 100 + (job.holdMs ?? 0))
}, job.everyMs)

async function finish(): Promise<void> {
  for (let waitedMs = 0; pending.size > 0 && waitedMs < MAX_PENDING_MS; waitedMs += 10) await sleep(10)
  clearInterval(timer)
  // a call that never ends takes at least as long as it was waited for
  for (const { asked } of pending) report.longestMs = Math.max(report.longestMs, nowMs() - asked)
  report.waited = quota.health().waited - waitedBefore
  await quota.close()
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit())
}
