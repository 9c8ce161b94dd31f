/** Counts changed decisions by kind, with a bound on the kinds, and sorts the counts. */
import type { Decision, PolicyInput } from '../engine.ts'

export type FlipDirection = 'allow→deny' | 'deny→allow'

/** Decisions that turned alike. */
export interface Flip {
  readonly direction: FlipDirection
  /** Reason codes of the denial, before or after, joined with `+`. */
  readonly rule: string
  readonly action: string
  readonly resource: string
  readonly consumer: string
  readonly count: number
  /** Ids of some of them, for `explain`. */
  readonly examples: readonly string[]
}

export type FlipKinds = Map<string, Flip & { count: number; examples: string[] }>

type Verdict = Pick<Decision, 'allow' | 'reasons'>

const EXAMPLES = 3

/** @param maxKinds kinds that are counted separately. */
export function countFlip(
  kinds: FlipKinds,
  maxKinds: number,
  { id, input }: { readonly id: string; readonly input: PolicyInput },
  old: Verdict,
  now: Verdict,
): void {
  const denial = now.allow ? old : now
  const rule = [...new Set(denial.reasons.map(reason => reason.code))].sort().join('+')
  const kind = {
    direction: (now.allow ? 'deny→allow' : 'allow→deny') as FlipDirection,
    rule,
    action: input.action.name,
    resource: input.resource.id,
    consumer: input.subject.properties.consumer,
  }
  const examples = id === '' ? [] : [id]
  const known = kinds.get(JSON.stringify(kind))
  if (known !== undefined) {
    known.count++
    if (known.examples.length < EXAMPLES) known.examples.push(...examples)
  } else if (kinds.size < maxKinds) kinds.set(JSON.stringify(kind), { ...kind, count: 1, examples })
  else {
    const rest = { ...kind, rule: '…', action: '…', resource: '…', consumer: '…' }
    const key = JSON.stringify(rest)
    const others = kinds.get(key)
    if (others === undefined) kinds.set(key, { ...rest, count: 1, examples })
    else others.count++
  }
}

/** Most frequent first. */
export function sortedFlips(kinds: FlipKinds): Flip[] {
  return [...kinds.values()].sort((a, b) => b.count - a.count)
}
