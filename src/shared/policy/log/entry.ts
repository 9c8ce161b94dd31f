/** One line of the decision log: what was asked, what was decided. It says what is masked, and writes no file. */
import type { DenialReason } from '../../call/refusal.ts'
import type { Decision, PolicyInput } from '../engine.ts'

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

/** What becomes of arguments: left out, kept with sensitive names and long texts masked, or kept as they are. */
export type KeepArguments = 'none' | 'masked' | 'all'

const SENSITIVE =
  /pass(word|phrase|wd)?$|secret|token|api_?key|authori[sz]ation|credential|cookie|session|card|cvv|cvc|iban|ssn|pin$/i
const MAX_TEXT = 256
const MAX_DEPTH = 8
const MAX_FIELDS = 200
const MASK = '[masked]'

export function entryOf(
  id: string,
  at: number,
  input: PolicyInput,
  decision: Decision,
  keep: KeepArguments,
): DecisionEntry {
  // answers are what a person typed: they are kept only where everything is
  const { arguments: given, answers, ...context } = input.context
  const masking = { masked: false, fields: 0 }
  let kept: PolicyInput['context']['arguments']
  if (given !== undefined && keep !== 'all') {
    kept = keep === 'masked' ? (mask(given, masking, 0) as PolicyInput['context']['arguments']) : undefined
    if (keep === 'none') masking.masked = true
  } else kept = given
  if (answers !== undefined && keep !== 'all') masking.masked = true
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
    ...(masking.masked ? { masked: true } : undefined),
  }
}

/** Bounded in depth and number, because arguments are the caller's. */
function mask(value: unknown, state: { masked: boolean; fields: number }, depth: number): unknown {
  if (typeof value === 'string' && value.length > MAX_TEXT) return hide(state)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return hide(state)
  if (Array.isArray(value)) {
    if (state.fields + value.length > MAX_FIELDS) return hide(state)
    state.fields += value.length
    return value.map(item => mask(item, state, depth + 1))
  }
  const entries = Object.entries(value)
  if (state.fields + entries.length > MAX_FIELDS) return hide(state)
  state.fields += entries.length
  return Object.fromEntries(
    entries.map(([name, item]) => [name, SENSITIVE.test(name) ? hide(state) : mask(item, state, depth + 1)]),
  )
}

function hide(state: { masked: boolean }): string {
  state.masked = true
  return MASK
}
