/** A wait that ends early when the call is cancelled. */
import type { Cancellation } from '../../../base/cancellation.ts'

export function pause(ms: number, cancellation: Cancellation): Promise<void> {
  return new Promise(resolve => {
    let stop: (() => void) | undefined
    const finish = (): void => {
      clearTimeout(timer)
      stop?.()
      resolve()
    }
    const timer = setTimeout(finish, ms)
    stop = cancellation.onCancel(finish)
  })
}
