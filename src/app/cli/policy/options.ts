/** The options of the subcommands of `policy`. */

/** The options of all subcommands; each declares those it uses. */
export interface PolicyOptions {
  readonly dir: string
  readonly bundle: string
  readonly tools: string
  readonly input: string
  readonly log: string
  readonly maxFlips: number
  readonly json: boolean
  /** undefined: the bundle is not signed. */
  readonly signingKey?: string
  readonly signingAlg?: string
}
