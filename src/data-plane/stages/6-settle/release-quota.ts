/** Releases the concurrency slot that the quota grant of an exchange holds. */
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
