/** The interface of a source of bundles, and a loop that reads it and offers refused bundles again. */
import { backoffMs } from '../../base/async/backoff.ts'

export interface BundleSource {
  /** For logs: a path or an address without what could be secret. */
  readonly name: string
  /**
   * @returns undefined when nothing has changed since the last time.
   * @throws Error that says why nothing could be read.
   */
  read(): Promise<Uint8Array | undefined>
}

/** A bundle that was refused and will be tried again. */
export interface PendingRetry {
  readonly attempts: number
  /** Unix ms. */
  readonly nextAttemptAt: number
}

export interface Watching {
  readonly retry: PendingRetry | undefined
  /** Ends it, and waits for the read or the offer in flight. */
  stop(): Promise<void>
}

const BACKOFF = { firstMs: 1000, maxMs: 60_000 }

/** When a refused bundle is tried again: after a second, then twice as long each time, a minute at most. */
export function retryAfter(attempts: number): PendingRetry {
  return { attempts, nextAttemptAt: Date.now() + backoffMs(BACKOFF, attempts - 1) }
}

/**
 * Asks the source every so often; one question at a time. Waits longer, up to a minute or `pollMs`, whichever is longer, while it fails. A bundle
 * that was refused is offered again though the source has not changed: what refused it (a busy machine, a thread that ended) may have passed.
 * @param onBundle whether the bundle was taken
 * @param onFault why the source cannot be read; undefined when it can be read again
 */
export function watchSource(
  source: BundleSource,
  pollMs: number,
  onBundle: (bundle: Uint8Array) => Promise<boolean>,
  onFault: (reason: string | undefined) => void,
): Watching {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let failures = 0
  let refused: Uint8Array | undefined
  let retry: PendingRetry | undefined
  let asking: Promise<void> = Promise.resolve()

  async function offer(bundle: Uint8Array): Promise<void> {
    const attempts = bundle === refused ? (retry?.attempts ?? 0) + 1 : 1
    // set before the offer, so that a report of the refusal can name the time of the next attempt
    refused = bundle
    retry = retryAfter(attempts)
    if (await onBundle(bundle)) refused = retry = undefined
    else retry = retryAfter(attempts)
  }
  async function ask(): Promise<void> {
    try {
      const bundle = await source.read()
      if (failures > 0) onFault(undefined)
      failures = 0
      const due = retry !== undefined && Date.now() >= retry.nextAttemptAt ? refused : undefined
      const next = bundle ?? due
      if (next !== undefined && !stopped) await offer(next)
    } catch (error) {
      failures++
      onFault((error as Error).message)
    }
    next()
  }
  function next(): void {
    if (stopped) return
    const pollInMs = backoffMs({ firstMs: pollMs, maxMs: Math.max(pollMs, 60_000) }, failures)
    const retryInMs = retry === undefined ? pollInMs : Math.max(0, retry.nextAttemptAt - Date.now())
    timer = setTimeout(
      () => {
        asking = ask()
      },
      failures === 0 ? Math.min(pollInMs, retryInMs) : pollInMs,
    )
    timer.unref()
  }
  next()
  return {
    get retry() {
      return retry
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await asking
    },
  }
}
