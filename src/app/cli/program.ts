/** The command line of `toolgate`: registers the commands, runs one and returns its exit code. */
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { VERSION } from '../../base/version.ts'
import { SettingsError } from '../settings.ts'
import { addAudit } from './audit.ts'
import { addBridge } from './bridge.ts'
import { type CommandContext, CommandFailure, EXIT } from './command.ts'
import { addConfig } from './config.ts'
import { addDb } from './db.ts'
import { addDemo } from './demo.ts'
import { addDoctor } from './doctor.ts'
import { addMetering } from './metering.ts'
import { addPolicy } from './policy.ts'
import { addServe } from './serve.ts'
import { addToolset } from './toolset.ts'

export interface Hooks {
  /** Before the work of a command. @param name such as `serve` or `config follow` */
  beforeAction?(name: string): void
}

/**
 * Runs one command line; prints everything.
 * @param args without `node` and the script
 * @returns the exit code
 */
export async function runCommand(
  args: readonly string[],
  env: CommandContext['env'] = process.env,
  { beforeAction }: Hooks = {},
): Promise<number> {
  const context: CommandContext = { env, exitCode: EXIT.ok }
  try {
    await createProgram(context)
      .hook('preAction', (_, command) => beforeAction?.(fullName(command)))
      .parseAsync(args, { from: 'user' })
    return context.exitCode
  } catch (error) {
    return exitCodeOf(error)
  }
}

function createProgram(context: CommandContext): Command {
  const program = new Command('toolgate')
    .description(
      'A gateway that turns OpenAPI documents and MCP servers into tools, and serves the tools over the Model Context Protocol (MCP) and REST.',
    )
    .version(VERSION)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, 'toolgate:')) })
    .showHelpAfterError('Add --help to the command to print the usage.')
    .addHelpText(
      'after',
      '\nExit codes: 0 success, 1 failure or findings, 64 wrong usage, 78 wrong configuration. The help of each command describes its exit codes.',
    )
  const commands = [
    addServe,
    addDemo,
    addDoctor,
    addToolset,
    addBridge,
    addConfig,
    addDb,
    addAudit,
    addMetering,
    addPolicy,
  ]
  for (const add of commands) add(program, context)
  return program
}

function fullName(command: Command): string {
  const { parent } = command
  return parent?.parent == null ? command.name() : `${fullName(parent)} ${command.name()}`
}

/** Prints what commander has not printed yet. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure || error instanceof SettingsError) {
    process.stderr.write(`toolgate: ${error.message}\n`)
    return error instanceof SettingsError ? EXIT.config : error.exitCode
  }
  if (!(error instanceof CommanderError)) throw error
  if (error instanceof InvalidArgumentError) process.stderr.write(`toolgate: ${error.message}\n`)
  // commander ends with 0 after --help and --version
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage
}
