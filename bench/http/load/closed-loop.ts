/**
 * Closed loop, for capacity: as many requests as so many connections carry, one in flight on each, every response checked. wrk where it is
 * installed (Debian: `apt-get install wrk`), since it costs so little that a bare server is busy all the time; else connections of this
 * process.
 */
import type { LoopOptions, LoopResult } from './loop-result.ts'
import { type Prepared, prepareAll, Wire } from './wire.ts'
import { hasWrk, runWrk } from './wrk.ts'

const WRK = hasWrk()
export const CLOSED_LOOP_TOOL = WRK ? 'wrk' : 'its own connections'

/** @throws Error when a response was wrong: a fast wrong response is not a figure */
export async function runClosedLoop(options: LoopOptions): Promise<LoopResult> {
  if (WRK) return runWrk(options)
  const { latenciesMs, tookMs } = await saturate({
    ...options,
    next: inTurns(prepareAll(options.url, options.request)),
  })
  return {
    perSecond: latenciesMs.length / (tookMs / 1000),
    requests: latenciesMs.length,
    ...tails(latenciesMs),
  }
}

function inTurns(requests: readonly Prepared[]): () => Prepared {
  let at = 0
  return () => requests[at++ % requests.length]!
}

/** As many as the connections of this process carry, each request of the caller's choice. */
export async function saturate(options: {
  readonly url: string
  readonly connections: number
  /** Without it, until there is no next one. */
  readonly seconds?: number
  readonly next: () => Prepared | undefined
  readonly seen?: (status: number) => void
}): Promise<{ readonly latenciesMs: Float64Array; readonly tookMs: number }> {
  const latencies: number[] = []
  const startedAt = performance.now()
  const until = startedAt + (options.seconds ?? Number.POSITIVE_INFINITY) * 1000
  await new Promise<void>((resolve, reject) => {
    const wires: Wire[] = []
    let busy = 0
    const end = (): void => {
      for (const wire of wires) wire.close()
    }
    const fail = (fault: Error): void => {
      end()
      reject(fault)
    }
    const go = (wire: Wire): void => {
      const sentAt = performance.now()
      const request = sentAt < until ? options.next() : undefined
      if (request === undefined) {
        busy--
        if (busy > 0) return
        end()
        return resolve()
      }
      wire.send(request, status => {
        options.seen?.(status)
        latencies.push(performance.now() - sentAt)
        go(wire)
      })
    }
    void Promise.all(Array.from({ length: options.connections }, () => Wire.open(options.url, fail))).then(
      opened => {
        wires.push(...opened)
        busy = opened.length
        for (const wire of opened) go(wire)
      },
      reject,
    )
  })
  return { latenciesMs: Float64Array.from(latencies), tookMs: performance.now() - startedAt }
}

/** @param latenciesMs is sorted by this */
export function tails(latenciesMs: Float64Array): Pick<LoopResult, 'p50Ms' | 'p99Ms' | 'p999Ms'> {
  latenciesMs.sort()
  return {
    p50Ms: percentile(latenciesMs, 50),
    p99Ms: percentile(latenciesMs, 99),
    p999Ms: percentile(latenciesMs, 99.9),
  }
}

/** The smallest value that so many percent do not exceed (nearest rank). */
export function percentile(sorted: Float64Array, percent: number): number {
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN
}
