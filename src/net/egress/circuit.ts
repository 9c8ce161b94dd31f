/** Says which failures count for the circuit of an upstream, and makes the result of a call that is not sent. */
import type { EgressFailure } from './egress.ts'

/** The upstream is not tried: it has failed several times in a row, or none of its addresses passes the health check. */
export interface CircuitOpen {
  readonly kind: 'circuit_open'
  readonly retryAfterSecs: number
}

const DOWN: ReadonlySet<EgressFailure['reason']> = new Set(['timeout', 'unreachable', 'reset'])

/** True for a failure that says that the upstream is unavailable. */
export function failsCircuit({ reason, saturated }: EgressFailure): boolean {
  return DOWN.has(reason) && saturated !== true
}

export function circuitOpen(retryAfterMs: number): CircuitOpen {
  return { kind: 'circuit_open', retryAfterSecs: Math.max(1, Math.ceil(retryAfterMs / 1000)) }
}
