/** What every part of the HTTP bench is given. */
import type { Measured, ResultLine } from '../../record.ts'

export interface Part {
  /** Address of the upstream, in this process. */
  readonly backend: string
  readonly rounds: number
  /** For one case in one round. */
  readonly seconds: number
  readonly connections: number
  readonly workers: number
  /** See `choose`; '' means all. */
  readonly filter: string
  readonly pinned: boolean
  /** A line of progress for people. */
  progress(text: string): void
  /** To the file of the results, at once; a later line of the same name replaces it. */
  write(measured: Measured): ResultLine
  /** Shown at once, below a heading. */
  show(
    heading: string,
    head: readonly string[],
    rows: readonly (readonly string[])[],
    right: readonly number[],
  ): void
}

/** A case of the parts `load`, `workers` and `ladder`. */
export interface Named {
  readonly id: string
  readonly name: string
  /** Id of the case it is compared with. */
  readonly of?: string
}

/** Those whose id or name contains the text, and what they are compared with. */
export function choose<C extends Named>(all: readonly C[], filter: string): readonly C[] {
  const asked = all.filter(({ id, name }) => id.includes(filter) || name.includes(filter))
  return all.filter(one => asked.includes(one) || asked.some(({ of }) => of === one.id))
}
