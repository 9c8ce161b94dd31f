/** One line of the decision log: what was asked, what was decided. It says what is masked, and writes no file. */
import type { DenialReason } from '../../call/refusal.ts'
import type { Decision, PolicyInput } from '../engine.ts'
import { maskArguments, sensitiveNames } from './mask.ts'

export interface DecisionEntry {
  /** `decision_id` of the refusal, or of the call. */
  readonly id: string
  /** Unix ms. */
  readonly at: number
  readonly revision: string
  readonly input: PolicyInput
  readonly allow: boolean
  readonly reasons: readonly DenialReason[]
  readonly unavailable?: boolean
  /** True: an argument was masked, so that a rule that reads it may decide otherwise when it is replayed. */
  readonly masked?: boolean
}

/** What becomes of arguments: left out, kept with what looks sensitive masked, only those with these names kept, or kept as they are. */
export type KeepArguments = 'none' | 'masked' | 'all' | ReadonlySet<string>

export function entryOf(
  id: string,
  at: number,
  input: PolicyInput,
  decision: Decision,
  keep: KeepArguments,
  schema?: object,
): DecisionEntry {
  // answers are what a person typed: they are kept only where everything is
  const { arguments: given, answers, ...context } = input.context
  let masked = answers !== undefined && keep !== 'all'
  let kept = given
  if (given !== undefined && keep === 'none') {
    kept = undefined
    masked = true
  } else if (given !== undefined && keep !== 'all') {
    const allowed = typeof keep === 'object' ? keep : undefined
    const outcome = maskArguments(given, { allowed, sensitive: sensitiveNames(schema) })
    kept = outcome.value as typeof given
    masked ||= outcome.masked
  }
  return {
    id,
    at,
    revision: decision.revision,
    input: {
      ...input,
      context: {
        ...context,
        ...(kept === undefined ? undefined : { arguments: kept }),
        ...(answers === undefined || keep !== 'all' ? undefined : { answers }),
      },
    },
    allow: decision.allow,
    reasons: decision.reasons,
    ...(decision.unavailable === true ? { unavailable: true } : undefined),
    ...(masked ? { masked: true } : undefined),
  }
}
