/** A hook that loads a value, again when its keys change, at an interval, and on request. */
import { type Signal, useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'

/** After this time the interval gives a load up: the server does, a little sooner (src/console/forward.ts). */
const MAX_LOAD_MS = 70_000

export interface Resource<T> {
  readonly value: Signal<T | undefined>
  readonly error: Signal<Error | undefined>
  /** Resolves when the load has ended. */
  reload(): Promise<void>
}

/** @param keys texts and numbers on which the value depends. @param everyMs reloads while the page is visible and no load runs, so that one that takes longer is shown */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly (string | number | undefined)[],
  everyMs?: number,
): Resource<T> {
  const value = useSignal<T | undefined>(undefined)
  const error = useSignal<Error | undefined>(undefined)
  const running = useRef<AbortController | undefined>(undefined)
  /** For the load that runs. */
  const startedAtMs = useRef<number | undefined>(undefined)
  const latest = useRef(load)
  latest.current = load

  const reload = useCallback(async () => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    startedAtMs.current = performance.now()
    try {
      const next = await latest.current(controller.signal)
      if (controller.signal.aborted) return
      value.value = next
      error.value = undefined
    } catch (failure) {
      if (!controller.signal.aborted) error.value = failure as Error
    } finally {
      if (running.current === controller) startedAtMs.current = undefined
    }
  }, [])

  useEffect(() => {
    value.value = undefined
    error.value = undefined
    void reload()
    const timer =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            const isLoading = performance.now() - (startedAtMs.current ?? -Infinity) < MAX_LOAD_MS
            if (!document.hidden && !isLoading) void reload()
          }, everyMs)
    return () => {
      clearInterval(timer)
      running.current?.abort()
    }
  }, keys)

  return { value, error, reload }
}
