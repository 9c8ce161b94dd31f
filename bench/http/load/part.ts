/** What every part of the HTTP bench is given. It measures nothing. */
import type { Measured, ResultLine } from '../../record.ts'

export interface Part {
  /** Address of the upstream, in this process. */
  readonly backend: string
  readonly rounds: number
  /** Of one case in one round. */
  readonly seconds: number
  readonly connections: number
  readonly workers: number
  /** Only load cases whose id or name holds it, and their reference cases; '' means all. */
  readonly filter: string
  readonly pinned: boolean
  /** A line of progress for people. */
  progress(text: string): void
  /** To the results, and with `--json` to stdout. */
  write(measured: Measured): ResultLine
  /** Shown at the end, below a heading. */
  show(
    heading: string,
    head: readonly string[],
    rows: readonly (readonly string[])[],
    right: readonly number[],
  ): void
}
