/** Claims the session of an exchange for its principal, and refuses the exchange when the claim fails. The transport implements the claim. */
import { andThen, type MaybePromise } from '../../../base/and-then.ts'
import { refuse } from '../../../model/refusal.ts'
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
