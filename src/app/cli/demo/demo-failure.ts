/** The error of a demo whose check failed; `masked.ts` masks its text. */
import { masked } from './masked.ts'

export class DemoFailure extends Error {
  readonly expected: string
  readonly got: string

  constructor(expected: string, got: string) {
    super(masked(`expected ${expected}, got ${got}`))
    this.name = 'DemoFailure'
    this.expected = masked(expected)
    this.got = masked(got)
  }
}
