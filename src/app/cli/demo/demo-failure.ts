/** The error of a demo that did not see what it expected, with tokens and API keys masked. It prints nothing. */
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
