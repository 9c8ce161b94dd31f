/** Binds the session of a request to its principal, and refuses a session that belongs to another. It neither creates nor ends sessions. */
import { andThen, type MaybePromise } from '../../../shared/call/and-then.ts'
import { refuse } from '../../../shared/call/refusal.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'

/** The caller must not learn that the session exists. */
const NOT_FOUND = refuse('session_not_found')

export function bindSession(): Stage {
  return {
    id: 'bind-session',
    phase: 'identify',
    run(exchange): MaybePromise<Outcome> {
      const { claimSession } = exchange.transport
      if (claimSession === undefined) return undefined
      return andThen(claimSession(exchange.principal!), owned => (owned ? undefined : NOT_FOUND))
    },
  }
}
