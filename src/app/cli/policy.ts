/** `toolgate policy`: its subcommands and their options. The work is in `policy/`. */
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { type CommandContext, CommandFailure, integerBetween } from './command.ts'
import type { PolicyOptions } from './policy/options.ts'
import { addSubcommands, type Subcommand } from './subcommands.ts'

/** Some subcommands have an option with the same name and another effect. */
const OPTIONS = {
  dir: () => new Option('--dir <dir>', 'directory that contains the policies').default('policies'),
  bundleDir: () =>
    new Option('--dir <dir>', 'directory of bundle.tar.gz, if --bundle is not set').default('policies'),
  written: () => new Option('--bundle <file>', 'bundle file to write (default: bundle.tar.gz in --dir)'),
  bundle: () => new Option('--bundle <file>', 'bundle file to evaluate (default: bundle.tar.gz in --dir)'),
  compared: () =>
    new Option(
      '--bundle <file>',
      'bundle file with which to compare the candidate (default: bundle.tar.gz in --dir)',
    ),
  opa: () =>
    new Option(
      '--tools <dir>',
      'directory in which to look for the program opa, after the PATH; opa is installed there if it is missing',
    ).default('.tools/bin'),
  tools: () =>
    new Option(
      '--tools <dir>',
      'directory in which to look for the programs opa (after the PATH) and regal; a missing program is installed there',
    ).default('.tools/bin'),
  input: () =>
    new Option(
      '--input <file>',
      'file with the policy input as JSON, or - for stdin; its JSON Schema is schemas/input.json in the directory of the policies',
    ).default('-'),
  log: () =>
    new Option(
      '--log <path>',
      'decision log: one file, or the directory into which a gateway writes the log (DATA_DIR/decisions)',
    ).default('data/decisions'),
  maxFlips: () =>
    new Option('--max-flips <n>', 'exit with 1 if more than this number of decisions differ')
      .argParser(integerBetween(0, 999_999_999))
      .default(0),
  signingKey: () =>
    new Option(
      '--signing-key <file>',
      'file with the private key (PEM) to sign the bundle with; gateways verify the signature with the public key in POLICY_KEY (default: no signature)',
    ),
  signingAlg: () =>
    new Option(
      '--signing-alg <alg>',
      'algorithm of the signature with --signing-key, such as RS256 or ES256 (default: RS256)',
    ),
  json: () => new Option('--json', 'print JSON'),
} as const

/** @param argument '' for a subcommand without one */
type Run = (options: PolicyOptions, argument: string) => Promise<number>

const SIGNING_OPTIONS = ['signingKey', 'signingAlg'] as const
const REPLAY_OPTIONS = ['log', 'maxFlips', 'json'] as const
const REPLAY_CODES = '0 at most --max-flips decisions differ, 1 more decisions differ, or the command failed'

const SUBCOMMANDS: readonly Subcommand<keyof typeof OPTIONS, Run>[] = [
  {
    usage: 'new <name>',
    summary: 'write a rule and its test as a starting point',
    description:
      'Writes a rule, its METADATA and its test into toolgate/rules/<name> in --dir, as a starting point. <name> consists of lower-case letters, digits and _, and begins with a letter.',
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
      'Tests and builds the policies at the start and on each save. If all checks of `toolgate policy test` pass, replaces the bundle file, and shows which of the last 1000 logged decisions the new bundle changes. Runs until SIGINT or SIGTERM.',
    options: ['dir', 'written', 'tools', ...SIGNING_OPTIONS, 'log'],
    examples: ['toolgate policy watch', 'toolgate policy watch --log /var/lib/toolgate/decisions'],
    exitCodes: '0 stopped by a signal, 1 the command cannot start',
    run: async options => (await import('./policy/watch.ts')).watchPolicies(options),
  },
  {
    usage: 'build',
    summary: 'compile the policies into a bundle',
    description:
      'Compiles the policies into a bundle with `opa build -t wasm`, and checks that a gateway can load the bundle.',
    options: ['dir', 'written', 'opa', ...SIGNING_OPTIONS, 'json'],
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
    options: ['bundleDir', 'bundle', 'input', 'json'],
    examples: ['toolgate policy eval --input input.json', 'toolgate policy eval --json < input.json'],
    exitCodes: '0 allowed, 1 denied or failed',
    run: async options => (await import('./policy/evaluate.ts')).evaluate(options),
  },
  {
    usage: 'explain <id>',
    summary: 'evaluate one input of the decision log again, and show which rules determine the decision',
    description:
      'Shows one decision of the decision log, evaluates its input again with the bundle in --bundle, and shows the new decision and which rules determine it. <id> is the decision_id, such as that in the response to a denied call.',
    options: ['bundleDir', 'bundle', 'log', 'json'],
    examples: ['toolgate policy explain 019ad2f0-4a31-7c55-9d2e-0f5f4d2c9b11'],
    exitCodes: '0 the bundle allows the input, 1 the bundle denies the input, or the command failed',
    run: async (options, id) => (await import('./policy/evaluate.ts')).explainEntry(options, id),
  },
  {
    usage: 'replay',
    summary:
      'evaluate the inputs of the decision log again, and compare the new decisions with the logged decisions',
    description:
      'Evaluates the inputs of a decision log with the bundle in --bundle, and lists the decisions that differ from the logged decisions, by rule, action, resource and consumer.',
    options: ['bundleDir', 'bundle', ...REPLAY_OPTIONS],
    examples: ['toolgate policy replay', 'toolgate policy replay --log decisions.ndjson --json'],
    exitCodes: REPLAY_CODES,
    run: async options => (await import('./policy/evaluate.ts')).replayLog(options),
  },
  {
    usage: 'diff <candidate>',
    summary:
      'list the logged inputs for which a candidate bundle decides differently than the bundle in --bundle',
    description:
      'Evaluates the inputs of a decision log with the bundle in --bundle and with the bundle file <candidate>, and lists the decisions that differ, by rule, action, resource and consumer.',
    options: ['bundleDir', 'compared', ...REPLAY_OPTIONS],
    examples: [
      'toolgate policy diff candidate.tar.gz',
      'toolgate policy diff candidate.tar.gz --max-flips 10 --json',
    ],
    exitCodes: REPLAY_CODES,
    run: async (options, candidate) => (await import('./policy/evaluate.ts')).diff(options, candidate),
  },
]

export function addPolicy(program: Command, context: CommandContext): void {
  const policy = program
    .command('policy')
    .summary('build, test and evaluate the policy')
    .description(
      'Builds, tests and evaluates the policy, which decides which calls are allowed: Rego files, compiled into a bundle that gateways load (POLICY_BUNDLE). Only build, test and watch need the program opa; test and watch also need the program regal.',
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
