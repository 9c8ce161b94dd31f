/** The reports of a data plane on its calls, tools, state and process, and the types and functions by which threads exchange them. */

import { VERSION } from '../../../base/version.ts'
import { lintTool } from '../../../catalog/inspect/lint.ts'
import { viewNotes } from '../../../catalog/views/view-status.ts'
import { CallDetails } from '../../../data-plane/calls/call-details.ts'
import { CallRing } from '../../../data-plane/calls/call-ring.ts'
import type { EveryThread, ThreadSignals, WorkerState } from '../../../data-plane/calls/process-calls.ts'
import { RecordedCalls } from '../../../data-plane/calls/recorded-calls.ts'
import type { ReportedCatalog } from '../../../data-plane/http/admin/admin-overview.ts'
import type { ToolReview } from '../../../data-plane/http/tool-report.ts'
import { clientAddresses } from '../../../net/server/client-address.ts'
import { listenerSupport } from '../../../net/server/create.ts'
import { maskText } from '../../../policy/log/mask.ts'
import { CLIENTS } from '../../cli/doctor/clients.ts'
import type { AppContext, OpenListener } from '../app-context.ts'
import { keptArgumentsOf } from '../policy.ts'

/** The other threads of the process, through the one that started them. */
export interface Siblings {
  readonly every: EveryThread
  catalog(): Promise<ReportedCatalog>
}

/** Name that most users give the server in their client. */
const SERVER_NAME = 'toolgate'
const MIB = 1024 * 1024

export function openRecordedCalls({ settings }: AppContext, thread: number): RecordedCalls {
  const clientAddress = clientAddresses(settings.sse.trustedProxies)
  const details = new CallDetails(keptArgumentsOf(settings), clientAddress)
  return new RecordedCalls(new CallRing(thread, maskText), details)
}

/** @param state of this thread */
export function threadSignals(
  calls: RecordedCalls,
  nowMs: () => number,
  state: () => Omit<WorkerState, 'worker' | 'calls'>,
): ThreadSignals {
  return {
    before: (query, positions, limit) => calls.before(query, positions, limit, nowMs()),
    after: (query, positions, limit) => calls.after(query, positions, limit, nowMs()),
    find: (ring, number) => calls.find(ring, number),
    summary: query => calls.summary(query, nowMs()),
    callerOf: query => calls.callerOf(query),
    state: () => ({ worker: calls.ring.worker, calls: calls.ring.recorded, ...state() }),
  }
}

/** For a process whose only thread this is. */
export function onlyThread(signals: ThreadSignals): EveryThread {
  return async (name, ...args) => [respond(signals, name, args)]
}

export function respond<Name extends keyof ThreadSignals>(
  signals: ThreadSignals,
  name: Name,
  args: Parameters<ThreadSignals[Name]>,
): ReturnType<ThreadSignals[Name]> {
  const subject = signals[name] as (...args: unknown[]) => ReturnType<ThreadSignals[Name]>
  return subject(...args)
}

export const TOOL_REVIEW: ToolReview = {
  viewNotes,
  lint: tool => [...lintTool(tool)].map(({ rule, message, fix }) => ({ rule, message, fix })),
  nameLimits: name =>
    Object.values(CLIENTS).flatMap(({ title, maxNameLength, nameAsCounted }) => {
      const { length } = nameAsCounted(SERVER_NAME, name)
      return length > maxNameLength ? [{ client: title, length, limit: maxNameLength }] : []
    }),
}

export function processState({ settings }: AppContext, { listener }: OpenListener): object {
  const uptimeS = Math.round(process.uptime())
  const { uwsBuild } = listenerSupport()
  return {
    name: settings.gatewayName,
    version: VERSION,
    node: process.versions.node,
    http_server: listener.kind,
    build: listener.kind === 'uws' ? (uwsBuild ?? null) : null,
    started_at: new Date(Date.now() - uptimeS * 1000).toISOString(),
    uptime_s: uptimeS,
    memory_mib: Math.round(process.memoryUsage.rss() / MIB),
  }
}
