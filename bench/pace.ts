/**
 * Shows whether the processors were slower at times of a run: neighbors on the same hardware, and clocks that are lowered, leave no trace in the
 * accounting of the kernel, which `quiet.ts` reads. It times fixed work between measurements and stops nothing.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { spread } from './statistics.ts'

/** Share of the looks that may be slow; above it, a run makes no claim. */
export const MAX_SLOW = 0.25
/** A look is slow when the work took so many times as long as in the fastest look of the run. */
const SLOW = 1.6
/** Fewer looks say nothing about the fastest. */
const MIN_LOOKS = 5
/** System calls and the small objects around them, as serving a call is: hashing varies by a fifth where these take twice as long. */
const READS = 400
const REPEATS = 7
const BYTE = Buffer.alloc(1)

export class Pace {
  readonly #time: () => number
  readonly #looks: number[] = []

  /** @param time of the work, in ms */
  constructor(time: () => number = timeWork) {
    this.#time = time
  }

  /** Times the work; takes a few milliseconds, so it must not run beside a measurement. */
  look(): void {
    this.#looks.push(this.#time())
  }

  /** Share of the looks that were slow; undefined: too few looks. */
  slowShare(): number | undefined {
    if (this.#looks.length < MIN_LOOKS) return undefined
    const fastest = Math.min(...this.#looks)
    return this.#looks.filter(ms => ms > SLOW * fastest).length / this.#looks.length
  }
}

/** The sentence for a run on a machine that was slow at times; undefined where it was not, or where that is unknown. */
export function slowText(share: number | undefined): string | undefined {
  if (share === undefined || share <= MAX_SLOW) return undefined
  return `The machine was not quiet: at ${Math.round(share * 100)} % of the looks its processors took over ${SLOW} times as long for the same work as at their fastest (at most ${MAX_SLOW * 100} % may). No claim is made; measure again.`
}

/** The median, so that neither one interruption nor one lucky repeat counts. */
function timeWork(): number {
  const file = openSync(process.execPath, 'r')
  const times = Array.from({ length: REPEATS }, () => {
    const at = performance.now()
    for (let read = 0; read < READS; read++) readSync(file, BYTE, { position: 0 })
    return performance.now() - at
  })
  closeSync(file)
  return spread(times).median
}
