/** The entry point of a worker thread: a data plane that gets its configuration from the main thread and shares counters with it. */
import { parentPort, workerData } from 'node:worker_threads'
import { PortLine } from '../../../base/threads/port-line.ts'
import type { ThreadSignals } from '../../../data-plane/calls/process-calls.ts'
import { joinJournalQuota } from '../../../data-plane/quota/journal/journal-quota.ts'
import type { Quota } from '../../../data-plane/quota/quota.ts'
import type { RingKey } from '../../../data-plane/sessions/key-ring.ts'
import { fileServerSessions, openSessions } from '../../../data-plane/sessions/open-sessions.ts'
import type { OpenedSessions } from '../../../data-plane/sessions/opened-sessions.ts'
import { JoinedSessionStore } from '../../../data-plane/sessions/threads/joined-store.ts'
import { applyChange, type SnapshotChange } from '../../../link/change.ts'
import { EMPTY_CONTENT, type SnapshotContent } from '../../../link/document.ts'
import type { Tool } from '../../../model/tool.ts'
import { Closers } from '../../../telemetry/closers.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { type AppContext, createContext, localUrl, prepareListener } from '../app-context.ts'
import { respond as respondTo } from '../data-plane/signals.ts'
import { type DataPlane, startDataPlane } from '../data-plane.ts'
import { openMeter } from '../metering.ts'
import { policyInMainThread } from './policy-in-main-thread.ts'
import { PostedKeys } from './posted-keys.ts'
import { slotsInMainThread } from './stream-slots.ts'
import type { ThreadData, ThreadReady } from './thread-data.ts'

/** Interval of usage reports to the main thread. */
const REPORT_INTERVAL_MS = 200

const data = workerData as ThreadData
const line = new PortLine(data.line, {}, 60_000)
// the process lives as long as its main thread; this one as long as its port
data.line.ref()
// how a thread that crashes is replaced can only be seen when one does
if (data.settings.testHooks)
  parentPort!
    .on('message', (message: unknown) => {
      if (message === 'crash') throw new Error('crashed by a test')
    })
    .unref()
await serve()

async function serve(): Promise<void> {
  const { settings, issuer, apiUrl } = data
  const log = createLogger(settings.logLevel).child({ thread: data.thread })
  const closers = new Closers(log)
  try {
    const context = createContext(settings, log, closers, true)
    context.clock.advance(data.clockOffsetMs)
    for (const [part, fault] of data.conditions) context.conditions.set(part, fault)
    const server = await prepareListener(context, { ...settings.gateway, port: data.port, sharePort: true })
    const plane = await startDataPlane({
      context,
      server,
      gatewayUrl: settings.gateway.url ?? localUrl(settings.gateway, server.port),
      apiUrl,
      issuer,
      quota: await joinQuota(context),
      meter: openMeter(context),
      sessions: await joinSessions(context),
      places: slotsInMainThread(line),
      recordAction: action => line.ask('audit', action),
      thread: data.thread,
      heldBytes: data.heldBytes,
      siblings: {
        every: (name, ...args) => line.ask('signals.every', name, args),
        catalog: () => line.ask('catalog'),
      },
      ...(data.policyEpoch === undefined ? {} : { policyOwner: policyInMainThread(line, data.policyEpoch) }),
    })
    respond(context, plane)
    line.notify('ready', { port: server.port, httpServer: server.listener.kind } satisfies ThreadReady)
  } catch (error) {
    await closers.close()
    line.notify('failed', (error as Error).message)
    line.close()
  }
}

async function joinQuota({ clock, log, closers }: AppContext): Promise<Quota> {
  const { thread, quota: at } = data
  const onFault = (error: Error): void =>
    log.error(
      { err: error },
      'quota counters cannot be saved; calls with a daily or monthly limit are refused until the counters can be saved again. Check the disk and free space of DATA_DIR',
    )
  let quota: Quota
  if (at.kind === 'journal') {
    const { dir, share, assumption } = at
    quota = joinJournalQuota({ dir, share, thread, onFault, unixMs: clock.now, assumption })
  } else {
    const { joinRedisQuota } = await import('../../../data-plane/quota/redis/joined-quota.ts')
    quota = joinRedisQuota({ share: at.share, thread, port: at.port })
  }
  closers.add('quota', () => quota.close())
  return quota
}

/** With Redis every thread connects as a separate instance; without, the main thread keeps the sessions. */
async function joinSessions(context: AppContext): Promise<OpenedSessions> {
  const { settings, log, clock } = context
  if (settings.redis !== undefined)
    return openSessions({
      dataDir: settings.dataDir,
      redis: settings.redis,
      ...settings.sessions,
      log,
      onDamage: context.reportDamage,
      now: clock.now,
    })
  const keys = new PostedKeys(data.sessionKeys)
  line.serve({ keys: (next: readonly RingKey[]) => keys.replace(next) })
  const servers = fileServerSessions({
    dataDir: settings.dataDir,
    ttlMs: settings.sessions.ttlMs,
    now: clock.now,
  })
  return { keys, servers, sessions: new JoinedSessionStore(line) }
}

function respond(context: AppContext, plane: DataPlane): void {
  const { closers, metrics, clock, conditions } = context
  const report = (): void => line.notify('usage', plane.takeUsage(), plane.status())
  const timer = setInterval(report, REPORT_INTERVAL_MS)
  closers.add('usage report', () => {
    clearInterval(timer)
    report()
  })
  // a copy of the configuration in the main thread, which posts changes, because the whole can be large
  let content: SnapshotContent = EMPTY_CONTENT
  /** For the change that comes next. */
  let posted: Tool[] = []
  line.serve({
    tools(some: readonly Tool[], first: boolean) {
      if (first) posted = []
      posted.push(...some)
    },
    /** @param count of the tools that were posted before; undefined: the change is not about tools */
    async apply(rest: SnapshotChange, count: number | undefined) {
      const tools = posted
      posted = []
      if (count !== undefined && tools.length !== count)
        return `the worker thread received ${tools.length} of ${count} tools`
      const change = count === undefined ? rest : { ...rest, tools }
      const next = applyChange(content, change)
      const fault = await plane.apply(Object.freeze({ ...next, version: change.version }), change)
      if (fault === undefined) content = next
      return fault
    },
    metrics: () => metrics.json(),
    signals: (name: keyof ThreadSignals, args: never[]) => respondTo(plane.signals!, name, args as never),
    condition: (part: string, fault: string | undefined) => conditions.set(part, fault),
    advance: (ms: number) => clock.advance(ms),
    waiting: () => plane.waitingFor(),
    listen: () => plane.listen(),
    announce: () => plane.announceDrain(),
    async end(untilMs: number) {
      await plane.drain(untilMs)
      await closers.close()
      // after the response has been sent
      setImmediate(() => process.exit(0))
    },
  })
}
