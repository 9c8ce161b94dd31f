/** Adds subcommands that are described by data to a command, with their usage, help and options. It does the work of none. */
import type { Command, Option } from 'commander'
import { footer } from './command.ts'

/** @typeParam Run what runs the subcommand; it loads the work only then */
export interface Subcommand<Name extends string, Run> {
  /** With its arguments, if it has some. */
  readonly usage: string
  readonly summary: string
  readonly description: string
  readonly options: readonly Name[]
  readonly examples: readonly string[]
  readonly exitCodes: string
  readonly run: Run
}

/**
 * @param options by the names that subcommands use
 * @param act runs a subcommand whose command has been parsed
 */
export function addSubcommands<Name extends string, Run>(
  parent: Command,
  options: { readonly [name in Name]: () => Option },
  subcommands: readonly Subcommand<Name, Run>[],
  act: (command: Command, run: Run) => Promise<void>,
): void {
  for (const { usage, summary, description, options: names, examples, exitCodes, run } of subcommands) {
    const command = parent
      .command(usage)
      .summary(summary)
      .description(description)
      .addHelpText('after', footer(examples, exitCodes))
      .action(() => act(command, run))
    for (const name of names) command.addOption(options[name]())
  }
}
