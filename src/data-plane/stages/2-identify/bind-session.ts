/** Lets a session be used by the principal that opened it, and by nobody else. It opens and ends no session. */
import { refuse } from '../../../shared/call/refusal.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'

/** A session of somebody else is answered as one that does not exist. */
const NOT_YOURS = refuse('session_not_found')

export function bindSession(): Stage {
  return {
    id: 'bind-session',
    phase: 'identify',
    run(exchange): Outcome | Promise<Outcome> {
      const { claimSession } = exchange.transport
      if (claimSession === undefined) return undefined
      const mine = claimSession(exchange.principal!)
      if (mine instanceof Promise) return mine.then(own => (own ? undefined : NOT_YOURS))
      return mine ? undefined : NOT_YOURS
    },
  }
}
