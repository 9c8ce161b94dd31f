/** `toolgate policy`: its subcommands and their options. The work is in `policy/`. */
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { type CommandContext, CommandFailure, integerBetween } from './command.ts'
import type { PolicyOptions } from './policy/options.ts'
import { addSubcommands, type Subcommand } from './subcommands.ts'

const OPTIONS = {
  dir: () => new Option('--dir <dir>', 'directory of the policies').default('policies'),
  bundle: () => new Option('--bundle <file>', 'bundle file (default: bundle.tar.gz in --dir)'),
  tools: () =>
    new Option('--tools <dir>', 'directory of opa and regal (installed if missing)').default('.tools/bin'),
  input: () =>
    new Option('--input <file>', 'policy input (JSON, see schemas/input.json); - reads stdin').default('-'),
  log: () =>
    new Option('--log <path>', 'decision log file, or directory of decision logs').default('data/decisions'),
  maxFlips: () =>
    new Option('--max-flips <n>', 'exit with 0 if at most this many decisions differ')
      .argParser(integerBetween(0, 999_999_999))
      .default(0),
  signingKey: () =>
    new Option(
      '--signing-key <file>',
      'sign the bundle with this private key (PEM); gateways verify it with POLICY_KEY',
    ),
  signingAlg: () => new Option('--signing-alg <alg>', 'signature algorithm: RS256 (default), ES256, …'),
  json: () => new Option('--json', 'print JSON'),
} as const

/** @param argument '' for a subcommand without one */
type Run = (options: PolicyOptions, argument: string) => Promise<number>

const BUILD_OPTIONS = ['dir', 'bundle', 'tools', 'signingKey', 'signingAlg'] as const
const REPLAY_OPTIONS = ['dir', 'bundle', 'log', 'maxFlips', 'json'] as const

const SUBCOMMANDS: readonly Subcommand<keyof typeof OPTIONS, Run>[] = [
  {
    usage: 'new <name>',
    summary: 'write a rule and its test as a starting point',
    description: 'Writes a rule, its METADATA and its test as a starting point.',
    options: ['dir', 'json'],
    examples: ['toolgate policy new payments'],
    exitCodes: '0 written, 1 the rule exists or its name is invalid',
    run: async (options, name) => (await import('./policy/watch.ts')).newRule(options, name),
  },
  {
    usage: 'watch',
    summary: 'test and build the policies on each save, and show which recent decisions change',
    description:
      'Tests and builds the policies on each save, and shows which recent decisions change. Runs until SIGINT or SIGTERM.',
    options: [...BUILD_OPTIONS, 'log'],
    examples: ['toolgate policy watch', 'toolgate policy watch --log /var/lib/toolgate/decisions'],
    exitCodes: '0 stopped by a signal, 1 failure',
    run: async options => (await import('./policy/watch.ts')).watchPolicies(options),
  },
  {
    usage: 'build',
    summary: 'compile the policies into a bundle',
    description:
      'Compiles the policies into a bundle with `opa build -t wasm`, and loads the bundle as a gateway would.',
    options: [...BUILD_OPTIONS, 'json'],
    examples: [
      'toolgate policy build',
      'toolgate policy build --bundle candidate.tar.gz --signing-key key.pem',
    ],
    exitCodes: '0 built, 1 not built',
    run: async options => (await import('./policy/build.ts')).build(options),
  },
  {
    usage: 'test',
    summary: 'format, lint, type-check and test the policies',
    description:
      'Runs opa fmt, regal lint, opa check --strict and opa test with full coverage; checks METADATA and finds rules that never deny.',
    options: ['dir', 'tools', 'json'],
    examples: ['toolgate policy test', 'toolgate policy test --json'],
    exitCodes: '0 everything passed, 1 something failed',
    run: async options => (await import('./policy/build.ts')).test(options),
  },
  {
    usage: 'eval',
    summary: 'evaluate one input with a bundle, and show which rules decided',
    description: 'Evaluates one input with a built bundle, and shows which rules decided.',
    options: ['dir', 'bundle', 'input', 'json'],
    examples: ['toolgate policy eval --input input.json', 'toolgate policy eval --json < input.json'],
    exitCodes: '0 allowed, 1 denied or failed',
    run: async options => (await import('./policy/evaluate.ts')).evaluate(options),
  },
  {
    usage: 'explain <id>',
    summary: 'show which rules decided a logged decision',
    description:
      'Evaluates a logged decision again, and shows which rules decided. The argument <id> is its decision_id.',
    options: ['dir', 'bundle', 'log', 'json'],
    examples: ['toolgate policy explain 019ad2f0-4a31-7c55-9d2e-0f5f4d2c9b11'],
    exitCodes: '0 allowed, 1 denied or failed',
    run: async (options, id) => (await import('./policy/evaluate.ts')).explainEntry(options, id),
  },
  {
    usage: 'replay',
    summary: 'evaluate the decision log again, and fail when more than --max-flips decisions differ',
    description:
      'Evaluates the inputs of a decision log again and compares the decisions; fails when more than --max-flips decisions differ.',
    options: REPLAY_OPTIONS,
    examples: ['toolgate policy replay', 'toolgate policy replay --log decisions.ndjson --json'],
    exitCodes: '0 at most --max-flips decisions differ, 1 more differ, or failed',
    run: async options => (await import('./policy/evaluate.ts')).replayLog(options),
  },
  {
    usage: 'diff <candidate>',
    summary: 'list the logged decisions that another bundle would change',
    description:
      'Lists the logged decisions that a candidate bundle would change, by rule, tool and consumer.',
    options: REPLAY_OPTIONS,
    examples: [
      'toolgate policy diff candidate.tar.gz',
      'toolgate policy diff candidate.tar.gz --max-flips 10 --json',
    ],
    exitCodes: '0 at most --max-flips decisions differ, 1 more differ, or failed',
    run: async (options, candidate) => (await import('./policy/evaluate.ts')).diff(options, candidate),
  },
]

export function addPolicy(program: Command, context: CommandContext): void {
  const policy = program
    .command('policy')
    .summary('build, test and evaluate the policy')
    .description(
      'Builds, tests and evaluates the policy. Only build, test and watch need opa; test and watch also need regal.',
    )
  addSubcommands(policy, OPTIONS, SUBCOMMANDS, async (command, run) => {
    const values = command.opts<Partial<PolicyOptions>>()
    const bundle = values.bundle ?? join(values.dir!, 'bundle.tar.gz')
    // absent are only the options that this subcommand does not declare
    const given = { json: false, ...values, bundle } as PolicyOptions
    context.exitCode = await run(given, command.args[0] ?? '').catch((error: unknown) => {
      throw new CommandFailure((error as Error).message)
    })
  })
}
