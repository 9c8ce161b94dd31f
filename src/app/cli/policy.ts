/** `toolgate policy`: its subcommands and their options. The work is in `policy/`. */
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { type CommandContext, CommandFailure, integerBetween } from './command.ts'
import type { PolicyOptions } from './policy/options.ts'
import { addSubcommands, type Subcommand } from './subcommands.ts'

const OPTIONS = {
  dir: () => new Option('--dir <dir>', 'directory that contains the policies').default('policies'),
  bundle: () => new Option('--bundle <file>', 'bundle file (default: bundle.tar.gz in --dir)'),
  tools: () =>
    new Option(
      '--tools <dir>',
      'directory of the programs opa and regal; a missing program is installed there',
    ).default('.tools/bin'),
  input: () =>
    new Option(
      '--input <file>',
      'file with the policy input as JSON (schema: schemas/input.json in --dir); - reads stdin',
    ).default('-'),
  log: () =>
    new Option('--log <path>', 'decision log file, or directory of decision logs').default('data/decisions'),
  maxFlips: () =>
    new Option('--max-flips <n>', 'exit with 1 if more decisions than this number differ')
      .argParser(integerBetween(0, 999_999_999))
      .default(0),
  signingKey: () =>
    new Option(
      '--signing-key <file>',
      'sign the bundle with this private key (PEM); gateways verify the signature with the public key in POLICY_KEY',
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
    exitCodes: '0 written, 1 not written (for example, the rule exists)',
    run: async (options, name) => (await import('./policy/watch.ts')).newRule(options, name),
  },
  {
    usage: 'watch',
    summary:
      'test and build the policies on each save, and show which recent decisions the new bundle changes',
    description:
      'Tests and builds the policies on each save, and shows which recent decisions the new bundle changes. Runs until SIGINT or SIGTERM.',
    options: [...BUILD_OPTIONS, 'log'],
    examples: ['toolgate policy watch', 'toolgate policy watch --log /var/lib/toolgate/decisions'],
    exitCodes: '0 stopped by a signal, 1 failed',
    run: async options => (await import('./policy/watch.ts')).watchPolicies(options),
  },
  {
    usage: 'build',
    summary: 'compile the policies into a bundle',
    description:
      'Compiles the policies into a bundle with `opa build -t wasm`, and checks that a gateway can load the bundle.',
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
    summary: 'lint, type-check and test the policies, and check that the files are formatted',
    description:
      'Runs opa fmt (without changing files), regal lint, opa check --strict and opa test. Requires a test coverage of 100 %. Also checks the METADATA of the rules, and reports rules that can never deny.',
    options: ['dir', 'tools', 'json'],
    examples: ['toolgate policy test', 'toolgate policy test --json'],
    exitCodes: '0 everything passed, 1 something failed',
    run: async options => (await import('./policy/build.ts')).test(options),
  },
  {
    usage: 'eval',
    summary: 'evaluate one input with a bundle, and show which rules determined the decision',
    description: 'Evaluates one input with a built bundle, and shows which rules determined the decision.',
    options: ['dir', 'bundle', 'input', 'json'],
    examples: ['toolgate policy eval --input input.json', 'toolgate policy eval --json < input.json'],
    exitCodes: '0 allowed, 1 denied or failed',
    run: async options => (await import('./policy/evaluate.ts')).evaluate(options),
  },
  {
    usage: 'explain <id>',
    summary: 'evaluate one input of the decision log again, and show which rules determine the decision',
    description:
      'Evaluates one input of the decision log again with a built bundle, and shows which rules determine the decision. The argument <id> is the decision_id in the log.',
    options: ['dir', 'bundle', 'log', 'json'],
    examples: ['toolgate policy explain 019ad2f0-4a31-7c55-9d2e-0f5f4d2c9b11'],
    exitCodes: '0 allowed, 1 denied or failed',
    run: async (options, id) => (await import('./policy/evaluate.ts')).explainEntry(options, id),
  },
  {
    usage: 'replay',
    summary:
      'evaluate the inputs of the decision log again, and compare the new decisions with the logged decisions',
    description:
      'Evaluates the inputs of a decision log again, and compares the new decisions with the logged decisions. Fails if more than --max-flips decisions differ.',
    options: REPLAY_OPTIONS,
    examples: ['toolgate policy replay', 'toolgate policy replay --log decisions.ndjson --json'],
    exitCodes: '0 at most --max-flips decisions differ, 1 more differ, or failed',
    run: async options => (await import('./policy/evaluate.ts')).replayLog(options),
  },
  {
    usage: 'diff <candidate>',
    summary: 'list the logged inputs for which a candidate bundle decides differently',
    description:
      'Evaluates the inputs of a decision log with the bundle in --bundle and with a candidate bundle. Lists the decisions that differ, by rule, tool and consumer.',
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
