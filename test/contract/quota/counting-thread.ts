/** A worker thread that joins the quotas of its process, calls for one consumer at a given rate, and reports. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { joinJournalQuota } from '../../../src/data-plane/quota/journal/journal-quota.ts'
import type { SharedQuota } from '../../../src/data-plane/quota/memory/kernel.ts'
import type { Quota, QuotaGrant, QuotaRefusal } from '../../../src/data-plane/quota/quota.ts'
import { joinRedisQuota } from '../../../src/data-plane/quota/redis/joined-quota.ts'
import type { PlanLimits } from '../../../src/model/plan.ts'

export interface Joining {
  readonly share: SharedQuota
  readonly thread: number
  /** Directory of the journal to join; otherwise `port` leads to the thread that holds the connection to Redis. */
  readonly dir?: string
  readonly port?: MessagePort
}

export interface ThreadJob {
  readonly key: string
  readonly limits: PlanLimits
  readonly tool?: { readonly requestsPerMinute: number; readonly burst: number }
  readonly seconds: number
  readonly atOnce: number
  readonly everyMs: number
}

export interface ThreadReport {
  /** Each was admitted between these two, in milliseconds of the machine's monotonic clock. */
  readonly grants: [number, number][]
  calls: number
  waited: number
  longestMs: number
  /** Longest delay of the thread's own event loop. */
  lagMs: number
  /** Orders to clear caches that were received. */
  cleared: number
}

/** Orders to a thread. */
export type ThreadOrder =
  | 'close'
  | 'clear'
  | { readonly load: ThreadJob }
  | { readonly reset: string }
  | { readonly spin: Pick<ThreadJob, 'key' | 'limits'> }

/** One clock for all threads and processes of the machine. */
export const machineMs = () => Number(process.hrtime.bigint() / 1000n) / 1000

/** Calls for the time of the job, and resolves when every call has ended. */
export async function load(quota: Quota, job: ThreadJob): Promise<ThreadReport> {
  const report: ThreadReport = { grants: [], calls: 0, waited: 0, longestMs: 0, lagMs: 0, cleared: 0 }
  const key = quota.key(job.key)
  const waitedBefore = quota.health().waited
  const open: Promise<void>[] = []

  function call(): void {
    report.calls++
    const asked = machineMs()
    const tool = job.tool === undefined ? {} : { tool: { key: 'tool', rateLimit: job.tool } }
    const response = quota.take({ key, limits: job.limits, nowMs: Date.now(), ...tool })
    if (!(response instanceof Promise)) return note(response, asked)
    open.push(
      response.then(later => {
        report.longestMs = Math.max(report.longestMs, machineMs() - asked)
        note(later, asked)
      }),
    )
  }

  function note(response: QuotaGrant | QuotaRefusal, asked: number): void {
    if (!response.granted) return
    report.grants.push([asked, machineMs()])
    response.release()
  }

  const begun = machineMs()
  let last = begun
  let isEnding = false
  await new Promise<void>(resolve => {
    const timer = setInterval(() => {
      const now = machineMs()
      report.lagMs = Math.max(report.lagMs, now - last - job.everyMs)
      last = now
      if (isEnding) return
      for (let i = 0; i < job.atOnce; i++) call()
      if (now - begun < job.seconds * 1000) return
      isEnding = true
      // the event loop may also be late while the last calls wait
      void Promise.all(open).then(() => {
        clearInterval(timer)
        resolve()
      })
    }, job.everyMs)
  })
  report.waited = quota.health().waited - waitedBefore
  return report
}

/** Calls without a pause until its thread is terminated, most probably within a call. The last call is not released. */
function spin(quota: Quota, { key, limits }: Pick<ThreadJob, 'key' | 'limits'>): void {
  const request = { key: quota.key(key), limits, nowMs: Date.now() }
  for (let last: QuotaGrant | undefined; ; ) {
    const response = quota.take(request) as QuotaGrant | QuotaRefusal
    if (!response.granted) continue
    last?.release()
    last = response
  }
}

if (parentPort !== null && (workerData as Joining | null)?.share !== undefined) {
  const { share, thread, dir, port } = workerData as Joining
  const quota: Quota =
    dir === undefined
      ? joinRedisQuota({ share, thread, port: port! })
      : joinJournalQuota({ dir, share, thread })
  let cleared = 0
  quota.onCleared(() => cleared++)
  parentPort.on('message', async (order: ThreadOrder) => {
    if (order === 'close') {
      await quota.close()
      parentPort!.close()
    } else if (order === 'clear') {
      await quota.clearElsewhere()
      parentPort!.postMessage(cleared)
    } else if ('spin' in order) {
      parentPort!.postMessage('spinning')
      spin(quota, order.spin)
    } else if ('load' in order) parentPort!.postMessage({ ...(await load(quota, order.load)), cleared })
    else parentPort!.postMessage(await quota.reset(order.reset))
  })
  parentPort.postMessage('ready')
}
