/** `toolgate bridge`: serves an MCP server of the stdio transport over HTTP, on loopback by default, in a process apart from the gateway. */
import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDurationMs } from '../../base/duration.ts'
import { isLoopback } from '../../base/loopback.ts'
import type { BridgeOptions } from '../../bridge/bridge.ts'
import {
  type CommandContext,
  CommandFailure,
  EXIT,
  footer,
  integerBetween,
  print,
  printProgress,
} from './command.ts'
import { onStopSignal } from './signals.ts'

interface Options {
  readonly host: string
  readonly port: number
  readonly maxSessions: number
  readonly idle: number
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly tokenFile?: string
}

/** What a command needs to run at all; everything else is passed on by name. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ']

export function addBridge(program: Command, context: CommandContext): void {
  program
    .command('bridge')
    .summary('serve a stdio MCP server over HTTP, for a ToolSet with spec.source.mcp')
    .description(
      `Starts one process of COMMAND for each MCP session, and serves the process over Streamable HTTP at /mcp. When the bridge is ready, \
it prints a line on stdout that begins with {"ready":true and contains the URL to set as spec.source.mcp.url of the ToolSet. SIGTERM or SIGINT stops \
the bridge and its processes. The bridge writes the error output of COMMAND to stderr.

COMMAND receives only the environment variables that --env names, and ${PASSED_ON.join(', ')}.`,
    )
    .argument('<command...>', 'the command that starts the stdio MCP server, with its arguments, after --')
    .option(
      '--host <address>',
      'address to listen on; an address that is not loopback requires --token-file',
      '127.0.0.1',
    )
    .option('--port <number>', 'port to listen on; 0 selects a free port', integerBetween(0, 65_535), 0)
    .option(
      '--max-sessions <number>',
      'maximum number of simultaneous sessions, each with one process',
      integerBetween(1, 1_000),
      16,
    )
    .addOption(
      new Option('--idle <duration>', 'end a session after this time without requests (1s to 24h)')
        .argParser(durationOption)
        .default(1_800_000, '30m'),
    )
    .addOption(
      new Option('--cwd <folder>', 'directory to run COMMAND in').default(process.cwd(), 'current directory'),
    )
    .option(
      '--env <NAME[=VALUE]>',
      'environment variable for COMMAND; NAME alone takes its value from the environment of toolgate; may be repeated',
      variable,
    )
    .option(
      '--token-file <file>',
      'file with a token of at least 16 characters, which callers must then send as Authorization: Bearer …',
    )
    .addHelpText(
      'after',
      footer(
        [
          'toolgate bridge --port 9100 -- npx -y @modelcontextprotocol/server-filesystem /srv/files',
          'toolgate bridge --port 9101 --env API_KEY --max-sessions 4 -- python server.py',
        ],
        '0 stopped by a signal, 1 the address cannot be opened, 78 a token file that cannot be used',
      ),
    )
    .action(async (command: readonly string[], options: Options) => {
      context.exitCode = await serve(context, command, options)
    })
}

async function serve({ env }: CommandContext, command: readonly string[], options: Options): Promise<number> {
  const { host, port, maxSessions, idle: idleMs, cwd } = options
  const token = options.tokenFile === undefined ? undefined : readToken(options.tokenFile)
  if (token === undefined && !isLoopback(host))
    throw new CommandFailure(
      `--host ${host} is reachable from other machines. Set --token-file, so that callers need a token.`,
      EXIT.usage,
    )
  const stopped = new Promise<void>(resolve => onStopSignal(resolve))
  const { Bridge } = await import('../../bridge/bridge.ts')
  const bridge = new Bridge({
    command: { command: command[0]!, args: command.slice(1), cwd, env: environment(env, options.env ?? {}) },
    host,
    port,
    maxSessions,
    idleMs,
    token,
    log: (line: string) => printProgress(`bridge: ${line}`),
  } satisfies BridgeOptions)
  const url = await bridge.listen().catch((error: Error) => {
    throw new CommandFailure(error.message)
  })
  print(`${JSON.stringify({ ready: true, url })}\n`)
  await stopped
  await bridge.close()
  return process.exit(EXIT.ok)
}

/** @throws CommandFailure */
function readToken(file: string): string {
  let token: string
  try {
    token = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new CommandFailure(
      `--token-file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}). Check the path and its permissions.`,
      EXIT.config,
    )
  }
  if (token.length < 16)
    throw new CommandFailure(
      `--token-file ${file} contains fewer than 16 characters. Write a longer token into the file.`,
      EXIT.config,
    )
  return token
}

function environment(
  env: CommandContext['env'],
  named: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const given = PASSED_ON.map(name => [name, env[name]] as const)
  const added = Object.entries(named).map(([name, value]) => [name, value ?? env[name]] as const)
  return Object.fromEntries(
    [...given, ...added].filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function variable(
  text: string,
  previous: Readonly<Record<string, string | undefined>> = {},
): Readonly<Record<string, string | undefined>> {
  const [name = '', ...rest] = text.split('=')
  if (name === '') throw new InvalidArgumentError('Use the form NAME or NAME=VALUE.')
  return { ...previous, [name]: rest.length === 0 ? undefined : rest.join('=') }
}

function durationOption(text: string): number {
  const ms = parseDurationMs(text)
  if (ms !== undefined && ms >= 1_000 && ms <= 86_400_000) return ms
  throw new InvalidArgumentError('Use a duration from 1s to 24h, such as 30m.')
}
