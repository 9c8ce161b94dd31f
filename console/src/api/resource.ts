/** A hook that loads a value, again when its keys change, and on request. It caches nothing. */
import { type Signal, useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'

export interface Resource<T> {
  readonly value: Signal<T | undefined>
  readonly error: Signal<Error | undefined>
  /** Resolves when the new value is shown. */
  reload(): Promise<void>
}

/** @param keys texts and numbers on which the value depends. @param everyMs reloads while the page is visible */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly (string | number | undefined)[],
  everyMs?: number,
): Resource<T> {
  const value = useSignal<T | undefined>(undefined)
  const error = useSignal<Error | undefined>(undefined)
  const running = useRef<AbortController | undefined>(undefined)
  const latest = useRef(load)
  latest.current = load

  const reload = useCallback(async () => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    try {
      const next = await latest.current(controller.signal)
      if (controller.signal.aborted) return
      value.value = next
      error.value = undefined
    } catch (failure) {
      if (!controller.signal.aborted) error.value = failure as Error
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
            if (!document.hidden) void reload()
          }, everyMs)
    return () => {
      clearInterval(timer)
      running.current?.abort()
    }
  }, keys)

  return { value, error, reload }
}
