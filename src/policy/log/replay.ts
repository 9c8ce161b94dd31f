/** Evaluates the entries of a decision log with a policy, and counts the decisions that change. */
import type { Decision, PreparedPolicy } from '../engine.ts'
import { subjectKeyOf } from '../subject-key.ts'
import type { DecisionEntry } from './entry.ts'
import { countFlip, type Flip, type FlipKinds, sortedFlips } from './flips.ts'

export interface DecisionReplay {
  readonly total: number
  readonly flipped: number
  /** Most frequent first. */
  readonly flips: readonly Flip[]
  /** Entries that had to be left out: made when no policy could decide. */
  readonly skipped: number
  /** Entries with masked arguments: a rule that reads these may decide otherwise here than it did. */
  readonly masked: number
}

/** Kinds of flips that are counted separately; all further ones count as one kind for each direction. */
const MAX_KINDS = 10_000

/**
 * @param before what to compare with: the decisions in the log, or what another policy decides now.
 * @throws Error when a policy cannot decide: nothing may be promoted on such a replay.
 */
export async function replay(
  entries: AsyncIterable<DecisionEntry>,
  after: PreparedPolicy,
  before?: PreparedPolicy,
): Promise<DecisionReplay> {
  const kinds: FlipKinds = new Map()
  let [total, flipped, skipped, masked] = [0, 0, 0, 0]
  for await (const entry of entries) {
    if (entry.unavailable === true) {
      skipped++
      continue
    }
    total++
    if (entry.masked === true) masked++
    const old = before === undefined ? entry : await decide(before, entry)
    const now = await decide(after, entry)
    if (old.allow === now.allow) continue
    flipped++
    countFlip(kinds, MAX_KINDS, entry, old, now)
  }
  return { total, flipped, flips: sortedFlips(kinds), skipped, masked }
}

async function decide(policy: PreparedPolicy, entry: DecisionEntry): Promise<Decision> {
  const decision = await policy.decide(entry.input, subjectKeyOf(entry.input), numberOf(entry))
  if (decision.unavailable === true) {
    throw new Error(
      `policy revision ${policy.revision} could not evaluate the entry ${entry.id} in the decision log`,
    )
  }
  return decision
}

/** A cache key; the facts themselves are compared, so a collision costs little. */
function numberOf({ input }: DecisionEntry): number {
  let hash = 0
  const text = `${input.action.name}\n${input.resource.id}`
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) & 0xffff
  return hash
}
