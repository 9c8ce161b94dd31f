/** Options of the subcommands of `toolgate config`. */

export interface ConfigOptions {
  readonly url?: string
  readonly owner?: string
  readonly tenant?: string
  readonly prune?: true
  readonly takeOver?: true
  readonly overwriteDrift?: true
  readonly exitCode?: true
  readonly json?: true
}
