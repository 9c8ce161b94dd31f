/** The error of a demo whose check failed; `masked.ts` masks its text. */
import { mask } from './masked.ts'

export class DemoFailure extends Error {
  readonly expected: string
  readonly got: string

  constructor(expected: string, got: string) {
    super(mask(`expected ${expected}, got ${got}`))
    this.name = 'DemoFailure'
    this.expected = mask(expected)
    this.got = mask(got)
  }
}
