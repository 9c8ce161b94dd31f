/**
 * Open loop, for latency: requests become due at a rate that does not depend on their responses, and a latency counts from the moment a request was
 * DUE, so that what waited behind a slow response is counted too (the correction for coordinated omission, as in wrk2). Own code, because:
 * wrk2 is in no package, and like autocannon it sleeps between requests on a timer of a millisecond, ten times what is measured here.
 * This one never sleeps: it turns with the event loop it shares with the backend, so neither waits for the other to be scheduled.
 */
import { percentile } from './closed-loop.ts'
import { type Prepared, Wire } from './wire.ts'

export interface OpenLoopOptions {
  readonly url: string
  readonly connections: number
  /** A function is called for each request. */
  readonly perSecond: number | (() => number)
  readonly seconds: number
  readonly next: () => Prepared
  /** @param dueMs as `performance.now()` */
  readonly record: (request: Prepared, dueMs: number, latencyMs: number) => void
  /** Ends early when aborted. */
  readonly signal?: AbortSignal
}

/** How long a turn lasts at least: each leaves garbage, and a collection of the load would be counted as a latency. */
const TURN_MS = 0.005
/** Responses that are still out when time is up are waited for this long. */
const LAST_RESPONSES_MS = 10_000

/** Resolves when the last response has come. @throws Error when one was wrong or did not come */
export async function openLoop(options: OpenLoopOptions): Promise<void> {
  let failed: Error | undefined
  const fail = (fault: Error): void => {
    failed ??= fault
  }
  const all = await Promise.all(
    Array.from({ length: options.connections }, () => Wire.open(options.url, fail)),
  )
  // first in, first out: all connections take their turns
  const idle = [...all]
  const { perSecond } = options
  const rate = typeof perSecond === 'number' ? () => perSecond : perSecond
  const startMs = performance.now()
  const untilMs = startMs + options.seconds * 1000
  let dueMs = startMs
  const sendDue = (nowMs: number): void => {
    while (dueMs <= nowMs && dueMs < untilMs && idle.length > 0) {
      const wire = idle.shift()!
      const request = options.next()
      const wasDueMs = dueMs
      wire.send(request, () => {
        options.record(request, wasDueMs, performance.now() - wasDueMs)
        idle.push(wire)
      })
      dueMs += 1000 / rate()
    }
  }
  await new Promise<void>((resolve, reject) => {
    const turn = (): void => {
      const nowMs = performance.now()
      sendDue(nowMs)
      if (failed !== undefined) return reject(failed)
      const stopped = options.signal?.aborted === true || dueMs >= untilMs
      if (stopped && idle.length === all.length) return resolve()
      if (nowMs > untilMs + LAST_RESPONSES_MS)
        return reject(
          new Error(
            dueMs < untilMs
              ? `${Math.round(rate())} requests a second could not be held: the load was ${Math.round(nowMs - dueMs)} ms late at the end`
              : `${all.length - idle.length} requests without a response ${LAST_RESPONSES_MS} ms after the last was sent`,
          ),
        )
      const restsUntilMs = Math.min(nowMs + TURN_MS, dueMs)
      while (performance.now() < restsUntilMs);
      setImmediate(turn)
    }
    turn()
  }).finally(() => {
    for (const wire of all) wire.close()
  })
}

/** For a latency curve. */
export const PERCENTILES = [50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100] as const

/** One kind of request at one rate. @returns percentile → ms */
export async function latencyAt(
  options: Omit<OpenLoopOptions, 'record' | 'next'> & { readonly request: Prepared },
): Promise<Readonly<Record<string, number>>> {
  const latencies: number[] = []
  await openLoop({
    ...options,
    next: () => options.request,
    record: (_request, _dueMs, latencyMs) => void latencies.push(latencyMs),
  })
  const sorted = Float64Array.from(latencies).sort()
  return Object.fromEntries(PERCENTILES.map(percent => [String(percent), percentile(sorted, percent)]))
}
