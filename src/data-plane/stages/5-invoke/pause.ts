/** A wait that ends early when the call is cancelled. */
import type { Cancellation } from '../../../base/cancellation.ts'

export function pause(ms: number, cancellation: Cancellation): Promise<void> {
  return new Promise(resolve => {
    let stop: (() => void) | undefined
    const done = (): void => {
      clearTimeout(timer)
      stop?.()
      resolve()
    }
    const timer = setTimeout(done, ms)
    stop = cancellation.onCancel(done)
  })
}
