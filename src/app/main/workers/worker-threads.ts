/**
 * The worker threads as one data plane: sends configuration to them, keeps their stream slots and (without Redis) sessions, adds up their usage and
 * replaces threads that end.
 */

import { join } from 'node:path'
import { MessageChannel, type Worker } from 'node:worker_threads'
import { Backoff } from '../../../base/async/backoff.ts'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import { sharedCells } from '../../../base/fair-shares.ts'
import { PortLine } from '../../../base/threads/port-line.ts'
import { startThread } from '../../../base/threads/start-thread.ts'
import type { EveryThread } from '../../../data-plane/calls/process-calls.ts'
import type { RecordAdminAction } from '../../../data-plane/http/admin/admin-audit.ts'
import { StreamLimiter } from '../../../data-plane/http/mcp/stream-limiter.ts'
import { fileKeyRing, reportUnsavedKeys } from '../../../data-plane/sessions/key-ring.ts'
import { MemorySessionStore } from '../../../data-plane/sessions/memory/store.ts'
import { SessionThreadServer } from '../../../data-plane/sessions/threads/thread-server.ts'
import { UsageCounter, type UsageDelta } from '../../../data-plane/stages/6-settle/count-usage.ts'
import { type SnapshotChange, wholeChange } from '../../../link/change.ts'
import type { SnapshotDocument } from '../../../link/document.ts'
import type { AdminAction } from '../../../link/report.ts'
import type { MetricJson } from '../../../telemetry/metrics.ts'
import type { AppContext } from '../app-context.ts'
import type { DataPlane } from '../data-plane.ts'
import type { JoinableQuota } from '../open-quota.ts'
import type { OpenPolicyOwner } from '../policy-served.ts'
import { catalogReport } from '../tool-set-statuses.ts'
import { servePolicy } from './policy-in-main-thread.ts'
import { applyTo } from './post-change.ts'
import { keysOf } from './posted-keys.ts'
import { StreamSlotOwner } from './stream-slots.ts'
import type { ThreadData, ThreadReady } from './thread-data.ts'

/** Long enough to compile a large configuration. */
const RESPONSE_MS = 60_000
const RESTART_BACKOFF = { firstMs: 100, maxMs: 10_000 }
/** After this time alive, a thread counts as healthy. */
const STEADY_MS = 30_000
const KEYS_EVERY_MS = 60_000

type Status = ReturnType<DataPlane['status']>

interface Thread {
  readonly number: number
  readonly worker: Worker
  readonly line: PortLine
  /** Settled when the thread has ended. */
  readonly ended: Promise<void>
  status: Status
}

export interface WorkerThreadsOptions extends Pick<ThreadData, 'issuer' | 'apiUrl'> {
  readonly context: AppContext
  readonly quota: JoinableQuota
  /** undefined where no bundles are served. */
  readonly policy: OpenPolicyOwner | undefined
  readonly count: number
  /** For the audit. */
  readonly recordAction: RecordAdminAction
}

export interface WorkerThreads extends DataPlane, ThreadReady {}

/** @throws Error with the reason if the first thread cannot start */
export async function startWorkerThreads(options: WorkerThreadsOptions): Promise<WorkerThreads> {
  const threads = new Threads(options)
  await threads.start()
  return threads
}

class Threads implements WorkerThreads {
  readonly #options: WorkerThreadsOptions
  readonly #threads = new Map<number, Thread>()
  /** Until they are among the threads: they have to be ended too. */
  readonly #opening = new Set<Promise<Thread>>()
  readonly #usage = new UsageCounter()
  readonly #sessions: { readonly server: SessionThreadServer; keys(): ThreadData['sessionKeys'] } | undefined
  readonly #places: StreamSlotOwner
  readonly #heldBytes: SharedArrayBuffer
  /** The last one that all threads served. */
  #document: SnapshotDocument | undefined
  #clockOffsetMs = 0
  #isListening = false
  #isDraining = false
  #stopping = false
  readonly #changes = new SerialQueue()
  port = 0
  httpServer: ThreadReady['httpServer'] = 'uws'

