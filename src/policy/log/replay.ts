/** Asks a policy again what a log holds, and names what it decides otherwise. It reads no file. */
import type { Decision, PreparedPolicy } from '../engine.ts'
import type { DecisionEntry } from './entry.ts'

export type Direction = 'allow→deny' | 'deny→allow'

/** Decisions that turned alike. */
export interface Flip {
  readonly direction: Direction
  /** Reason codes of the denial, before or after, joined with `+`. */
  readonly rule: string
  readonly action: string
  readonly resource: string
  readonly consumer: string
  readonly count: number
  /** Ids of some of them, for `explain`. */
  readonly examples: readonly string[]
}

export interface Replay {
  readonly total: number
  readonly flipped: number
  /** Most frequent first. */
  readonly flips: readonly Flip[]
  /** Entries that had to be left out: made when no policy could decide. */
  readonly skipped: number
  /** Entries with masked arguments: a rule that reads these may decide otherwise here than it did. */
  readonly masked: number
}

const EXAMPLES = 3
/** Different kinds of flips that are told apart; what comes beyond is one kind. */
const MAX_KINDS = 10_000

/**
 * @param before what to compare with: the decisions in the log, or what another policy decides now.
 * @throws Error when a policy cannot decide: nothing may be promoted on such a replay.
 */
export async function replay(
  entries: AsyncIterable<DecisionEntry>,
  after: PreparedPolicy,
  before?: PreparedPolicy,
): Promise<Replay> {
  const kinds = new Map<string, Flip & { count: number; examples: string[] }>()
  let [total, flipped, skipped, masked] = [0, 0, 0, 0]
  for await (const entry of entries) {
    if (entry.unavailable === true) {
      skipped++
      continue
    }
    total++
    if (entry.masked === true) masked++
    const old = before === undefined ? entry : await decided(before, entry)
    const now = await decided(after, entry)
    if (old.allow === now.allow) continue
    flipped++
    count(kinds, entry, old, now)
  }
  const flips = [...kinds.values()].sort((a, b) => b.count - a.count)
  return { total, flipped, flips, skipped, masked }
}

async function decided(policy: PreparedPolicy, entry: DecisionEntry): Promise<Decision> {
  const { tenant, roles, scopes } = entry.input.subject.properties
  const decision = await policy.decide(entry.input, JSON.stringify([tenant, roles, scopes]), numberOf(entry))
  if (decision.unavailable === true) {
    throw new Error(`revision ${policy.revision} could not decide about ${entry.id}`)
  }
  return decision
}

/** A place to remember under; the facts themselves are compared, so that two things at one place only cost a little. */
function numberOf({ input }: DecisionEntry): number {
  let hash = 0
  const text = `${input.action.name}\n${input.resource.id}`
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) & 0xffff
  return hash
}

type Verdict = Pick<Decision, 'allow' | 'reasons'>

function count(
  kinds: Map<string, Flip & { count: number; examples: string[] }>,
  { id, input }: DecisionEntry,
  old: Verdict,
  now: Verdict,
): void {
  const denial = now.allow ? old : now
  const rule = [...new Set(denial.reasons.map(reason => reason.code))].sort().join('+')
  const kind = {
    direction: (now.allow ? 'deny→allow' : 'allow→deny') as Direction,
    rule,
    action: input.action.name,
    resource: input.resource.id,
    consumer: input.subject.properties.consumer,
  }
  const known = kinds.get(JSON.stringify(kind))
  if (known !== undefined) {
    known.count++
    if (known.examples.length < EXAMPLES) known.examples.push(id)
  } else if (kinds.size < MAX_KINDS) kinds.set(JSON.stringify(kind), { ...kind, count: 1, examples: [id] })
  else {
    const rest = { ...kind, rule: '…', action: '…', resource: '…', consumer: '…' }
    const key = JSON.stringify(rest)
    const others = kinds.get(key)
    if (others === undefined) kinds.set(key, { ...rest, count: 1, examples: [id] })
    else others.count++
  }
}
