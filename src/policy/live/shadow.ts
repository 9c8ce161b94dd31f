/** Evaluates a candidate bundle on the inputs of earlier decisions, counts differences, and joins the counts of threads. */
import type { Decision, PolicyInput, PreparedPolicy } from '../engine.ts'
import { countFlip, type Flip, type FlipKinds, sortedFlips } from '../log/flips.ts'
import { subjectKeyOf } from '../subject-key.ts'

export interface ShadowStatus {
  readonly revision: string
  /** Decisions both made. */
  readonly compared: number
  readonly flipped: number
  /** Decisions the candidate could not make; each stands in the way of a promotion. */
  readonly failed: number
  /** Decisions that were not compared because too many were pending. */
  readonly skipped: number
  /** Most frequent first, at most 100 kinds. */
  readonly flips: readonly Flip[]
}

const MAX_WAITING = 10_000
/** Longest evaluation at a time; calls have their turn after it. */
const SLICE_MS = 2
const MAX_KINDS = 1000
const SHOWN_KINDS = 100

/** For the same candidate in several threads; undefined for none. */
export function joinedStatus(statuses: readonly ShadowStatus[]): ShadowStatus | undefined {
  const [first, ...others] = statuses
  if (first === undefined) return undefined
  const kinds: FlipKinds = new Map()
  for (const { count, examples, ...kind } of statuses.flatMap(({ flips }) => flips)) {
    const key = JSON.stringify(kind)
    const known = kinds.get(key)
    if (known === undefined) kinds.set(key, { ...kind, count, examples: [...examples] })
    else known.count += count
  }
  const sum = (of: (status: ShadowStatus) => number): number =>
    others.reduce((total, status) => total + of(status), of(first))
  return {
    revision: first.revision,
    compared: sum(({ compared }) => compared),
    flipped: sum(({ flipped }) => flipped),
    failed: sum(({ failed }) => failed),
    skipped: sum(({ skipped }) => skipped),
    flips: sortedFlips(kinds).slice(0, SHOWN_KINDS),
  }
}

interface Waiting {
  readonly input: PolicyInput
  readonly decision: Decision
}

export class ShadowPolicy {
  readonly #policy: PreparedPolicy
  readonly #kinds: FlipKinds = new Map()
  #waiting: Waiting[] = []
  #scheduled = false
  #compared = 0
  #flipped = 0
  #failed = 0
  #skipped = 0
  #closed = false

  constructor(policy: PreparedPolicy) {
    this.#policy = policy
  }

  get status(): ShadowStatus {
    return {
      revision: this.#policy.revision,
      compared: this.#compared,
      flipped: this.#flipped,
      failed: this.#failed,
      skipped: this.#skipped,
      flips: sortedFlips(this.#kinds).slice(0, SHOWN_KINDS),
    }
  }

  /** Takes a decision of the live policy to be compared; costs no waiting. */
  observe(input: PolicyInput, decision: Decision): void {
    if (this.#closed || decision.unavailable === true) return
    if (this.#waiting.length >= MAX_WAITING) {
      this.#skipped++
      return
    }
    this.#waiting.push({ input, decision })
    this.#schedule()
  }

  close(): void {
    this.#closed = true
    this.#waiting = []
    this.#policy.close()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#compareSome()
    })
  }

  async #compareSome(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    const untilMs = performance.now() + SLICE_MS
    let at = 0
    for (; at < batch.length && performance.now() < untilMs; at++) await this.#compare(batch[at]!)
    if (this.#closed || at === batch.length) return
    this.#waiting = [...batch.slice(at), ...this.#waiting]
    this.#schedule()
  }

  async #compare({ input, decision }: Waiting): Promise<void> {
    const now = await this.#policy.decide(input, subjectKeyOf(input), 0)
    if (this.#closed) return
    if (now.unavailable === true) {
      this.#failed++
      return
    }
    this.#compared++
    if (now.allow === decision.allow) return
    this.#flipped++
    countFlip(this.#kinds, MAX_KINDS, { id: '', input }, decision, now)
  }
}
