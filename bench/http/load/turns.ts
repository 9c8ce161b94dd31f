/**
 * Measures cases in turns, round by round, after each is warm: what disturbs the machine for a while disturbs all of them. A case is written
 * after each of its rounds, so that a run that is stopped keeps them.
 */
import type { Part } from './part.ts'
import { WINDOW_SECONDS, warmUp, warmUpText } from './warm-up.ts'

/** What a round of a case, or a window of its warm-up, shows at least. */
export interface Round {
  /** CPU time of the server for one call, or for another thing that `what` names. */
  readonly cpuUs: number
}

/** What was measured of one case so far. */
export interface Taken<R extends Round> {
  readonly warm: boolean
  readonly warmUpMs: number
  readonly rounds: readonly R[]
}

export interface Turns<C, R extends Round> {
  /** Name of progress: `ladder`. */
  readonly name: string
  readonly cases: readonly C[]
  /** For one case in one round; those of the part when absent. */
  readonly seconds?: number
  /** What the CPU time is of: a call when absent. */
  readonly what?: string
  measure(one: C, seconds: number): Promise<R>
  /** Window of the warm-up; what `measure` does in the time of a window when absent. */
  window?(one: C): Promise<Round>
  /** Writes all lines of a case; lines of the same names replace those of the round before. */
  write(one: C, takenOf: (id: string) => Taken<R>): void
}

/** @returns by id of the case */
export async function takeTurns<C extends { readonly id: string }, R extends Round>(
  part: Pick<Part, 'progress' | 'rounds' | 'seconds'>,
  { name, cases, seconds = part.seconds, what = 'call', measure, window, write }: Turns<C, R>,
): Promise<(id: string) => Taken<R>> {
  const taken = new Map<string, Taken<R> & { readonly rounds: R[] }>()
  const takenOf = (id: string): Taken<R> => taken.get(id)!
  for (const one of cases) {
    const warmed = await warmUp(() => window?.(one) ?? measure(one, WINDOW_SECONDS), costOf)
    part.progress(`${name}: ${one.id} ${warmUpText(warmed, costOf, what)}`)
    if (!warmed.warm) part.progress(`${name}: figures of ${one.id} will not enter RESULTS.md`)
    taken.set(one.id, { warm: warmed.warm, warmUpMs: warmed.warmUpMs, rounds: [] })
  }
  for (let round = 1; round <= part.rounds; round++)
    for (const one of cases) {
      const measured = await measure(one, seconds)
      taken.get(one.id)!.rounds.push(measured)
      write(one, takenOf)
      part.progress(
        `${name}: round ${round} of ${part.rounds}, ${one.id} ${measured.cpuUs.toFixed(1)} µs a ${what}`,
      )
    }
  // some cases come before the one that they are compared with
  for (const one of cases) write(one, takenOf)
  return takenOf
}

const costOf = ({ cpuUs }: Round): number => cpuUs
