/** Where bundles come from: the interface of a source, and asking it again and again. It knows no policy. */

export interface BundleSource {
  /** For logs: a path or an address without what could be secret. */
  readonly name: string
  /**
   * @returns undefined when nothing has changed since the last time.
   * @throws Error that says why nothing could be read.
   */
  read(): Promise<Uint8Array | undefined>
}

export interface Watching {
  /** Ends it, and waits for what is under way. */
  stop(): Promise<void>
}

/** Asks the source every so often; one question at a time. Waits longer, up to a minute, while it fails. */
export function watchSource(
  source: BundleSource,
  pollMs: number,
  onBundle: (bundle: Uint8Array) => Promise<void>,
  onFault: (reason: string) => void,
): Watching {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let failures = 0
  let asking: Promise<void> = Promise.resolve()

  async function ask(): Promise<void> {
    try {
      const bundle = await source.read()
      failures = 0
      if (bundle !== undefined && !stopped) await onBundle(bundle)
    } catch (error) {
      failures++
      onFault((error as Error).message)
    }
    next()
  }
  function next(): void {
    if (stopped) return
    const waitMs = Math.min(pollMs * 2 ** Math.min(failures, 10), Math.max(pollMs, 60_000))
    timer = setTimeout(() => {
      asking = ask()
    }, waitMs)
    timer.unref()
  }
  next()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await asking
    },
  }
}
