/** Releases the concurrency slot of a call on every exit. It returns no quota. */
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
