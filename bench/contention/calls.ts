/** Records the accesses of real calls: quota with its journal, the policy's epoch, a shared bucket, and a thread's own kernel. It simulates nothing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { policyInMainThread } from '../../src/app/main/workers/policy-in-main-thread.ts'
import { METHOD_POST } from '../../src/data-plane/kernel/abi.ts'
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import { planLayout } from '../../src/data-plane/kernel/layout.ts'
import { openJournalQuota } from '../../src/data-plane/quota/journal/journal-quota.ts'
import { planRegion } from '../../src/data-plane/quota/memory/region.ts'
import type { Quota, QuotaGrant, QuotaKey } from '../../src/data-plane/quota/quota.ts'
import { PortLine } from '../../src/shared/threads/port-line.ts'
import { createMemoryQuota } from '../../test/fixtures/memory-quota.ts'
import { type Field, fieldAt } from './fields.ts'
import { type Access, Recorder } from './recorder.ts'

export interface TracedAccess extends Pick<Access, 'kind' | 'address'> {
  readonly field: Field
}

/** A call takes units before the request to its backend, and releases its slot behind the response. */
export interface TracedCall {
  readonly take: readonly TracedAccess[]
  readonly release: readonly TracedAccess[]
}

export interface TraceOptions {
  /** Time between two calls of the consumer: decides how far the windows advance in each. */
  readonly gapMs: number
  readonly calls: number
  /** Unrecorded calls before: until a reservation of the journal has its full size. Default 1,100. */
  readonly warmUp?: number
  /** Consumers that call before the recorded one: it then has another slot. Default 0. */
  readonly othersFirst?: number
  /** Whether the tool has a rate limit. Default true. */
  readonly toolLimit?: boolean
  /** Whether units are reserved in a journal, as in a gateway without Redis. Default true. */
  readonly journal?: boolean
}

/** So high that no call is refused. */
const LIMITS = { perSecond: 1e6, perMinute: 5e6, perDay: 5e8, perMonth: 1e9, burst: 100 }
const RATE_LIMIT = { requestsPerMinute: 1e7, burst: 1e6 }
/** As `createQuotaRegion` plans its memory. */
const QUOTA_BASE = planLayout({ buckets: 1 }).quotaBase
const REGION = { consumers: 1024, toolBuckets: 1024, listed: 1024 }
/** The days of `unixMs` do not change while calls are recorded. */
const NOON_MS = Date.UTC(2026, 0, 1, 12)

/** Calls of one consumer through the real store, one after the other. */
export function traceCalls(options: TraceOptions): readonly TracedCall[] {
  const { gapMs, calls, warmUp = 1_100, othersFirst = 0, toolLimit = true, journal = true } = options
  const recorder = new Recorder()
  const dir = mkdtempSync(join(tmpdir(), 'contention-'))
  let nowMs = 1_000_000
  const restore = recorder.install(() => nowMs)
  const { port1, port2 } = new MessageChannel()
  let quota: Quota | undefined
  try {
    const unixMs = (): number => NOON_MS + nowMs
    quota = journal ? openJournalQuota({ dir, unixMs, ...REGION }) : createMemoryQuota({ unixMs, ...REGION })
    // behind the quota, whose memory is the first buffer
    const policy = policyInMainThread(new PortLine(port1), new SharedArrayBuffer(4))
    const region = { base: QUOTA_BASE, plan: planRegion(REGION) }
    const fields = (run: () => void): readonly TracedAccess[] =>
      recorder
        .record(run)
        .flatMap(({ kind, address, bytes }) =>
          split(address, bytes).map(at => ({ kind, address: at, field: fieldAt(at, region) })),
        )
    const tool = toolLimit ? { key: quota.key('shop_getProduct'), rateLimit: RATE_LIMIT } : undefined
    const callerOf = (key: QuotaKey) => (): QuotaGrant => {
      const response = quota!.take({
        key,
        limits: LIMITS,
        ...(tool === undefined ? {} : { tool }),
        nowMs: NOON_MS + nowMs,
      })
      if (response instanceof Promise || !response.granted) throw new Error('a traced call was refused')
      return response
    }
    for (let at = 0; at < othersFirst; at++) callerOf(quota.key(`acme/other-${at}`))().release()
    const take = callerOf(quota.key('acme/agent'))
    const traced: TracedCall[] = []
    for (let at = -warmUp; at < calls; at++) {
      nowMs += gapMs
      if (at < 0) take().release()
      else {
        let grant: QuotaGrant | undefined
        const taken = fields(() => {
          policy.sync?.()
          grant = take()
        })
        traced.push({ take: taken, release: fields(() => grant!.release()) })
      }
    }
    return traced
  } finally {
    // the arrays of the store are wrapped, so it is closed first
    void quota?.close()
    restore()
    port1.close()
    port2.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Accesses of the kernel that each thread has in a separate memory (`createKernel()` in src/app/main/data-plane.ts): path, route, envelope. */
export function traceOwnKernel(): readonly Access[] {
  const recorder = new Recorder()
  const restore = recorder.install(() => 1)
  try {
    const { kernel } = createKernel()
    kernel.loadRoutes([{ method: 'POST', pattern: '/mcp' }])
    const body = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shop_getProduct","arguments":{"productId":"P-1001"}}}',
    )
    return recorder.record(() => {
      if (kernel.admit('/mcp', METHOD_POST, NOON_MS) !== 0) throw new Error('the traced path has no route')
      kernel.envelope.read(body, true)
    })
  } finally {
    restore()
  }
}

/** One token of a bucket that threads share. */
export function traceBucket(): readonly TracedAccess[] {
  const recorder = new Recorder()
  const restore = recorder.install(() => 1)
  try {
    const { kernel, shared } = createKernel({ buckets: 1, routeTableBytes: 1024 })
    kernel.setBucketRate(0, { tokens: 1, periodMs: 1, burst: 10 })
    const field: Field = {
      name: 'route-bucket',
      part: 'route-bucket',
      base: shared.layout.bucketBase,
      isPrivate: false,
    }
    return recorder
      .record(() => kernel.takeTokens(0, 1, NOON_MS))
      .map(({ kind, address }) => ({ kind, address, field }))
  } finally {
    restore()
  }
}

/** One address for each line that an access covers. */
function split(address: number, bytes: number): number[] {
  const last = address + Math.max(bytes, 1) - 1
  const lines: number[] = [address]
  for (let line = Math.floor(address / 64) + 1; line <= Math.floor(last / 64); line++) lines.push(line * 64)
  return lines
}
