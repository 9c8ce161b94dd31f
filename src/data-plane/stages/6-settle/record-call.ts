/** Passes ended exchanges to a recorder, except successful ones of the admin API and of sessions. */
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { outcomeOf, statusOf } from './record-metrics.ts'

export interface CallRecorder {
  record(exchange: Exchange, outcome: string, status: number): void
}

export function recordCall(recorder: CallRecorder): Stage {
  return {
    id: 'record-call',
    phase: 'settle',
    run(exchange) {
      const { action } = exchange.operation
      const outcome = outcomeOf(exchange)
      // consoles poll, and streams are kept open: they would displace the calls they show
      if (outcome === 'success' && (action === 'admin' || action === 'session')) return undefined
      recorder.record(exchange, outcome, statusOf(exchange))
      return undefined
    },
  }
}
