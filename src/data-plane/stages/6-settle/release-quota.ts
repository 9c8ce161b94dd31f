/** Gives the concurrency slot back when a call has ended, however it ended. */
import type { Stage } from '../../pipeline/stage.ts'

export function releaseQuota(): Stage {
  return {
    id: 'release-quota',
    phase: 'settle',
    run(exchange) {
      exchange.quota?.release()
      return undefined
    },
  }
}
