/** The capabilities of a session as one number for Redis, and its settled facts from the stored values. */
import type { SettledFacts } from '../session-store.ts'

/** The field is named after the first of them. */
export function capabilityBits({ elicitation, sampling, roots }: SettledFacts): number {
  return (elicitation ? 1 : 0) | (sampling === true ? 2 : 0) | (roots === true ? 4 : 0)
}

export function settledFacts(protocolVersion: string, bits: number, logLevel: string): SettledFacts {
  return {
    protocolVersion,
    elicitation: (bits & 1) !== 0,
    ...((bits & 2) === 0 ? undefined : { sampling: true }),
    ...((bits & 4) === 0 ? undefined : { roots: true }),
    ...(logLevel === '' ? undefined : { logLevel }),
  }
}
