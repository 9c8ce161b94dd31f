/** `toolgate policy`: reads the arguments and hands them to the subcommand. It does no work itself. */

import { parseArgs } from 'node:util'
import { diff, evaluate, explainEntry, replayLog } from './policy-ask.ts'
import type { PolicyOptions } from './policy-options.ts'
import { newRule, watchPolicies } from './policy-watch.ts'
import { build, test } from './policy-workshop.ts'

const HELP = `Usage: toolgate policy COMMAND [options]

Commands:
  new NAME           write a rule and its test to start from
  watch              test and build at each save, and show which of the last decisions turned
  build              compile the policies into a bundle, with the real \`opa build -t wasm\`
  test               opa fmt, regal lint, opa check --strict, opa test with full coverage, METADATA, rules that never deny
  eval               decide about one input with a built bundle, and say which rules decided
  explain ID         the same for a decision of the log, by its decision_id
  replay             ask the bundle again what the log holds; a flip is a fault
  diff CANDIDATE     what another bundle would decide otherwise than this one, by rule, tool and consumer

Options:
  --dir DIR       folder of the policies (default: policies)
  --bundle FILE   the bundle to write or to ask (default: bundle.tar.gz in that folder)
  --tools DIR     where opa and regal are installed when they are not there (default: .tools/bin)
  --input FILE    eval: the input in JSON, as schemas/input.json has it; - is standard input (default)
  --log PATH      explain, replay, diff, watch: a decision log, or its folder (default: data/decisions)
  --max-flips N   replay, diff: so many flips are no fault (default: 0)
  --signing-key F build: sign the bundle with this private key (PEM); gateways check it with POLICY_KEY
  --signing-alg A build: RS256 (default), ES256 and the like, as the key is
  --json          print JSON

Only build, test and watch need opa. Exit codes: 0 done or allowed, 1 found something wrong or denied, 64 usage.
`

const EXIT_USAGE = 64

interface Subcommand {
  /** What the word behind it is; undefined when there must be none. */
  readonly operand?: string
  readonly run: (options: PolicyOptions) => Promise<number>
}

const COMMANDS: Readonly<Record<string, Subcommand>> = {
  new: { operand: 'the name of the rule', run: newRule },
  watch: { run: watchPolicies },
  build: { run: build },
  test: { run: test },
  eval: { run: evaluate },
  explain: { operand: 'the id of a decision', run: explainEntry },
  replay: { run: replayLog },
  diff: { operand: 'the candidate bundle', run: diff },
}

/** @returns the exit code. */
export async function policy(args: string[]): Promise<number> {
  let command: Subcommand
  let options: PolicyOptions
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        dir: { type: 'string', default: 'policies' },
        bundle: { type: 'string' },
        tools: { type: 'string', default: '.tools/bin' },
        input: { type: 'string', default: '-' },
        log: { type: 'string', default: 'data/decisions' },
        'max-flips': { type: 'string', default: '0' },
        'signing-key': { type: 'string', default: '' },
        'signing-alg': { type: 'string', default: '' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(HELP)
      return 0
    }
    const [name, operand = '', more] = positionals
    command = commandOf(name)
    if (command.operand !== undefined && operand === '') throw new Error(`${command.operand} is missing`)
    const surplus = command.operand === undefined ? operand : (more ?? '')
    if (surplus !== '') throw new Error(`"${surplus}" is one word too many`)
    if (!/^\d{1,9}$/.test(values['max-flips'])) throw new Error('--max-flips is no number')
    const bundle = values.bundle ?? `${values.dir}/bundle.tar.gz`
    options = {
      ...values,
      bundle,
      maxFlips: Number(values['max-flips']),
      signingKey: values['signing-key'],
      signingAlg: values['signing-alg'],
      operand,
    }
  } catch (error) {
    process.stderr.write(`toolgate policy: ${(error as Error).message}.\n\n${HELP}`)
    return EXIT_USAGE
  }
  try {
    return await command.run(options)
  } catch (error) {
    process.stderr.write(`toolgate policy: ${(error as Error).message}\n`)
    return 1
  }
}

function commandOf(name: string | undefined): Subcommand {
  if (name === undefined) throw new Error('a command is missing')
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) throw new Error(`there is no command "${name}"`)
  return command
}
