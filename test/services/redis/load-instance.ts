/** An instance under load: waits for `go`, calls for one consumer as fast as requested, prints what was granted and when. */
import type { QuotaGrant, QuotaRefusal } from '../../../src/data-plane/quota/quota.ts'
import { openRedisQuota } from '../../../src/data-plane/quota/redis/redis-quota.ts'
import type { LoadJob, LoadReport } from './load.ts'

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

/** One clock for all processes of the machine. */
const nowMs = () => Number(process.hrtime.bigint() / 1000n) / 1000
const report: LoadReport = { grants: [], calls: 0, waited: 0, longestMs: 0, lagMs: 0, ends: [] }
const key = quota.key(job.key)
const begun = nowMs()
let last = begun
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
  void response.then(later => {
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
  for (let i = 0; i < job.atOnce; i++) call()
  if (now - begun < job.seconds * 1000) return
  clearInterval(timer)
  setTimeout(finish, 100 + (job.holdMs ?? 0))
}, job.everyMs)

async function finish(): Promise<void> {
  report.waited = quota.health().waited - waitedBefore
  await quota.close()
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit())
}
