/** The options that the subcommands of `policy` share. It parses nothing. */

export interface PolicyOptions {
  readonly dir: string
  readonly bundle: string
  readonly tools: string
  readonly input: string
  readonly log: string
  readonly maxFlips: number
  readonly json: boolean
  /** '' = the bundle is not signed. */
  readonly signingKey: string
  readonly signingAlg: string
  /** The word behind the command; '' for those that take none. */
  readonly operand: string
}
