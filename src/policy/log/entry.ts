/** Makes an entry of the decision log from an input and a decision, with arguments kept, masked or left out. */
import type { DenialReason } from '../../model/refusal.ts'
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
  /** True: an argument was masked or left out, or a response of the client was, so that a rule that reads it may decide otherwise in a replay. */
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
  const { arguments: given, answers } = input.context
  const { kept, isMasked } = keptArguments(given, keep, schema)
  const isWithheld = answers !== undefined && keep !== 'all'
  const masked = isMasked || isWithheld
  return {
    id,
    at,
    revision: decision.revision,
    input: kept === given && !isWithheld ? input : withArguments(input, kept, isWithheld),
    allow: decision.allow,
    reasons: decision.reasons,
    ...(decision.unavailable === true ? { unavailable: true } : undefined),
    ...(masked ? { masked: true } : undefined),
  }
}

type Arguments = PolicyInput['context']['arguments']

function withArguments(input: PolicyInput, kept: Arguments, isWithheld: boolean): PolicyInput {
  const { arguments: _given, answers, ...context } = input.context
  return {
    ...input,
    context: {
      ...context,
      ...(kept === undefined ? undefined : { arguments: kept }),
      ...(answers === undefined || isWithheld ? undefined : { answers }),
    },
  }
}

/** What is kept of the arguments of a call, and whether any of them was masked or left out. */
export function keptArguments(
  given: Arguments,
  keep: KeepArguments,
  schema: object | undefined,
): { readonly kept: Arguments; readonly isMasked: boolean } {
  if (given === undefined || keep === 'all') return { kept: given, isMasked: false }
  if (keep === 'none') return { kept: undefined, isMasked: true }
  const allowed = typeof keep === 'object' ? keep : undefined
  const { value, masked } = maskArguments(given, { allowed, sensitive: sensitiveNames(schema) })
  return { kept: value as Arguments, isMasked: masked }
}
