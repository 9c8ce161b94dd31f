/** `toolgate bench`: its subcommands and their options. */
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { ProfileOptions } from './bench/profile.ts'
import { WORK } from './bench/work.ts'
import { assignment, type CommandContext, footer, integerBetween, numberBetween } from './command.ts'

const MAX_SECONDS = 120
const MAX_CONNECTIONS = 1000
/** With shorter intervals the profiler mostly samples itself. */
const MIN_INTERVAL_US = 100
const MAX_INTERVAL_US = 100_000

export function addBench(program: Command, context: CommandContext): void {
  const bench = program
    .command('bench')
    .summary('profile a gateway under load')
    .description('Puts a gateway under load, and shows which functions use its CPU time.')
  bench
    .command('profile')
    .summary('put a gateway under load and show which functions use its CPU time')
    .description(
      `Starts the example deployment on free ports of this machine (one process for the gateway, one for the control plane \
and the identity provider, and a backend on loopback), sends requests, samples the gateway process with the V8 profiler \
and stops all processes. Prints the functions with the most self time and writes profile.cpuprofile. You can open this file \
as a flame graph in VS Code, in speedscope, or in the Performance panel of Chrome DevTools. The command does not use the \
settings in the environment variables: set them with --set.`,
    )
    .option('--seconds <s>', 'duration of the profile in seconds', numberBetween(0.1, MAX_SECONDS), 10)
    .option(
      '--warm-up <s>',
      'duration of the load before the profile, in seconds',
      numberBetween(0, MAX_SECONDS),
      3,
    )
    .addOption(
      new Option(
        '--work <kind>',
        'request to send: call, list and ping = tools/call, tools/list and ping over JSON-RPC, rest = a tool call over REST, proxy = GET through a proxied API with an API key',
      )
        .choices(WORK)
        .default('call'),
    )
    .option(
      '--connections <n>',
      'number of connections, each with one request in flight',
      integerBetween(1, MAX_CONNECTIONS),
      16,
    )
    .option(
      '--interval <us>',
      'microseconds between samples',
      integerBetween(MIN_INTERVAL_US, MAX_INTERVAL_US),
      500,
    )
    .option(
      '--set <name=value>',
      'setting of the gateway (docs/reference/settings.md in the source repository); may be repeated',
      assignment,
    )
    .option('--out <dir>', 'directory for profile.cpuprofile; created if it does not exist', '.')
    .option(
      '--data <dir>',
      'directory in which to store the database of the example deployment, so that later runs with this directory start faster (default: a new database in memory)',
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      footer(
        [
          'toolgate bench profile',
          'toolgate bench profile --work proxy --seconds 5 --out before',
          'toolgate bench profile --set DECISION_LOG_PERCENT=100 --json',
        ],
        '0 measured, 1 a failed or interrupted measurement',
      ),
    )
    .action(async ({ out, data, set = {}, json = false, warmUp, interval, ...rest }) => {
      const { profile } = await import('./bench/profile.ts')
      context.exitCode = await profile({
        ...(rest as Pick<ProfileOptions, 'seconds' | 'work' | 'connections'>),
        warmUpSeconds: warmUp,
        intervalUs: interval,
        settings: set,
        out: resolve(out),
        dataDir: data === undefined ? undefined : resolve(data),
        json,
      })
    })
}
