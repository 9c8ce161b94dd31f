/** `toolgate policy`: build, test and evaluate the policy. It reads arguments and prints; the work is done in `policy/`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { PolicyInput } from '../policy/engine.ts'
import { createOpaWasmEngine } from '../policy/opa-wasm/engine.ts'
import { buildBundle } from '../policy/workshop/build.ts'
import { checkPolicies } from '../policy/workshop/check.ts'
import { requireOpa } from '../policy/workshop/opa.ts'

const HELP = `Usage: toolgate policy COMMAND [options]

Commands:
  build   compile the policies into a bundle, with the real \`opa build -t wasm\`
  test    opa fmt, opa check --strict, opa test with full coverage, METADATA
  eval    decide about one input with a built bundle (needs no opa)

Options:
  --dir DIR       folder of the policies (default: policies)
  --bundle FILE   the bundle to write or to ask (default: bundle.tar.gz in that folder)
  --tools DIR     where opa is installed when it is not on the PATH (default: .tools/bin)
  --input FILE    eval: the input in JSON, as schemas/input.json has it; - is standard input (default)
  --json          print JSON

Exit codes: 0 done or allowed, 1 found something wrong or denied, 64 usage.
`

const EXIT_USAGE = 64

interface Options {
  readonly dir: string
  readonly bundle: string
  readonly tools: string
  readonly input: string
  readonly json: boolean
}

/** @returns the exit code. */
export async function policy(args: string[]): Promise<number> {
  let command: string | undefined
  let options: Options
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        dir: { type: 'string', default: 'policies' },
        bundle: { type: 'string' },
        tools: { type: 'string', default: '.tools/bin' },
        input: { type: 'string', default: '-' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(HELP)
      return 0
    }
    command = positionals[0]
    if (positionals.length > 1) throw new Error(`"${positionals[1]}" is one word too many`)
    options = { ...values, bundle: values.bundle ?? `${values.dir}/bundle.tar.gz` }
  } catch (error) {
    return usage((error as Error).message)
  }
  const run = command === undefined ? undefined : COMMANDS[command]
  if (run === undefined)
    return usage(command === undefined ? 'a command is missing' : `there is no command "${command}"`)
  try {
    return await run(options)
  } catch (error) {
    process.stderr.write(`toolgate policy ${command}: ${(error as Error).message}\n`)
    return 1
  }
}

const COMMANDS: Readonly<Record<string, (options: Options) => Promise<number>>> = {
  build,
  test,
  eval: evaluate,
}

function usage(fault: string): number {
  process.stderr.write(`toolgate policy: ${fault}.\n\n${HELP}`)
  return EXIT_USAGE
}

function opaOf(options: Options): Promise<string> {
  return requireOpa(options.tools, process.env, line => process.stderr.write(`${line}\n`))
}

async function build(options: Options): Promise<number> {
  const built = await buildBundle({
    dir: resolve(options.dir),
    opa: await opaOf(options),
    env: process.env,
    engine: createOpaWasmEngine(),
  })
  writeFileSync(options.bundle, built.archive)
  const summary = {
    bundle: options.bundle,
    revision: built.revision,
    bytes: built.archive.length,
    remembered: built.rememberable,
    reads: built.reads,
  }
  if (options.json) print(summary)
  else {
    process.stdout.write(
      `${options.bundle}: revision ${built.revision}, ${built.archive.length} bytes; decisions are ${
        built.rememberable ? 'remembered' : 'made anew at every call, because rules read time or arguments'
      }\n`,
    )
  }
  return 0
}

async function test(options: Options): Promise<number> {
  const steps = await checkPolicies({
    dir: resolve(options.dir),
    opa: await opaOf(options),
    env: process.env,
  })
  if (options.json) print(steps)
  else
    for (const { name, ok, detail } of steps)
      process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${name}: ${detail}\n`)
  return steps.every(step => step.ok) ? 0 : 1
}

async function evaluate(options: Options): Promise<number> {
  const input = parsedInput(readFileSync(options.input === '-' ? 0 : options.input, 'utf8'))
  let failure = ''
  const engine = createOpaWasmEngine({ onFailure: (kind, detail) => (failure = `${kind}: ${detail}`) })
  const prepared = await engine.prepare(readFileSync(options.bundle))
  const decision = await prepared.decide(input, '', 0)
  prepared.close()
  if (options.json) print(decision)
  else {
    process.stdout.write(`${decision.allow ? 'allowed' : 'denied'} by revision ${decision.revision}\n`)
    for (const { code, message, scopes } of decision.reasons) {
      process.stdout.write(`  ${code}: ${message}${scopes === undefined ? '' : ` [${scopes.join(' ')}]`}\n`)
    }
    for (const [name, parameters] of Object.entries(decision.obligations ?? {})) {
      process.stdout.write(`  obligation ${name}: ${JSON.stringify(parameters)}\n`)
    }
  }
  if (failure !== '') process.stderr.write(`the policy could not decide: ${failure}\n`)
  return decision.allow ? 0 : 1
}

/** @throws Error unless the four parts are there; what is missing within them the rules may judge. */
function parsedInput(text: string): PolicyInput {
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch (error) {
    throw new Error(`the input is no JSON (${(error as Error).message})`)
  }
  const parts = Object(input) as Record<string, unknown>
  for (const path of [
    'subject',
    'subject.properties',
    'action',
    'resource',
    'resource.properties',
    'context',
  ]) {
    const part = path.split('.').reduce<unknown>((of, key) => Object(of)[key], parts)
    if (typeof part !== 'object' || part === null) {
      throw new Error(`the input lacks the object "${path}"; see schemas/input.json beside the policies`)
    }
  }
  return input as PolicyInput
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`)
}
