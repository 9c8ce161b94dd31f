/** The schedule of faults of a seed: which, when, for how long and on what. It carries out none. */
import { seeded } from './random.ts'

export interface Planned<Kind extends string = string> {
  readonly kind: Kind
  /** Milliseconds after the start of the faults. */
  readonly atMs: number
  readonly durationMs: number
  /** Any number; a fault with several possible targets takes it modulo their count. */
  readonly target: number
}

const MIN_MS = 1_000
const MAX_MS = 15_000
const MAX_TARGETS = 60

/** Each kind comes once before any comes again. The same arguments give the same schedule. */
export function scheduleOf<Kind extends string>(
  seed: number,
  kinds: readonly Kind[],
  { everyMs, forMs }: { readonly everyMs: number; readonly forMs: number },
): Planned<Kind>[] {
  const random = seeded(seed)
  const maxMs = Math.min(MAX_MS, everyMs * 0.75)
  const planned: Planned<Kind>[] = []
  let bag: Kind[] = []
  for (let atMs = 0; atMs + everyMs <= forMs; atMs += everyMs) {
    if (bag.length === 0) bag = random.shuffle(kinds)
    planned.push({
      kind: bag.pop()!,
      atMs,
      durationMs: Math.round(random.between(Math.min(MIN_MS, maxMs), maxMs)),
      target: random.below(MAX_TARGETS),
    })
  }
  return planned
}
