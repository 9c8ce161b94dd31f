/** Calls back when a directory may have changed: on file notifications where the system has them, and by polling. */
import { type FSWatcher, watch } from 'node:fs'
import type { Log } from '../../telemetry/log.ts'

/** One call for several changes: when no other change follows within this time, */
const QUIET_MS = 150
/** but no later than this after the first. */
const MAX_WAIT_MS = 2_000

export interface DirectoryWatchOptions {
  readonly onChange: () => void
  readonly pollIntervalMs: number
  readonly log: Log
}

/** Returns a function that stops it. */
export function watchDirectory(
  directory: string,
  { onChange, pollIntervalMs, log }: DirectoryWatchOptions,
): () => void {
  let quiet: NodeJS.Timeout | undefined
  let firstAt = 0
  const notify = (): void => {
    quiet = undefined
    onChange()
  }
  const handleChange = (): void => {
    const now = performance.now()
    if (quiet === undefined) firstAt = now
    clearTimeout(quiet)
    quiet = setTimeout(notify, Math.max(0, Math.min(QUIET_MS, firstAt + MAX_WAIT_MS - now)))
  }
  const watcher = tryWatch(directory, handleChange, log)
  const poll = setInterval(onChange, pollIntervalMs)
  poll.unref()
  return () => {
    watcher?.close()
    clearInterval(poll)
    clearTimeout(quiet)
  }
}

function tryWatch(directory: string, changed: () => void, log: Log): FSWatcher | undefined {
  const without = (error: unknown): void => {
    log.warn(
      { directory, err: error },
      'the gateway cannot watch the ToolSet directory; it detects changes only by polling',
    )
  }
  try {
    const watcher = watch(directory, { recursive: true, persistent: false }, changed)
    watcher.on('error', without)
    return watcher
  } catch (error) {
    without(error)
    return undefined
  }
}