  constructor(options: WorkerThreadsOptions) {
    this.#options = options
    const { settings, clock, conditions, closers, metrics } = options.context
    this.#places = new StreamSlotOwner(
      new StreamLimiter({ ...settings.sse, enabled: settings.sse.limiterEnabled }),
    )
    this.#heldBytes = sharedCells(options.count)
    this.#sessions = settings.redis === undefined ? this.#openSessions() : undefined
    clock.onAdvance(ms => {
      this.#clockOffsetMs += ms
      for (const { line } of this.#threads.values()) line.notify('advance', ms)
    })
    conditions.onChange((part, fault) => {
      for (const { line } of this.#threads.values()) line.notify('condition', part, fault)
    })
    closers.add('threads', () => this.#end(Date.now() + settings.drainTimeoutMs))
    metrics.gather(() => this.#askAll<MetricJson>('metrics'))
    metrics.read('platform_workers', () => this.#threads.size)
  }

  #openSessions() {
    const { settings, log, clock, closers, reportDamage } = this.#options.context
    const file = join(settings.dataDir, 'session-keys.json')
    const keys = fileKeyRing(file, Date.now, reportDamage, reportUnsavedKeys(log))
    const store = new MemorySessionStore({
      keys,
      ttlMs: settings.sessions.ttlMs,
      maxSessions: settings.sessions.max,
      now: clock.now,
    })
    let posted = keys.current().id
    const timer = setInterval(() => {
      if (keys.current().id === posted) return
      posted = keys.current().id
      for (const { line } of this.#threads.values()) line.notify('keys', keysOf(keys))
    }, KEYS_EVERY_MS).unref()
    closers.add('sessions', () => {
      clearInterval(timer)
      store.close()
    })
    return { server: new SessionThreadServer(store), keys: () => keysOf(keys) }
  }

  /** The first thread chooses the port, the others share it. */
  async start(): Promise<void> {
    this.port = this.#options.context.settings.gateway.port
    await this.#begin(1)
    await Promise.all(Array.from({ length: this.#options.count - 1 }, (_, at) => this.#begin(at + 2)))
  }

  readonly everyThread: EveryThread = (name, ...args) => this.#askAll('signals', name, args)

  get workers(): number {
    return this.#options.count
  }

  apply(document: SnapshotDocument, change: SnapshotChange): Promise<string | undefined> {
    return this.#changes.run(async () => {
      const reasons = await this.#applyToAll(change)
      const reason = reasons.find(one => one !== undefined)
      if (reason === undefined) this.#document = document
      // some threads serve it already: back to the document that all of them can serve
      else if (this.#document !== undefined && reasons.includes(undefined))
        await this.#applyToAll(wholeChange(this.#document))
      return reason
    })
  }

  #applyToAll(change: SnapshotChange): Promise<(string | undefined)[]> {
    return Promise.all([...this.#threads.values()].map(({ line }) => applyTo(line, change)))
  }

  status(): Status {
    if (this.#isDraining) return 'draining'
    const all = [...this.#threads.values()]
    return all.length === this.#options.count && all.every(({ status }) => status === 'online')
      ? 'online'
      : 'degraded'
  }

  async waitingFor(): Promise<readonly string[]> {
    // a thread that has ended is replaced
    const each = await Promise.allSettled(
      [...this.#threads.values()].map(({ line }) => line.ask<string[]>('waiting')),
    )
    return [...new Set(each.flatMap(one => (one.status === 'fulfilled' ? one.value : ['threads'])))]
  }

  async listen(): Promise<void> {
    this.#isListening = true
    await Promise.all([...this.#threads.values()].map(({ line }) => line.ask('listen')))
  }

  announceDrain(): void {
    this.#isDraining = true
    for (const { line } of this.#threads.values()) line.notify('announce')
  }

  takeUsage(): UsageDelta {
    return this.#usage.take()
  }

  drain(untilMs: number): Promise<void> {
    return this.#end(untilMs)
  }

  async #end(untilMs: number): Promise<void> {
    this.#isDraining = true
    this.#stopping = true
    const end = async ({ line, ended }: Thread): Promise<void> => {
      await line.ask('end', untilMs).catch(() => {})
      await ended
    }
    await Promise.all([
      ...[...this.#threads.values()].map(end),
      ...[...this.#opening].map(opening => opening.then(end, () => {})),
    ])
  }

  /** @throws Error with the reason of a thread that cannot start */
  async #begin(number: number, backoff = new Backoff(RESTART_BACKOFF)): Promise<void> {
    if (this.#stopping) return
    const { log } = this.#options.context
    const opening = this.#open(number)
    this.#opening.add(opening)
    let thread: Thread
    try {
      thread = await opening
      // no change is in flight while it catches up and joins
      await this.#changes.run(async () => {
        if (this.#document !== undefined) await applyTo(thread.line, wholeChange(this.#document))
        this.#threads.set(number, thread)
      })
    } finally {
      this.#opening.delete(opening)
    }
    if (this.#stopping) return
    // before it has caught up, its share of the connections would get 503
    if (this.#isListening) await thread.line.ask('listen')
    if (this.#isDraining) thread.line.notify('announce')
    const startedAtMs = performance.now()
    void thread.ended.then(() => {
      this.#threads.delete(number)
      if (this.#stopping) return
      if (performance.now() - startedAtMs > STEADY_MS) backoff.reset()
      const waitMs = backoff.nextMs()
      log.error({ thread: number, restart_ms: waitMs }, 'a worker thread has ended and is being replaced')
      this.#restart(number, waitMs, backoff)
    })
  }

  #restart(number: number, waitMs: number, backoff: Backoff): void {
    setTimeout(() => {
      if (!this.#stopping)
        this.#begin(number, backoff).catch(error => {
          this.#options.context.log.error({ err: error, thread: number }, 'a worker thread could not start')
          this.#restart(number, backoff.nextMs(), backoff)
        })
    }, waitMs)
  }

  async #open(number: number): Promise<Thread> {
    const { context, issuer, apiUrl, quota, policy, count, recordAction } = this.#options
    const { settings, conditions, log } = context
    const { port1, port2 } = new MessageChannel()
    const share = quota.join()
    const data: ThreadData = {
      settings: { ...settings, maxInFlight: Math.ceil(settings.maxInFlight / count) },
      issuer,
      apiUrl,
      thread: number,
      port: this.port,
      quota: share,
      line: port2,
      heldBytes: this.#heldBytes,
      policyEpoch: policy?.epoch,
      sessionKeys: this.#sessions?.keys() ?? [],
      conditions: conditions.all,
      clockOffsetMs: this.#clockOffsetMs,
    }
    const worker = startThread(new URL('./thread.ts', import.meta.url), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION_MB },
      transferList: share.kind === 'redis' ? [port2, share.port] : [port2],
    })
    worker.on('error', error => log.error({ err: error, thread: number }, 'a worker thread has failed'))
    const ended = new Promise<void>(resolve => {
      worker.once('exit', () => {
        quota.detach(number)
        resolve()
      })
    })
    const line = new PortLine(port1, {}, RESPONSE_MS)
    const thread: Thread = { number, worker, line, ended, status: 'online' }
    const ready = new Promise<ThreadReady>((resolve, reject) => {
      line.serve({
        ready: (message: ThreadReady) => resolve(message),
        failed: (reason: string) => reject(new Error(reason)),
        usage: (usage: UsageDelta, status: Status) => {
          this.#usage.add(usage)
          thread.status = status
        },
        'signals.every': (name: string, args: readonly unknown[]) => this.#askAll('signals', name, args),
        audit: (action: AdminAction) => recordAction(action),
        catalog: () => catalogReport(context),
      })
      void ended.then(() => reject(new Error('the worker thread ended before it was ready')))
    })
    this.#sessions?.server.serve(line)
    this.#places.serve(line)
    if (policy !== undefined) servePolicy(line, policy)
    const { port, httpServer } = await ready
    this.port = port
    this.httpServer = httpServer
    return thread
  }

  /** The responses of those that work. */
  async #askAll<T>(of: string, ...args: readonly unknown[]): Promise<readonly T[]> {
    const responses = await Promise.allSettled(
      [...this.#threads.values()].map(({ line }) => line.ask<T>(of, ...args)),
    )
    return responses.flatMap(response => (response.status === 'fulfilled' ? [response.value] : []))
  }
}

/** Three times a semi-space: a scavenge copies at most what survives in one, which blocks the thread for some milliseconds. */
const MAX_YOUNG_GENERATION_MB = 12
