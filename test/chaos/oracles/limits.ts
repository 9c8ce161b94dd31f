/** Whether the backend saw more calls of a consumer than its plan allows, by the times of backend and caller alone. It reports only what no delay can explain. */
import type { BackendCall } from '../backend.ts'
import type { CallRecord } from '../record.ts'

const MINUTE_MS = 60_000

export interface LimitFound {
  readonly findings: readonly string[]
  /** The most that was seen in any minute, or at once, per consumer. */
  readonly highest: Readonly<Record<string, number>>
}

interface Span {
  readonly from: number
  readonly until: number
}

/**
 * A call was admitted between its start at the caller and its arrival at the backend. More calls than the limit whose spans lie within one
 * minute are a violation; calls that may have been admitted outside of it are not counted.
 */
export function checkMinutes(
  seen: readonly BackendCall[],
  calls: readonly CallRecord[],
  consumers: readonly string[],
  limit: number,
): LimitFound {
  const startOf = new Map(calls.map(call => [call.id, call.startedAt]))
  const findings: string[] = []
  const highest: Record<string, number> = {}
  for (const consumer of consumers) {
    const spans: Span[] = []
    for (const { requestId, beganAt } of callsOf(seen, consumer)) {
      const from = startOf.get(requestId)
      if (from !== undefined) spans.push({ from, until: beganAt })
    }
    spans.sort((a, b) => a.from - b.from)
    let most: Span = { from: 0, until: 0 }
    for (const [at, { from }] of spans.entries()) {
      let count = 0
      for (let next = at; next < spans.length && spans[next]!.from < from + MINUTE_MS; next++)
        if (spans[next]!.until < from + MINUTE_MS) count++
      if (count > most.until) most = { from, until: count }
    }
    highest[consumer] = most.until
    if (most.until > limit)
      findings.push(
        `${consumer}: ${most.until} calls at the backend in the minute from ${new Date(most.from).toISOString()}, limit ${limit}.`,
      )
  }
  return { findings, highest }
}

/** Calls at the backend at once; those whose caller disconnected are left out, because their slot may be free before the backend notices. */
export function checkBurst(
  seen: readonly BackendCall[],
  consumers: readonly string[],
  limit: number,
): LimitFound {
  const findings: string[] = []
  const highest: Record<string, number> = {}
  for (const consumer of consumers) {
    const steps: { at: number; by: 1 | -1 }[] = []
    for (const { beganAt, endedAt } of callsOf(seen, consumer))
      if (endedAt !== undefined) steps.push({ at: beganAt, by: 1 }, { at: endedAt, by: -1 })
    steps.sort((a, b) => a.at - b.at || a.by - b.by)
    let open = 0
    let most = { count: 0, at: 0 }
    let times = 0
    for (const { at, by } of steps) {
      open += by
      if (by === 1 && open > limit) times++
      if (open > most.count) most = { count: open, at }
    }
    highest[consumer] = most.count
    if (most.count > limit)
      findings.push(
        `${consumer}: ${most.count} calls at the backend at once at ${new Date(most.at).toISOString()}, limit ${limit}; ${times} calls began above it.`,
      )
  }
  return { findings, highest }
}

/** The first arrival of each call: a gateway may repeat a request of which nothing was sent. */
function callsOf(seen: readonly BackendCall[], consumer: string): BackendCall[] {
  const first = new Map<string, BackendCall>()
  for (const call of seen)
    if (call.requestId.startsWith(`${consumer}.`) && !first.has(call.requestId))
      first.set(call.requestId, call)
  return [...first.values()]
}
